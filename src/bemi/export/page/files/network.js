// What networks compute and how they vote: the same integers as bemi's network.py, folding.py and voting.py.
// Sums stay below 2^31, where doubles are exact; evidence may need more than 53 bits and is counted in BigInts.

const ABSTAIN = -1;
const EVIDENCE_SCALE = 2 ** 24;

/** Bytes of text in base64. */
const decoded = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** Networks from packed weights: w + P in as few bits as 2P needs, highest first, each network byte-aligned. */
function unpacked({ weights, weightBound, bitsPerWeight, layers, networks }) {
  const bytes = decoded(weights);
  let place = 0;
  const next = () => {
    let value = 0;
    for (let i = 0; i < bitsPerWeight; i++, place++) value = 2 * value + ((bytes[place >> 3] >> (7 - (place & 7))) & 1);
    return value - weightBound;
  };
  return networks.map((network) => {
    place = 8 * Math.ceil(place / 8);
    const own = layers.slice(1).map((neurons, l) => Int32Array.from({ length: layers[l] * neurons }, next));
    return { ...network, weights: own, norms: norms(own[0], layers[1]) };
  });
}

/** Sum of the weights' magnitudes for each neuron of a layer. */
function norms(weights, neurons) {
  const sums = new Array(neurons).fill(0);
  weights.forEach((weight, place) => (sums[place % neurons] += Math.abs(weight)));
  return sums;
}

const sign = (sum) => (sum >= 0 ? 1 : -1);

function product(inputs, weights, neurons) {
  const sums = new Array(neurons).fill(0);
  for (let i = 0; i < inputs.length; i++) {
    const value = inputs[i];
    if (value === 0) continue;
    for (let n = 0; n < neurons; n++) sums[n] += value * weights[i * neurons + n];
  }
  return sums;
}

class Ensemble {
  constructor(data) {
    this.data = data;
    this.networks = unpacked(data);
    this.classes = data.labels.length;
    this.memberships = new Array(this.classes).fill(0);
    for (const { classes } of this.networks) for (const index of classes) this.memberships[index]++;
    this.largestNorm = Math.max(...this.networks.map((network) => Math.max(...network.norms)));
    /** Whether one network decides between two classes, so that there is nothing to count. */
    this.decidesAlone = this.classes === 2 && this.networks.length === 1;
    const lone = data.layers.length === 2 && data.layers[1] === 1;
    /** -1 if weights are shown as scorecards count: positive for the second class; networks count for the first. */
    this.facing = lone && (this.decidesAlone || data.scorecards) ? -1 : 1;
    this.largestWeight = 0;
    for (const { weights } of this.networks)
      for (const weight of weights[0]) this.largestWeight = Math.max(this.largestWeight, Math.abs(weight));
  }

  /** Integers that the networks see, from the features. */
  inputs(row) {
    if (row.length !== this.data.features) throw new RangeError(`a row has ${this.data.features} features`);
    const inputs = inputsOf(Array.from(row), this.data);
    // Python rejects such rows, too.
    let largest = 0,
      total = 0;
    for (const value of inputs) {
      largest = Math.max(largest, Math.abs(value));
      total += Math.abs(value);
    }
    if (Math.min(largest * this.largestNorm, total * this.largestWeight) >= EXACT_RANGE) throw tooLarge();
    return inputs;
  }

  /** Pre-activations of every layer of a network. */
  sums(network, inputs) {
    const found = [];
    let values = inputs;
    network.weights.forEach((weights, l) => {
      found.push(product(values, weights, this.data.layers[l + 1]));
      values = found[l].map(sign);
    });
    return found;
  }

  /** Class index that a network votes for, from the pre-activations of its last layer. */
  vote(network, outputs) {
    const number = outputs.reduce((code, sum) => 2 * code + (sign(sum) < 0 ? 1 : 0), 0);
    return number < network.classes.length ? network.classes[number] : ABSTAIN;
  }

  /** Votes, their counts, dominant labels and decision for one row of features; with a true class its status, too. */
  outcome(row, truth = null) {
    const inputs = this.inputs(row);
    const sums = this.networks.map((network) => this.sums(network, inputs));
    const votes = this.networks.map((network, n) => this.vote(network, sums[n][sums[n].length - 1]));
    const counts = new Array(this.classes).fill(0);
    for (const vote of votes) if (vote !== ABSTAIN) counts[vote]++;
    const shares = counts.map((votes, index) => votes / Math.max(this.memberships[index], 1));
    const best = Math.max(...shares);
    const dominant = shares.map((share) => share === best);
    const paper = this.paperLabel(votes, dominant);
    const likeliest = paper === ABSTAIN ? this[this.data.ties.decide](votes, dominant, sums) : paper;
    const isUnknown = this.isUnknown(row, inputs, sums, likeliest);
    const decision = isUnknown ? ABSTAIN : likeliest;
    const status = truth === null ? null : this.status(paper, dominant, truth);
    const chances = this.chances(sums);
    return { inputs, sums, votes, counts, shares, dominant, paper, likeliest, isUnknown, decision, status, chances };
  }

  /** Whether a row is like none of the training rows. */
  isUnknown(row, inputs, sums, label) {
    const { known } = this.data;
    if (known === null) return false;
    const values = known.ofColumns ? takenOf(row, this.data) : summed(inputs, known.summaries);
    const margin = marginOf(this.networks, sums, label, known);
    return strangeness(values, label, margin, known) > known.threshold;
  }

  /** Chances of the classes in 65536ths; null if the model has no probabilities. */
  chances(sums) {
    const { chances: tables } = this.data;
    if (tables === null) return null;
    const scores = sums.map(([outputs]) => outputs[0]);
    return coupledChances(
      tables,
      scores,
      this.networks.map(({ classes }) => classes),
      this.classes,
    );
  }

  /** One dominant label: that one.  As many as a network has classes: the vote of their network.  Otherwise none. */
  paperLabel(votes, dominant) {
    const leaders = dominant.flatMap((leads, index) => (leads ? [index] : []));
    if (leaders.length === 1) return leaders[0];
    const theirs = this.networks.findIndex(
      ({ classes }) => classes.length === leaders.length && classes.every((index) => dominant[index]),
    );
    return theirs < 0 ? ABSTAIN : votes[theirs];
  }

  /** The dominant label with the most evidence from the networks that voted for it, relative to how many it has. */
  mostEvidence(votes, dominant, sums) {
    const gathered = new Array(this.classes).fill(0n);
    this.networks.forEach((network, n) => {
      if (votes[n] !== ABSTAIN) gathered[votes[n]] += this.evidence(network, sums[n][0]);
    });
    let winner = ABSTAIN;
    for (let index = 0; index < this.classes; index++) {
      if (!dominant[index]) continue;
      // Fractions are compared by cross-multiplication; the first of equals wins.
      const ahead =
        winner === ABSTAIN || gathered[index] * this.networksOf(winner) > gathered[winner] * this.networksOf(index);
      if (ahead) winner = index;
    }
    return winner;
  }

  noLabel() {
    return ABSTAIN;
  }

  networksOf(index) {
    return BigInt(Math.max(this.memberships[index], 1));
  }

  /** Distance of the input from a network's nearest decision boundary: the smallest scaled sum of a splitting neuron. */
  evidence(network, first) {
    let nearest = null;
    network.splitting.forEach((splits, neuron) => {
      if (!splits) return;
      const scale = Math.floor(EVIDENCE_SCALE / Math.max(network.norms[neuron], 1));
      const distance = BigInt(Math.abs(first[neuron])) * BigInt(scale);
      if (nearest === null || distance < nearest) nearest = distance;
    });
    return nearest ?? 0n;
  }

  /** The paper's label status; a true label that is not one of the classes is ABSTAIN. */
  status(paper, dominant, truth) {
    const number = dominant.filter(Boolean).length;
    const leaders = number === 1 ? "1" : number === this.networks[0].classes.length ? "m" : "o";
    const correct = truth !== ABSTAIN && paper === truth;
    const among = truth !== ABSTAIN && dominant[truth];
    return this.data.statuses.find(
      (status) =>
        status.leaders === leaders && status.correct === correct && (status.among === null || status.among === among),
    ).name;
  }
}
