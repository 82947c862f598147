// What spoke for a decision: which responses of a signal exceeded their thresholds more or less often than usual.

const MOST_REASONS = 8;

class Reasons {
  /** `marked` is called with {channel, places} to show in the window, or null. */
  constructor(ensemble, marked) {
    this.ensemble = ensemble;
    this.marked = marked;
    this.chosen = null;
    this.hint = make("p", { class: "hint" });
    this.list = make("ul", { class: "reasons" });
    this.element = make("div", { class: "why" }, make("h3", {}, "Which thresholds count"), this.hint, this.list);
  }

  /** Shows the outcome of a window; null for none. */
  show(outcome, row) {
    const found = outcome === null ? null : reasonsFor(this.ensemble, outcome);
    this.element.parentElement.hidden = found === null;
    if (found === null) return this.marked(null);
    const { labels } = this.ensemble.data;
    const [winner, other] = [labels[found.winner], labels[found.other]];
    this.hint.textContent =
      `${winner} against ${other}: what each response adds to the sum that decides, and its threshold that adds most. ` +
      "Click one to see where the response is above it.";
    const most = Math.max(1, ...found.groups.map(({ total }) => Math.abs(total)));
    const { data } = this.ensemble;
    this.list.replaceChildren(
      ...found.groups.slice(0, MOST_REASONS).map(({ name, total, input }) => {
        const beam = make("span", { class: `beam ${total < 0 ? "minus" : "plus"}`, "aria-hidden": "true" });
        beam.style.setProperty("--share", Math.abs(total) / most);
        const words = transformOf(data).inputWords(data.transform, input, row);
        const button = make(
          "button",
          { type: "button", class: "reason-row", "aria-pressed": String(this.chosen === input), click: () => this.choose(input, row) },
          make("span", { class: "name" }, name),
          beam,
          make("span", { class: "count" }, `${count(Math.abs(total))} for ${total < 0 ? other : winner}`),
          make("span", { class: "hint" }, words),
        );
        return make("li", {}, button);
      }),
    );
    this.inputs = found.groups.slice(0, MOST_REASONS).map(({ input }) => input);
    if (this.chosen !== null && !this.inputs.includes(this.chosen)) this.chosen = null;
    this.markChosen(row);
  }

  choose(input, row) {
    this.chosen = this.chosen === input ? null : input;
    [...this.list.querySelectorAll("button")].forEach((button, i) =>
      button.setAttribute("aria-pressed", String(this.inputs[i] === this.chosen)),
    );
    this.markChosen(row);
  }

  markChosen(row) {
    const { data } = this.ensemble;
    this.marked(this.chosen === null ? null : transformOf(data).fired(data.transform, this.chosen, row));
  }
}

/** Contributions to the sum that decides between the two classes with the most votes; null if no neuron does. */
function reasonsFor(ensemble, { inputs, decision, shares }) {
  const { data, networks } = ensemble;
  if (data.layers.length !== 2 || data.layers[1] !== 1 || decision === ABSTAIN) return null;
  const others = shares.map((_, index) => index).filter((index) => index !== decision);
  others.sort((a, b) => shares[b] - shares[a] || a - b);
  for (const other of others) {
    const network = networks.find(({ classes }) => classes.includes(decision) && classes.includes(other));
    if (network === undefined) continue;
    // A sum of at least 0 is a vote for the first class.
    const side = network.classes[0] === decision ? 1 : -1;
    const parts = inputs.map((value, input) => side * value * network.weights[0][input]);
    const groups = transformOf(data)
      .inputGroups(data.transform)
      .map(({ name, members }) => {
        const total = members.reduce((sum, input) => sum + parts[input], 0);
        const input = members.reduce((best, next) => (Math.abs(parts[next]) > Math.abs(parts[best]) ? next : best));
        return { name, total, input };
      });
    groups.sort((a, b) => Math.abs(b.total) - Math.abs(a.total));
    return { winner: decision, other, groups: groups.filter(({ total }) => total !== 0) };
  }
  return null;
}
