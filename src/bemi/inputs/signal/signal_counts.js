// Counts of a signal: how often levels, differences and kernels exceed thresholds.
{
  const TAPS = 9;
  const LARGEST = 127;

  /** Samples by channel and time. */
  function samplesOf(values, { time, channels, decimals, powers, range, offsets, shifts, limit }) {
    if (values.length !== time * channels) throw new RangeError(`a window has ${time * channels} numbers`);
    return offsets.map((offset, channel) =>
      Int32Array.from({ length: time }, (_, t) => {
        const value = values[t * channels + channel];
        if (typeof value !== "number" || !Number.isFinite(value)) throw new RangeError("a signal has numbers only");
        const found = clipped(reading(value, decimals[channel], powers[channel]), ...range);
        return clipped(Math.floor((found - offset) / 2 ** shifts[channel]), -limit, limit);
      }),
    );
  }

  /** Level, difference or curvature at each position. */
  function differences(samples, order, distance) {
    const found = samples.slice(0, samples.length - order * distance);
    for (let t = 0; t < found.length; t++) {
      if (order === 1) found[t] = samples[t + distance] - samples[t];
      if (order === 2) found[t] = samples[t] - 2 * samples[t + distance] + samples[t + 2 * distance];
    }
    return found;
  }

  /** What the nine taps of a kernel see at each position, and a third of their sum; outside the window samples are 0. */
  function tapsOf(samples, dilation) {
    const padded = new Int32Array(samples.length + (TAPS - 1) * dilation);
    padded.set(samples, ((TAPS - 1) / 2) * dilation);
    const taps = Array.from({ length: TAPS }, (_, tap) => padded.subarray(tap * dilation, tap * dilation + samples.length));
    const thirds = samples.map((_, t) => Math.floor(taps.reduce((sum, tap) => sum + tap[t], 0) / 3));
    return { taps, thirds };
  }

  /** The response of a kernel at each position. */
  function kernelResponses({ taps, thirds }, [a, b, c]) {
    const [first, second, third] = [taps[a], taps[b], taps[c]];
    return thirds.map((share, t) => first[t] + second[t] + third[t] - share);
  }

  function counted(responses, threshold) {
    let count = 0;
    for (const value of responses) if (value > threshold) count++;
    return count;
  }

  const THRESHOLDS = 8;
  const DIFFERENCES = ["level", "change", "curvature"];
  const firstKernel = ({ differences }) => THRESHOLDS * differences.length;

  /** Channel, order and distance of an input from levels and differences, or channel, distance and taps of a kernel. */
  function meaning(data, input) {
    const kernel = input - firstKernel(data);
    if (kernel < 0) {
      const [channel, order, distance] = data.differences[Math.floor(input / THRESHOLDS)];
      return { channel, order, distance, taps: null };
    }
    const [channel, distance, ...taps] = data.rocket[kernel];
    return { channel, order: null, distance, taps };
  }

  /** The response of an input at each position. */
  function responsesOf(data, input, row) {
    const { channel, order, distance, taps } = meaning(data, input);
    const samples = samplesOf(row, data)[channel];
    if (taps === null) return differences(samples, order, distance);
    return kernelResponses(tapsOf(samples, distance), taps);
  }

  const exceeded = (data, input, row) =>
    Array.from(responsesOf(data, input, row), (value) => value > data.thresholds[input]);

  /** A threshold in the unit of the values. */
  function thresholdOf(data, input) {
    const { channel, order } = meaning(data, input);
    const offset = order === 0 ? data.offsets[channel] : 0;
    const [decimals, power] = [data.decimals[channel], data.powers[channel]];
    const units = data.thresholds[input] * 2 ** data.shifts[channel] + offset;
    return decimals >= 0 ? units / power : units * power;
  }

  /** What the input is made of. */
  function groupName(data, input) {
    if (isConstant(data, input)) return "constant";
    const { channel, order, distance } = meaning(data, input);
    const far = order ? ` over ${plural(distance, "sample")}` : "";
    const what = order === null ? `kernels of distance ${distance}` : `${DIFFERENCES[order]}${far}`;
    return data.channels > 1 ? `${data.channelNames?.[channel] ?? `channel ${channel}`}, ${what}` : what;
  }

  /** Inputs after those that count are constant. */
  const isConstant = (data, input) => input >= data.thresholds.length;

  /** Inputs of the same response: levels and differences, kernels by channel and distance, constants. */
  function inputGroups(data) {
    const kernels = Array.from({ length: data.rocket.length }, (_, kernel) => firstKernel(data) + kernel);
    const places = kernels.map((input) => ({ input, ...meaning(data, input) }));
    places.sort((a, b) => a.channel - b.channel || a.distance - b.distance);
    const inputs = data.names.map((_, input) => input);
    places.forEach(({ input }, place) => (inputs[kernels[place]] = input));
    const groups = new Map();
    for (const input of inputs) {
      const name = groupName(data, input);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(input);
    }
    return [...groups].map(([name, members]) => ({ name, members }));
  }

  const LABELLED = 200; // pictures of at least this width have names beside the rows

  /** A row per response, a square per threshold, the lowest first. */
  function drawThresholds(canvas, weight, data, size) {
    const rows = inputGroups(data).filter(({ members }) => !isConstant(data, members[0]));
    const most = Math.max(...rows.map(({ members }) => members.length));
    const labelled = size >= LABELLED;
    // Twice as many dots as the picture is wide, so that its names are sharp.
    const [edge, high] = labelled ? [420, 34] : [0, 3];
    canvas.width = labelled ? 2 * size : 6 * most;
    canvas.height = high * rows.length;
    const wide = (canvas.width - edge) / most;
    const context = canvas.getContext("2d");
    const colours = palette();
    context.font = "22px system-ui, sans-serif";
    rows.forEach(({ name, members }, row) => {
      const sorted = [...members].sort((a, b) => data.thresholds[a] - data.thresholds[b] || a - b);
      sorted.forEach((input, place) => {
        context.fillStyle = css(diverging(colours, weight(input)));
        context.fillRect(edge + place * wide, row * high, wide - (labelled ? 3 : 0), high - (labelled ? 3 : 0));
      });
      context.fillStyle = css(colours.ink);
      if (labelled) context.fillText(name, 0, row * high + 24, edge - 10);
    });
    canvas.style.setProperty("image-rendering", labelled ? "auto" : "pixelated");
  }

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
        if (!known.has(key)) known.set(key, tapsOf(samples[channel], dilation));
        counts.push(counted(kernelResponses(known.get(key), kernel), data.thresholds[counts.length]));
      }
      const scaled = counts.map((count, i) => {
        const distance = Math.floor(count / 2 ** data.countShift) - data.means[i];
        return clipped(distance * 2 ** data.doublings[i], -LARGEST, LARGEST);
      });
      return scaled.concat(Array(data.constants).fill(LARGEST));
    },
    inputNames: ({ names }) => names,
    windowOf: ({ time, channels }) => ({ time, channels }),
    inputGroups,
    weights: {
      words:
        "Each image shows the weights of one neuron: a row per response of the signal, a square per threshold, the lowest first",
      draw: (canvas, weight, data, size) => drawThresholds(canvas, weight, data.transform, size),
    },
    inputWords(data, input, row) {
      if (isConstant(data, input)) return "the same in every window";
      const found = exceeded(data, input, row);
      const above = found.filter(Boolean).length;
      const usual = data.means[input] * 2 ** data.countShift;
      return `above ${short(thresholdOf(data, input))} at ${above} of ${found.length} places, usually ${usual}`;
    },
    fired(data, input, row) {
      if (isConstant(data, input)) return null;
      const { channel, order, distance } = meaning(data, input);
      // A difference lies between the samples that it is made of.
      const middle = order === null ? 0 : (order * distance) / 2;
      const places = exceeded(data, input, row).flatMap((above, t) => (above ? [t + middle] : []));
      return { channel, places };
    },
  };
}
