// Probabilities of the classes: the same integers as bemi's probabilities.py.  All stay below 2^33, where doubles are exact.

const CERTAIN = 256;
const WHOLE = 65536;
const RECIPROCAL = 2 ** 20;
const SHARE = 2 ** 28;

/** Probability of the first class of a network's pair in 256ths: a table over the clipped score. */
function firstChance({ start, shift, entries }, score) {
  const step = Math.floor(Math.max(0, score - start) / 2 ** shift);
  return entries[Math.min(step, entries.length - 1)];
}

/** Probabilities of the classes in 65536ths, from a table and a score for every pair of classes. */
function coupledChances(tables, scores, pairs, classes) {
  const firsts = tables.map((table, n) => firstChance(table, scores[n]));
  if (classes === 2) return [(WHOLE / CERTAIN) * firsts[0], WHOLE - (WHOLE / CERTAIN) * firsts[0]];
  const sums = new Array(classes).fill((2 - classes) * (RECIPROCAL / CERTAIN));
  pairs.forEach(([first, second], n) => {
    sums[first] += Math.floor(RECIPROCAL / firsts[n]);
    sums[second] += Math.floor(RECIPROCAL / (CERTAIN - firsts[n]));
  });
  const shares = sums.map((sum) => Math.max(1, Math.floor(SHARE / sum)));
  const total = shares.reduce((sum, share) => sum + share);
  return shares.map((share) => Math.max(1, Math.floor((share * WHOLE + Math.floor(total / 2)) / total)));
}
