// Test rows to click through, the misclassified first.

class Samples {
  /** `chosen` is called with the features, true class and true label of a row. */
  constructor(ensemble, chosen) {
    const { test, features: width, image, labels } = ensemble.data;
    Object.assign(this, { test, image, labels, chosen });
    const bytes = test.rowBytes === null ? null : decoded(test.rowBytes);
    this.rows = test.numbers.map((_, i) => (bytes ? bytes.subarray(i * width, (i + 1) * width) : test.rowNumbers[i]));
    this.current = -1;
    this.buttons = this.rows.map((_, i) => this.button(i));
    const wrong = this.rows.filter((_, i) => !this.isRight(i)).length;
    const right = `${count(this.rows.length - wrong)} of the ${count(test.rows - test.wrong)} right ones`;
    const step = (text, name, by) =>
      make("button", { type: "button", "aria-label": name, click: () => this.step(by) }, text);
    const sheet = make(
      "div",
      { class: `sheet ${image === null ? "of-rows" : "of-images"}`, role: "group", "aria-label": "Test samples" },
      ...this.buttons,
    );
    roving(sheet, "button")();
    this.element = make(
      "div",
      { class: "samples" },
      make("h3", {}, "Test samples"),
      make(
        "p",
        { class: "hint" },
        test.wrong === 0 ? `All are right; here are ${count(this.rows.length)}.` : `Misclassified first: ${count(wrong)} of ${count(test.wrong)}, then ${right}.`,
      ),
      make("div", { class: "tools" }, step("← Previous", "Previous sample", -1), step("Next →", "Next sample", 1)),
      sheet,
    );
  }

  button(i) {
    const { test, image, labels } = this;
    const truth = this.truthLabel(i);
    const mistake = test.given[i] === ABSTAIN ? "no label" : `taken for ${labels[test.given[i]]}`;
    const right = this.isRight(i);
    const words = right ? truth : `${truth}, ${mistake}`;
    const number = test.numbers[i] + 1;
    return make(
      "button",
      {
        type: "button",
        class: right ? "sample right" : "sample wrong",
        title: words,
        "aria-label": image === null ? null : `Row ${number}: ${words}`,
        click: () => this.choose(i),
      },
      image === null ? make("span", {}, `row ${number}`) : make("canvas", { "aria-hidden": "true" }),
      make("span", { class: "verdict" }, words),
    );
  }

  isRight(i) {
    return this.test.truth[i] !== ABSTAIN && this.test.given[i] === this.test.truth[i];
  }

  truthLabel(i) {
    return this.test.truth[i] === ABSTAIN ? this.test.truthLabels[i] : this.labels[this.test.truth[i]];
  }

  /** The first correctly classified row: a calm start. */
  get first() {
    return Math.max(
      0,
      this.rows.findIndex((_, i) => this.isRight(i)),
    );
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

  /** The chosen row is no longer shown. */
  leave() {
    if (this.current >= 0) this.buttons[this.current].removeAttribute("aria-pressed");
  }

  show() {
    if (this.image === null) return;
    this.buttons.forEach((button, i) => drawRow(button.querySelector("canvas"), this.rows[i], this.image));
  }
}
