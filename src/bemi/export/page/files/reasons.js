// What spoke for a decision: which columns of a table, or responses of a signal, add most to the sum that decides.

const MOST_RESPONSES = 8; // of a signal that are listed

class Reasons {
  /** `marked` is called with {channel, places} to show in the window, or null; without it there is nothing to click. */
  constructor(ensemble, most, marked = null) {
    Object.assign(this, { ensemble, most, marked });
    this.chosen = null;
    this.hint = make("p", { class: "hint" });
    this.list = make("ul", { class: "reasons" });
    this.rest = make("p", { class: "hint" });
    const title = marked === null ? "What counts most" : "Which thresholds count";
    this.element = make("div", { class: "why" }, make("h3", {}, title), this.hint, this.list, this.rest);
    this.refresh = roving(this.list, "button");
  }

  /** Shows the outcome of a row; null for none. */
  show(outcome, row) {
    const found = outcome === null ? null : reasonsFor(this.ensemble, outcome);
    this.element.hidden = found === null;
    if (this.element.parentElement?.id === "reasons") this.element.parentElement.hidden = found === null;
    if (found === null) return this.marked?.(null);
    const { data } = this.ensemble;
    const [winner, other] = [data.labels[found.winner], data.labels[found.other]];
    const speaks = (total) => `${count(Math.abs(total))} for ${total < 0 ? other : winner}`;
    this.hint.textContent =
      this.marked === null
        ? `${winner} against ${other}: what each column adds to the sum that decides.`
        : `${winner} against ${other}: what each response adds to the sum that decides, and its threshold that adds most. ` +
          "Click one to see where the response is above it.";
    // What is the same for all rows is no reason; where nothing can be clicked, it is told apart.
    const fixed = this.marked === null ? found.groups.filter(({ constant }) => constant) : [];
    const groups = found.groups.filter((group) => !fixed.includes(group));
    const largest = Math.max(1, ...groups.map(({ total }) => Math.abs(total)));
    // Blue speaks for the second class where one network decides, as everywhere in its page.
    const side = this.ensemble.facing < 0 && found.winner === 0 ? -1 : 1;
    const shown = groups.slice(0, this.most);
    this.list.replaceChildren(
      ...shown.map(({ name, total, input }) => {
        const beam = make("span", { class: `beam ${side * total < 0 ? "minus" : "plus"}`, "aria-hidden": "true" });
        beam.style.setProperty("--share", Math.abs(total) / largest);
        const words = inputWords(data, input, row);
        const parts = [beam, make("span", { class: "count" }, speaks(total))];
        if (this.marked === null)
          return make("li", { class: "reason-row" }, make("span", { class: "name" }, words ? `${name}: ${words}` : name), ...parts);
        parts.unshift(make("span", { class: "name" }, name));
        parts.push(make("span", { class: "hint" }, words));
        const pressed = String(this.chosen === input);
        const act = () => this.choose(input, row);
        return make("li", {}, make("button", { type: "button", class: "reason-row", "aria-pressed": pressed, click: act }, ...parts));
      }),
    );
    const left = groups.slice(this.most);
    const together = left.reduce((sum, { total }) => sum + total, 0);
    this.rest.textContent = [
      ...(left.length ? [`${plural(left.length, "other")} together: ${speaks(together)}.`] : []),
      ...fixed.map(({ total }) => `For every row: ${speaks(total)}.`),
    ].join(" ");
    this.refresh();
    if (this.marked === null) return;
    this.inputs = shown.map(({ input }) => input);
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

/** Whether decisions can be taken apart: networks of one neuron, and inputs that mean something. */
function givesReasons({ data }) {
  return data.layers.length === 2 && data.layers[1] === 1 && inputGroups(data) !== null;
}

/** Contributions to the sum that decides between the two classes with the most votes; null if no neuron does. */
function reasonsFor(ensemble, { inputs, decision, shares }) {
  const { data, networks } = ensemble;
  if (!givesReasons(ensemble) || decision === ABSTAIN) return null;
  const others = shares.map((_, index) => index).filter((index) => index !== decision);
  others.sort((a, b) => shares[b] - shares[a] || a - b);
  for (const other of others) {
    const network = networks.find(({ classes }) => classes.includes(decision) && classes.includes(other));
    if (network === undefined) continue;
    // A sum of at least 0 is a vote for the first class.
    const side = network.classes[0] === decision ? 1 : -1;
    const parts = inputs.map((value, input) => side * value * network.weights[0][input]);
    const groups = inputGroups(data).map(({ name, members, constant }) => {
      const total = members.reduce((sum, input) => sum + parts[input], 0);
      const input = members.reduce((best, next) => (Math.abs(parts[next]) > Math.abs(parts[best]) ? next : best));
      return { name, total, input, constant: constant ?? false };
    });
    groups.sort((a, b) => Math.abs(b.total) - Math.abs(a.total));
    return { winner: decision, other, groups: groups.filter(({ total }) => total !== 0) };
  }
  return null;
}
