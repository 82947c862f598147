// Rows like none of the training rows: the same integers as bemi's unknown.py.

const MISSING_READING = -(2 ** 31);

/** A feature of one column, or input of the networks. */
function singleFeature(value, { centre, factor }, largest) {
  if (value === MISSING_READING) return 0;
  if (factor === null) return value < 0 ? -largest : 0;
  return clipped(Math.trunc((value - centre) * factor), -largest, largest);
}

/** Means of eight inputs of the networks with signs, rounded towards zero, if features are made of these. */
function summed(inputs, summaries) {
  if (summaries === null) return inputs;
  return summaries.map(([places, signs]) => Math.trunc(places.reduce((sum, p, i) => sum + signs[i] * inputs[p], 0) / 8));
}

/** The smallest score by which a network prefers the class to another, in units of the network; 0 if one does not. */
function marginOf(networks, sums, label, { halvings, largest }) {
  const own = halvings.flatMap((halved, n) => {
    if (!networks[n].classes.includes(label)) return [];
    const [[score]] = sums[n];
    const towards = networks[n].classes[0] === label ? score : -score;
    return [Math.floor(Math.max(0, towards) / 2 ** halved)];
  });
  return Math.min(largest, ...own);
}

/** How unlike a class a row is: outside its ranges, with a small margin, far from all examples; 0 without a label. */
function strangeness(values, label, margin, known) {
  if (label === ABSTAIN) return 0;
  const { single, pairs, largest, low, high, outside, weights, usualMargin, lookedAt, examples } = known;
  const features = single.map((feature) => singleFeature(values[feature.position], feature, largest));
  for (const [first, second, sign] of pairs) features.push(Math.trunc((features[first] + sign * features[second]) / 2));
  const beyond = features.reduce((sum, f, i) => sum + Math.max(0, low[label][i] - f, f - high[label][i]), 0);
  const apart = examples.map((other) => other.reduce((sum, f, i) => sum + Math.abs(f - features[lookedAt[i]]), 0));
  const distance = apart.length ? Math.min(...apart) : 0;
  return outside * beyond + weights[0] * Math.max(0, usualMargin - margin) + weights[1] * distance;
}
