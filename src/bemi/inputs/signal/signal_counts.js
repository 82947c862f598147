// Counts of a signal: how often levels, differences and kernels exceed thresholds.
{
  const TAPS = 9;
  const LARGEST = 127;

  /** Samples by channel and time. */
  function samplesOf(values, { time, channels, decimals, powers, range, offsets, shifts, limit }) {
    if (values.length !== time * channels) throw new RangeError(`a window has ${time * channels} numbers`);
    return offsets.map((offset, channel) =>
      Array.from({ length: time }, (_, t) => {
        const value = values[t * channels + channel];
        if (typeof value !== "number" || !Number.isFinite(value)) throw new RangeError("a signal has numbers only");
        const found = clipped(reading(value, decimals[channel], powers[channel]), ...range);
        return clipped(Math.floor((found - offset) / 2 ** shifts[channel]), -limit, limit);
      }),
    );
  }

  /** Level, difference or curvature at each position. */
  function differences(samples, order, distance) {
    const at = (t) =>
      order === 0
        ? samples[t]
        : order === 1
          ? samples[t + distance] - samples[t]
          : samples[t] - 2 * samples[t + distance] + samples[t + 2 * distance];
    return Array.from({ length: samples.length - order * distance }, (_, t) => at(t));
  }

  /** What the taps of a kernel see at each position; outside the window samples are 0. */
  const tapsOf = (samples, dilation) =>
    Array.from({ length: TAPS }, (_, tap) => samples.map((_, t) => samples[t + (tap - 4) * dilation] ?? 0));

  const counted = (responses, threshold) => responses.reduce((sum, value) => sum + (value > threshold ? 1 : 0), 0);

  TRANSFORMS["signal-counts"] = {
    takesCells: true,
    inputs(values, data) {
      const samples = samplesOf(values, data);
      const counts = [];
      for (const [channel, order, distance] of data.differences) {
        const responses = differences(samples[channel], order, distance);
        for (let q = 0; q < 8; q++) counts.push(counted(responses, data.thresholds[counts.length]));
      }
      const known = new Map();
      for (const [channel, dilation, ...kernel] of data.rocket) {
        const key = `${channel} ${dilation}`;
        if (!known.has(key)) {
          const taps = tapsOf(samples[channel], dilation);
          const thirds = taps[0].map((_, t) => Math.floor(taps.reduce((sum, tap) => sum + tap[t], 0) / 3));
          known.set(key, { taps, thirds });
        }
        const { taps, thirds } = known.get(key);
        const responses = thirds.map((third, t) => kernel.reduce((sum, tap) => sum + taps[tap][t], -third));
        counts.push(counted(responses, data.thresholds[counts.length]));
      }
      const scaled = counts.map((count, i) => {
        const distance = Math.floor(count / 2 ** data.countShift) - data.means[i];
        return clipped(distance * 2 ** data.doublings[i], -LARGEST, LARGEST);
      });
      return scaled.concat(Array(data.constants).fill(LARGEST));
    },
    inputNames: ({ names }) => names,
  };
}
