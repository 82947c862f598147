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

/** How far a row is outside the ranges of a class; 0 without a label. */
function strangeness(values, label, { single, pairs, largest, low, high }) {
  if (label === ABSTAIN) return 0;
  const features = single.map((feature) => singleFeature(values[feature.position], feature, largest));
  for (const [first, second, sign] of pairs) features.push(Math.trunc((features[first] + sign * features[second]) / 2));
  return features.reduce((sum, f, i) => sum + Math.max(0, low[label][i] - f, f - high[label][i]), 0);
}
