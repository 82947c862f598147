// A form for the features of a table: a slider and a number each.

class Form {
  /** `changed` is called with the features. */
  constructor(data, changed) {
    this.changed = changed;
    this.fields = data.fields.map((field, i) => this.field(field, i));
    const reset = () => this.set(data.fields.map((field) => field.start));
    this.element = make(
      "div",
      { class: "form" },
      make("div", { class: "fields" }, ...this.fields.map(({ element }) => element)),
      make("div", { class: "tools" }, make("button", { type: "button", click: reset }, "Usual values")),
    );
    this.values = data.fields.map((field) => field.start);
  }

  field({ name, low, high, start, whole }, i) {
    const id = `field-${i}`;
    const step = whole ? 1 : "any";
    const slider = make("input", {
      ...{ type: "range", id, min: low, max: high, step, value: start },
      input: () => this.take(i, slider.valueAsNumber),
    });
    const number = make("input", {
      ...{ type: "number", step, value: start, "aria-label": `${name}, as a number` },
      input: () => this.take(i, number.valueAsNumber),
    });
    const element = make("div", { class: "field" }, make("label", { for: id, title: name }, name), slider, number);
    return { element, slider, number, whole };
  }

  take(i, value) {
    const { slider, number } = this.fields[i];
    if (Number.isNaN(value)) return;
    this.values[i] = value;
    if (document.activeElement !== slider) slider.value = value;
    if (document.activeElement !== number) number.value = Number(value.toPrecision(6));
    this.changed(this.values);
  }

  set(values) {
    this.load(values);
    this.changed(this.values);
  }

  /** Shows a test row. */
  load(values) {
    this.values = [...values];
    values.forEach((value, i) => {
      this.fields[i].slider.value = value;
      this.fields[i].number.value = value;
    });
  }

  show() {}
}
