// Test rows to click through, the misclassified first.

class Samples {
  /** `chosen` is called with the features, true class and true label of a row. */
  constructor(ensemble, chosen) {
    const { test, features: width, image, labels, unclassified } = ensemble.data;
    this.chosen = chosen;
    this.test = test;
    const bytes = test.rowBytes === null ? null : decoded(test.rowBytes);
    this.rows = test.numbers.map((_, i) => (bytes ? bytes.subarray(i * width, (i + 1) * width) : test.rowNumbers[i]));
    this.current = -1;
    this.buttons = this.rows.map((row, i) => {
      const given = test.given[i] === ABSTAIN ? unclassified : labels[test.given[i]];
      const right = test.truth[i] !== ABSTAIN && test.given[i] === test.truth[i];
      const truth = this.truthLabel(i, labels);
      const words = right ? `${truth}, right` : `${truth}, taken for ${given}`;
      return make(
        "button",
        {
          type: "button",
          class: right ? "sample right" : "sample wrong",
          title: words,
          "aria-label": `Row ${test.numbers[i] + 1}: ${words}`,
          click: () => this.choose(i),
        },
        image === null
          ? make("span", { class: "row" }, `row ${test.numbers[i] + 1}`)
          : make("canvas", { "aria-hidden": "true" }),
        make("span", { class: "verdict" }, right ? truth : `${truth} ✗ ${given}`),
      );
    });
    const wrong = this.rows.filter((_, i) => test.given[i] !== test.truth[i]).length;
    const shown = `Misclassified first: ${count(wrong)} of ${count(test.wrong)}, then ${count(this.rows.length - wrong)} of the ${count(test.rows - test.wrong)} right ones.`;
    const button = (text, name, step) =>
      make("button", { type: "button", "aria-label": name, click: () => this.step(step) }, text);
    this.element = make(
      "div",
      { class: "samples" },
      make("h3", {}, "Test samples"),
      make("p", { class: "hint" }, shown),
      make("div", { class: "tools" }, button("← Previous", "Previous sample", -1), button("Next →", "Next sample", 1)),
      make(
        "div",
        { class: `sheet ${image === null ? "of-rows" : "of-images"}`, role: "group", "aria-label": "Test samples" },
        ...this.buttons,
      ),
    );
    this.image = image;
    this.labels = labels;
  }

  truthLabel(i, labels = this.labels) {
    return this.test.truth[i] === ABSTAIN ? this.test.truthLabels[i] : labels[this.test.truth[i]];
  }

  /** The first row that is right: a calm start. */
  get first() {
    const right = this.test.given.findIndex((given, i) => given === this.test.truth[i] && given !== ABSTAIN);
    return Math.max(0, right);
  }

  step(by) {
    const from = this.current < 0 && by < 0 ? 0 : this.current;
    const next = (from + by + this.rows.length) % this.rows.length;
    this.choose(next);
    this.buttons[next].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  choose(i) {
    this.leave();
    this.current = i;
    this.buttons[i].setAttribute("aria-pressed", "true");
    this.chosen(Array.from(this.rows[i]), this.test.truth[i], this.truthLabel(i));
  }

  /** The chosen row is shown no more. */
  leave() {
    if (this.current >= 0) this.buttons[this.current].removeAttribute("aria-pressed");
  }

  show() {
    if (this.image === null) return;
    this.buttons.forEach((button, i) => drawRow(button.querySelector("canvas"), this.rows[i], this.image));
  }
}
