// What an outcome means, in words.

const MOST_CHANCES = 3; // of the likeliest classes

const PROOF_WORDS = {
  certified: "certified: the bound can be checked without a solver",
  computed: "computed: our own search in exact integers gave the bound, without a proof to check",
  solver: "the bound is a solver's claim",
  none: "no bound",
};

/** A decision: its label, and one or two sentences that explain it. */
function decisionWords(ensemble, outcome) {
  const { labels, ties } = ensemble.data;
  if (outcome.isUnknown) return unknownWords(ensemble, outcome);
  if (ensemble.decidesAlone) return { label: labels[outcome.decision], reason: aloneWords(ensemble, outcome) };
  const leaders = labels.filter((_, index) => outcome.dominant[index]);
  const first = outcome.dominant.indexOf(true);
  const votes = `${outcome.counts[first]} of ${ensemble.memberships[first]} votes`;
  const equal = outcome.counts.every((number, i) => !outcome.dominant[i] || number === outcome.counts[first]);
  const label = outcome.decision === ABSTAIN ? "no label" : labels[outcome.decision];
  if (leaders.length === 1) return { label, reason: `One label leads, with ${votes}.` };
  const lead = `${listed(leaders)} lead with ${equal ? `${votes} each` : "equal shares of their votes"}.`;
  if (outcome.paper !== ABSTAIN) return { label, reason: `${lead} The network that tells them apart decides.` };
  return { label, reason: `${lead} ${ties.reason}` };
}

/** Why a row has no label although the networks gave it one. */
const unknownWords = ({ data: { labels, unclassified } }, { likeliest }) => ({
  label: unclassified === String(ABSTAIN) ? "unknown" : unclassified,
  reason: `Unlike the training rows. The networks would say ${labels[likeliest]}.`,
});

/** What there is to say of a decision between two classes. */
function aloneWords({ data: { labels } }, { decision, chances }) {
  if (chances === null) return `Rather than ${labels[1 - decision]}.`;
  return `Chance of ${labels[decision]}: ${probability(chances[decision] / WHOLE)}.`;
}

/** A label status, by name. */
const statusOf = (ensemble, name) => ensemble.data.statuses.find((status) => status.name === name);

/** The largest chances, in words; empty if the model has no probabilities. */
function chanceWords(ensemble, { chances }) {
  if (chances === null || ensemble.decidesAlone) return "";
  const total = chances.reduce((sum, chance) => sum + chance);
  const order = chances.map((_, index) => index).sort((a, b) => chances[b] - chances[a] || a - b);
  const largest = order
    .slice(0, MOST_CHANCES)
    .map((index) => `${ensemble.data.labels[index]} (${probability(chances[index] / total)})`);
  return ` Chances: ${largest.join(", ")}${order.length > MOST_CHANCES ? " …" : "."}`;
}

/** What is known of the row: its true label, and whether the decision is right. */
function truthWords(ensemble, { decision, status }, truthLabel) {
  if (status === null) return "";
  const right = decision !== ABSTAIN && ensemble.data.labels[decision] === truthLabel;
  if (ensemble.decidesAlone) return `${right ? "Right" : "Wrong"}: it is ${truthLabel}.`;
  return `True label: ${truthLabel}. Status ${status}: ${statusOf(ensemble, status).words}.`;
}

/** Name of a network: the classes that it tells apart. */
const networkName = (ensemble, network) => listed(network.classes.map((index) => ensemble.data.labels[index]));
