// A form for the features of a table: a slider and a number, or a list of choices, each.  A missing cell is null.

class Form {
  /** `changed` is called with the features. */
  constructor(data, changed) {
    this.changed = changed;
    this.fields = data.fields.map((field, i) =>
      field.kind === "choice" ? this.choiceField(field, i) : this.numberField(field, i),
    );
    const reset = () => this.set(data.fields.map((field) => field.start));
    this.element = make(
      "div",
      { class: "form" },
      make("div", { class: "fields" }, ...this.fields.map(({ element }) => element)),
      make("div", { class: "tools" }, make("button", { type: "button", click: reset }, "Usual values")),
    );
    this.load(data.fields.map((field) => field.start));
  }

  numberField({ name, low, high, start, step, missing, mayBeEmpty }, i) {
    const id = `field-${i}`;
    const slider = make("input", {
      ...{ type: "range", id, min: low, max: high, step, value: start },
      input: () => take(slider.valueAsNumber),
    });
    const number = make("input", {
      ...{ type: "number", step, value: start, "aria-label": `${name}, as a number` },
      input: () => {
        if (Number.isFinite(number.valueAsNumber)) take(number.valueAsNumber);
        else if (mayBeEmpty && number.validity.valid) take(null);
      },
    });
    const box = !missing
      ? null
      : make("input", {
          ...{ type: "checkbox", "aria-label": `${name} is missing` },
          change: () => take(box.checked ? null : slider.valueAsNumber),
        });
    const element = make(
      "div",
      { class: "field" },
      make("label", { for: id, title: name }, name),
      box === null ? null : make("label", { class: "check" }, box, "missing"),
      slider,
      number,
    );
    const take = (value) => {
      show(value);
      this.take(i, value);
    };
    /** Shows a value, but leaves alone what somebody is typing. */
    const show = (value) => {
      element.classList.toggle("empty", value === null);
      if (box !== null) box.checked = value === null;
      if (value !== null && document.activeElement !== slider) slider.value = value;
      if (document.activeElement !== number) number.value = value ?? "";
    };
    const load = (value) => {
      show(value);
      number.value = value ?? "";
    };
    return { element, load };
  }

  choiceField({ name, choices, missing }, i) {
    const id = `field-${i}`;
    const known = missing ? [...choices, null] : [...choices];
    const select = make("select", { id, change: () => this.take(i, known[select.selectedIndex]) });
    const option = (value) => make("option", {}, value === null ? "(missing)" : value === "" ? "(empty)" : String(value));
    select.append(...known.map(option));
    const element = make("div", { class: "field choice" }, make("label", { for: id, title: name }, name), select);
    /** A test row may have a value that training did not see. */
    const load = (value) => {
      if (!known.includes(value)) {
        known.push(value);
        select.append(option(value));
      }
      select.selectedIndex = known.indexOf(value);
    };
    return { element, load };
  }

  take(i, value) {
    this.values[i] = value;
    this.changed(this.values);
  }

  set(values) {
    this.load(values);
    this.changed(this.values);
  }

  /** Shows a row. */
  load(values) {
    this.values = [...values];
    values.forEach((value, i) => this.fields[i].load(value));
  }

  show() {}
}
