// Puts the page together.

const data = JSON.parse(byId("model").textContent);
const ensemble = new Ensemble(data);
const isSignal = takesWindows(data);

/** What people do to get an answer, and what they then see, by kind of rows. */
const [ACT, PUT] =
  data.image !== null
    ? ["Draw", "Draw on the pad. The small picture with it is all that the model sees."]
    : isSignal
      ? ["Slide through a recording", "Slide through the recording, or paste your own readings. The model sees one window."]
      : ["Set the features", "Move the sliders, or type. The model sees these cells and nothing else."];
const alone = data.networks.length === 1;
const weights = `whole numbers from −${data.weightBound} to ${data.weightBound}`;

function introduce() {
  const networks = alone ? "One small network" : `${count(data.networks.length)} small networks`;
  const trained = data.training === null ? "" : ` Trained on ${plural(data.training, "row")}.`;
  const kept = data.rowsInside ? ` This page contains ${data.rowsInside} of them, to which it compares new rows.` : "";
  const task = ensemble.decidesAlone
    ? `tells ${listed(data.labels)} apart`
    : `${alone ? "decides between" : "vote on"} ${count(data.labels.length)} classes`;
  byId("about").textContent =
    `${networks} of ${data.layers.join(" – ")} neurons, whose weights are ${weights}, ${task}.${trained}${kept}`;
  const watch = onlyCard !== null ? "watch the points add up" : alone ? "watch the answer change" : "watch them vote";
  byId("try-title").textContent = `${ACT} and ${watch}`;
  byId("tour").append(...tour().map(([id, name, text]) => make("li", {}, make("a", { href: `#${id}` }, name), ` ${text}`)));
  byId("made").textContent =
    `Made by bemi ${data.version}. Everything happens in this page: it loads nothing and sends nothing.`;
}

/** What the page shows, in a few sentences, each with the part that it is about. */
function tour() {
  const decide =
    onlyCard !== null
      ? "Every line that is true adds its points. The sign of the total is the answer."
      : ensemble.decidesAlone
        ? "The network multiplies each input by a weight and adds up. The sign of the sum is the answer."
        : votes.pairs
          ? "Each network tells two classes apart and has one vote. A filled square is a match won; most matches win."
          : "Each network has one vote among its classes. The class with the largest share of its votes wins.";
  const steps = [
    ["input", "The input.", PUT],
    ["decision", "The answer.", "It follows every change."],
    ...(ensemble.decidesAlone && onlyCard === null ? [["inside", "Why.", decide]] : [["board", "Why.", decide]]),
  ];
  if (samples !== null) steps.push(["samples", "Test rows.", "Labelled rows to look at; those that the model gets wrong come first."]);
  if (data.test !== null) steps.push(["results", "How well it does.", "Counted on all rows that came with the page."]);
  steps.push(["inside", "Look inside.", `Every weight, ${weights}: blue and orange pull to opposite sides.`]);
  return steps;
}

const inside = { view: null };
const cards = new Cards(ensemble);
const [onlyCard] = cards.cards.length === 1 ? cards.cards : [null];
const votes = new VotesView(ensemble, (network) => inside.view?.open(network), onlyCard);
let samples = null;

/** Shows how the networks vote on a row; null is an empty pad. */
function answer(row, truth = null, truthLabel = null) {
  let outcome = null;
  try {
    outcome = row === null ? null : ensemble.outcome(row, truth);
    votes.show(outcome, row, truthLabel);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    votes.refuse(`${error.message[0].toUpperCase()}${error.message.slice(1)}.`);
  }
  cards.show(outcome);
  reasons?.show(outcome, row);
  inside.view?.showOutcome(outcome);
}

/** Strokes arrive faster than screens can show them. */
let waiting = null;
function later(row) {
  samples?.leave();
  if (waiting === null)
    requestAnimationFrame(() => {
      answer(waiting.row);
      waiting = null;
    });
  waiting = { row };
}

const input =
  data.image !== null
    ? new Pad(data, later)
    : isSignal
      ? new Recording(ensemble, later, () => samples?.leave())
      : new Form(ensemble, later);
/** A card for reasons, unless scorecards say it all or the board has them. */
const reasons = isSignal
  ? new Reasons(ensemble, MOST_RESPONSES, (marks) => input.mark(marks))
  : data.image === null && !ensemble.decidesAlone && !cards.cards.length && givesReasons(ensemble)
    ? new Reasons(ensemble, MOST_COLUMNS)
    : null;

function start() {
  document.body.classList.toggle("of-tables", data.image === null && !isSignal);
  document.body.classList.toggle("of-signals", isSignal);
  const heading = data.image !== null ? "Drawing pad" : isSignal ? "The window" : "Features";
  byId("input").append(make("h3", {}, heading), input.element);
  if (reasons) byId("reasons").append(reasons.element);
  else byId("reasons").remove();
  byId("outcome").append(votes.element);
  if (data.test !== null && data.test.numbers.length) {
    samples = new Samples(ensemble, (row, truth, label) => {
      if (isSignal) input.load(samples.rows, samples.current);
      else input.load(row);
      answer(row, truth, label);
    });
    byId("samples").append(samples.element);
  } else byId("samples").remove();
  introduce();
  if (cards.cards.length > 1) byId("cards").append(cards.element);
  else byId("cards").remove();
  if (data.test !== null) showResults(ensemble, byId("results"));
  else for (const element of document.querySelectorAll(".results")) element.remove();
  input.show();
  if (samples) samples.choose(samples.first);
  else answer(data.image === null ? input.values : null);
  // Parts further down are built after the first paint.
  requestAnimationFrame(() =>
    setTimeout(() => {
      samples?.show();
      inside.view = new Inside(ensemble, byId("inside"));
      inside.view.showOutcome(current());
      document.documentElement.dataset.ready = "yes";
    }),
  );
}

/** The outcome for the row on display, or null. */
function current() {
  const row = data.image === null ? input.values : (input.row ?? (input.strokes.length ? input.drawn() : null));
  return row === null ? null : ensemble.outcome(row);
}

function redraw() {
  forgetPalette();
  input.show();
  samples?.show();
  inside.view?.redraw();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
addEventListener("resize", () => input.show());

/**
 * For programs and tests.
 *   bemi.predict(row, truth)  row: features as numbers, in tables also as text or null if missing; truth: true class index, -1 for an unknown class, or omitted.
 *     Gives {label, index, votes, counts, dominant, unclassified, status, chances}: label as text, its class index or
 *     -1, the class index that every network votes for (-1 for none), votes by class, which classes lead, whether the
 *     paper's rule leaves the row unclassified, the paper's label status if truth is given, and the chances of the
 *     classes in 65536ths or null.  Throws a RangeError for a row that Python rejects.
 *   bemi.inputs(row)  the integers that the networks see.
 *   bemi.reasons(row) for tables and windows of a signal, what spoke for the decision: {winner, other, groups}, the class indices of
 *     the two that the deciding network tells apart, and [{name, total, input}], the contributions to its sum, from the
 *     winner's side and largest first, each with the input that contributes most; null if no single neuron decides.
 *   bemi.samples      the test rows in the page, as features.
 */
window.bemi = Object.freeze({
  predict(row, truth = null) {
    const { votes, counts, dominant, decision, paper, status, chances } = ensemble.outcome(row, truth);
    const label = decision === ABSTAIN ? data.unclassified : data.labels[decision];
    return { label, index: decision, votes, counts, dominant, unclassified: paper === ABSTAIN, status, chances };
  },
  inputs: (row) => ensemble.inputs(row),
  reasons: (row) => reasonsFor(ensemble, ensemble.outcome(row)),
  get samples() {
    return (samples?.rows ?? []).map((row) => Array.from(row));
  },
});

start();
