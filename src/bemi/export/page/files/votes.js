// The decision, and what is behind it: a tournament grid if networks tell two classes apart, or else a list of votes;
// where a single network decides, the points of its card, or its probability and what counts most.

const MOST_CLASSES = 24; // a larger grid shows the classes with the most votes
const MOST_SHOWN = 12;
const MOST_COLUMNS = 5; // that count most
const MOST_ROOMY = 12; // with more classes the squares of the grid are narrow

class VotesView {
  /** `opened` is called with the index of a network to inspect; `card` replaces the board if it is the only one. */
  constructor(ensemble, opened, card = null) {
    this.card = card;
    this.ensemble = ensemble;
    this.opened = opened;
    this.label = make("p", { class: "label" });
    this.reason = make("p", { class: "reason" });
    this.truth = make("p", { class: "truth" });
    this.board = make("div", { class: "board", id: "board" });
    this.spoken = make("p", { class: "unseen", role: "status", "aria-live": "polite" });
    this.pairs = ensemble.networks.every(({ classes }) => classes.length === 2);
    this.element = make(
      "div",
      { class: "votes" },
      make(
        "div",
        { class: "decision", id: "decision" },
        make("h3", {}, "Decision"),
        this.label,
        make("div", { class: "because" }, this.reason, this.truth),
      ),
      this.spoken,
      this.board,
    );
    if (card !== null) this.board.replaceChildren(card.element);
    else if (ensemble.decidesAlone) this.buildAlone();
    else this.moved = roving(this.board, "td[tabindex], .ballots button");
  }

  /** What is behind the decision of a single network. */
  buildAlone() {
    const { labels, chances, image } = this.ensemble.data;
    this.meter = chances === null ? null : new Meter(labels[1]);
    this.reasons = image === null && !takesWindows(this.ensemble.data) && givesReasons(this.ensemble) ? new Reasons(this.ensemble, MOST_COLUMNS) : null;
    this.board.append(...[this.meter?.element, this.reasons?.element].filter(Boolean));
  }

  /** Shows an outcome and the row that it is of, or that there is nothing to decide. */
  show(outcome, row, truthLabel = null) {
    this.element.classList.toggle("idle", outcome === null);
    if (outcome === null) {
      this.say("–", `Draw something${this.ensemble.data.test === null ? "" : ", or choose a test sample"}.`, "");
    } else {
      const { label, reason } = this.card === null ? this.voteWords(outcome) : this.cardWords(outcome);
      this.say(label, reason, truthWords(this.ensemble, outcome, truthLabel));
    }
    this.label.classList.toggle("none", outcome !== null && outcome.decision === ABSTAIN);
    this.showBoard(outcome, row);
  }

  /** A decision by votes, and the chances if there are any. */
  voteWords(outcome) {
    const { label, reason } = decisionWords(this.ensemble, outcome);
    return { label, reason: reason + chanceWords(this.ensemble, outcome) };
  }

  /** A decision by points. */
  cardWords(outcome) {
    if (outcome.isUnknown) return unknownWords(this.ensemble, outcome);
    const { total, chance } = this.card.read(outcome.inputs);
    const likely = chance === null ? "" : ` Chance of ${this.card.second}: ${probability(chance)}.`;
    return {
      label: this.ensemble.data.labels[outcome.decision],
      reason: `The points add up to ${signed(total)}, which is ${total > 0 ? "above" : "not above"} 0.${likely}`,
    };
  }

  /** Shows why a row cannot be classified. */
  refuse(message) {
    this.element.classList.add("idle");
    this.say("–", message, "");
    this.showBoard(null);
  }

  say(label, reason, status) {
    this.label.textContent = label;
    this.reason.textContent = reason;
    this.truth.textContent = status;
    // Screen readers announce the result once drawing pauses.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.spoken.textContent = `Decision: ${label}. ${reason} ${status}`), 600);
  }

  showBoard(outcome, row = null) {
    if (this.card !== null) return this.card.show(outcome);
    if (this.ensemble.decidesAlone) {
      this.meter?.show(outcome === null ? null : outcome.chances[1] / WHOLE);
      this.reasons?.show(outcome, row);
      return;
    }
    const { classes } = this.ensemble;
    let shown = Array.from({ length: classes }, (_, index) => index);
    if (classes > MOST_CLASSES) {
      const share = (index) => (outcome === null ? 0 : outcome.shares[index]);
      shown = shown.sort((a, b) => share(b) - share(a) || a - b).slice(0, MOST_SHOWN);
    }
    // Built once per set of classes, then only updated.
    const key = shown.join();
    if (key !== this.key) {
      this.key = key;
      this.build(shown);
    }
    this.update(outcome);
  }

  build(shown) {
    const { labels } = this.ensemble.data;
    const place = new Map(this.ensemble.networks.map(({ classes }, n) => [classes.join(), n]));
    this.cells = [];
    this.rows = shown.map((index) => ({ index, bar: bar(0), count: make("span", { class: "count" }) }));
    const names = ends(labels);
    const long = needsUpright(shown.map((index) => names[index]));
    const heads = !this.pairs
      ? []
      : shown.map((index) =>
          make(
            "th",
            { scope: "col", class: long ? "upright" : "", title: labels[index] },
            make("span", {}, names[index]),
          ),
        );
    const body = this.rows.map((row) => {
      const cells = !this.pairs
        ? []
        : shown.map((other) => {
            const network = place.get([Math.min(row.index, other), Math.max(row.index, other)].join());
            const cell = make("td", { class: row.index === other ? "self" : "" });
            if (network !== undefined) {
              const act = () => this.opened(network);
              cell.addEventListener("click", act);
              cell.addEventListener("keydown", ({ key }) => ["Enter", " "].includes(key) && act());
              cell.tabIndex = -1;
              this.cells.push({ cell, network, index: row.index, other });
            }
            return cell;
          });
      row.element = make(
        "tr",
        {},
        make("th", { scope: "row", title: labels[row.index] }, names[row.index]),
        make("td", { class: "tally" }, row.bar, row.count),
        ...cells,
      );
      return row.element;
    });
    const caption = this.pairs
      ? "Each row is a class; a filled square is a match won against the class of the column."
      : "Votes for each class, of the networks that it takes part in.";
    const head = make("tr", {}, make("td"), make("th", { scope: "col", class: "tally" }, "votes"), ...heads);
    this.board.replaceChildren(
      make("h3", {}, this.pairs ? "Every pair plays" : "Votes"),
      make("p", { class: "hint" }, caption + (this.pairs ? " Click one to look into its network; arrow keys move." : "")),
      scrolling(
        "Votes for each class",
        make(
          "table",
          {
            class: `tournament${shown.length > MOST_ROOMY ? " many" : ""}`,
            ...(this.pairs ? { role: "grid", "aria-label": "Matches of every pair of classes", "aria-readonly": "true" } : {}),
          },
          make("thead", {}, head),
          make("tbody", {}, ...body),
        ),
      ),
    );
    if (this.pairs) return this.moved();
    this.list = this.ensemble.networks.map((network, n) => {
      const vote = make("span", { class: "chosen" });
      const open = make(
        "button",
        { type: "button", class: "plain", click: () => this.opened(n) },
        networkName(this.ensemble, network),
      );
      return { vote, element: make("li", {}, open, vote) };
    });
    this.board.append(make("ul", { class: "ballots" }, ...this.list.map(({ element }) => element)));
    this.moved();
  }

  update(outcome) {
    const { labels } = this.ensemble.data;
    for (const { cell, network, index, other } of this.cells) {
      const vote = outcome === null ? null : outcome.votes[network];
      cell.className = vote === null ? "open" : vote === index ? "won" : "lost";
      const [a, b] = [labels[index], labels[other]];
      cell.title = vote === null ? `${a} against ${b}` : `${a} ${vote === index ? "beats" : "loses to"} ${b}`;
      cell.setAttribute("aria-label", cell.title);
    }
    for (const { index, bar, count, element } of this.rows) {
      const own = this.ensemble.memberships[index];
      bar.style.setProperty("--share", outcome === null ? 0 : outcome.shares[index]);
      count.textContent = outcome === null ? "" : `${outcome.counts[index]}/${own}`;
      element.classList.toggle("leader", outcome !== null && outcome.dominant[index]);
    }
    this.list?.forEach(({ vote }, n) => {
      const given = outcome === null ? null : outcome.votes[n];
      vote.textContent = given === null ? "" : given === ABSTAIN ? "no vote" : labels[given];
    });
  }
}
