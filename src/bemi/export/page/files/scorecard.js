// Scorecards: points that add up while the form changes.

/** A scale from 0 to 100 % with the chance of a class. */
class Meter {
  constructor(label) {
    this.share = bar(0, "own");
    this.chance = make("b");
    this.element = make("div", { class: "chance" }, make("span", {}, `chance of ${label}`), this.share, this.chance);
  }

  show(chance) {
    this.share.style.setProperty("--share", chance ?? 0);
    this.chance.textContent = chance === null ? "" : probability(chance);
  }
}

/** The totals that a row can have, with their chances and how many training rows had them; the own one is marked. */
class Totals {
  constructor(groups, label) {
    const counted = groups.every(({ rows }) => rows !== null);
    this.groups = groups;
    this.rows = groups.map(({ low, high, least, most, rows }) => {
      const name = low === high ? signed(low) : `${signed(low)} to ${signed(high)}`;
      const chance = [...new Set([least, most].map(probability))].join(" to ");
      const cells = [chance, ...(counted ? [String(rows)] : [])];
      return make("tr", {}, make("th", { scope: "row" }, name), ...cells.map((cell) => make("td", {}, cell)));
    });
    const heads = ["total", `chance of ${label}`, ...(counted ? ["training rows"] : [])];
    this.element = make(
      "table",
      { class: "totals" },
      make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...this.rows),
    );
  }

  show(total) {
    this.groups.forEach(({ low, high }, i) => {
      this.rows[i].classList.toggle("own", total !== null && low <= total && total <= high);
    });
  }
}

/** A condition as people write it. */
const conditionText = (condition) => condition.replace(/^>=/, "≥");

class Card {
  /** `card` comes from Python; points count for the second class of its network. */
  constructor(ensemble, n) {
    const { labels, scorecards } = ensemble.data;
    this.card = scorecards[n];
    [this.first, this.second] = ensemble.networks[n].classes.map((index) => labels[index]);
    const most = Math.max(1, ...this.card.lines.map(({ points }) => Math.abs(points)));
    this.rows = this.card.lines.map((line, i) => this.line(line, most, this.card.lines[i - 1]?.column === line.column));
    this.total = make("td", { class: "points" });
    this.verdict = make("p", { class: "rule" });
    this.meter = this.card.chances === null ? null : new Meter(this.second);
    this.totals = this.card.groups === null ? null : new Totals(this.card.groups, this.second);
    const alone = scorecards.length === 1;
    this.element = make(
      alone ? "div" : "section",
      { class: alone ? "scorecard" : "scorecard card" },
      make("h3", {}, alone ? "The points" : `${this.second} or ${this.first}?`),
      make("p", { class: "hint" }, "Every line that is true adds its points to the start."),
      make(
        "table",
        {},
        make("caption", { class: "unseen" }, `Points for ${this.second} against ${this.first}`),
        make(
          "tbody",
          {},
          make(
            "tr",
            { class: "start" },
            make("td", { class: "mark" }),
            make("th", { scope: "row" }, "start"),
            make("td", { class: "points" }, signed(this.card.start)),
            make("td", { class: "beams" }),
          ),
          ...this.rows.map(({ element }) => element),
        ),
        make(
          "tfoot",
          {},
          make("tr", {}, make("td"), make("th", { scope: "row" }, "total"), this.total, make("td", { class: "beams" })),
        ),
      ),
      this.verdict,
      this.meter?.element ?? null,
      this.totals?.element ?? null,
    );
  }

  line({ column, condition, points, input }, most, more) {
    const kind = points < 0 ? "minus" : "plus";
    const mark = make("td", { class: "mark" });
    const beam = make("span", { class: `beam ${kind}`, "aria-hidden": "true" });
    beam.style.setProperty("--share", Math.abs(points) / most);
    const element = make(
      "tr",
      { class: more ? `${kind} more` : kind },
      mark,
      make("th", { scope: "row" }, column, make("span", {}, condition ? ` ${conditionText(condition)}` : "")),
      make("td", { class: "points" }, signed(points)),
      make("td", { class: "beams" }, beam),
    );
    return { element, mark, input, points };
  }

  /** The total of a row, and the chance of the second class or null. */
  read(inputs) {
    const total = this.rows.reduce((sum, { input, points }) => sum + (inputs[input] > 0 ? points : 0), this.card.start);
    return { total, chance: this.card.chances === null ? null : (this.card.chances[this.card.totals.indexOf(total)] ?? null) };
  }

  show(outcome) {
    this.element.classList.toggle("idle", outcome === null);
    for (const { element, mark, input } of this.rows) {
      const on = outcome !== null && outcome.inputs[input] > 0;
      element.classList.toggle("on", on);
      mark.textContent = on ? "✓" : "";
      mark.setAttribute("aria-label", on ? "true" : "not true");
    }
    if (outcome === null) {
      this.total.textContent = "";
      this.verdict.textContent = "";
      this.totals?.show(null);
      return;
    }
    const { total, chance } = this.read(outcome.inputs);
    this.total.textContent = signed(total);
    const winner = total > 0 ? this.second : this.first;
    this.verdict.replaceChildren(
      total > 0 ? "Above 0, so " : "Not above 0, so ",
      make("b", { class: total > 0 ? "plus" : "minus" }, winner),
      ".",
    );
    this.meter?.show(chance);
    this.totals?.show(total);
  }
}

/** All cards of a small model; a single one is part of the decision, several have a place of their own. */
class Cards {
  constructor(ensemble) {
    this.cards = (ensemble.data.scorecards ?? []).map((_, n) => new Card(ensemble, n));
    this.element = make("div", { class: "scorecards" }, ...this.cards.map(({ element }) => element));
  }

  show(outcome) {
    for (const card of this.cards) card.show(outcome);
  }
}
