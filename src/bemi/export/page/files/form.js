// A form for the features of a table: a slider and a number, or a list of choices, each.  A missing cell is null.

const MOST_AT_ONCE = 8; // a form with more fields shows the first of them
const FIRST_FIELDS = 5;

class Form {
  /** `changed` is called with the features. */
  constructor(ensemble, changed) {
    const { data } = ensemble;
    this.changed = changed;
    this.fields = data.fields.map((field, i) =>
      field.kind === "choice" ? this.choiceField(field, i) : this.numberField(field, i),
    );
    const reset = () => this.set(data.fields.map((field) => field.start));
    this.element = make(
      "div",
      { class: "form" },
      ...this.parts(ensemble),
      make("div", { class: "tools" }, make("button", { type: "button", click: reset }, "Usual values")),
    );
    this.load(data.fields.map((field) => field.start));
  }

  /** All fields, or those that matter most and the others folded away. */
  parts(ensemble) {
    const listed = (fields) => make("div", { class: "fields" }, ...fields.map((i) => this.fields[i].element));
    const all = this.fields.map((_, i) => i);
    if (all.length <= MOST_AT_ONCE) return [listed(all)];
    const weight = fieldWeights(ensemble);
    const order = [...all].sort((a, b) => weight[b] - weight[a] || a - b);
    const first = order.slice(0, FIRST_FIELDS).filter((i) => weight[i] > 0);
    const rest = all.filter((i) => weight[i] > 0 && !first.includes(i));
    const idle = all.filter((i) => weight[i] === 0);
    const folded = (fields, words) =>
      fields.length ? [make("details", { class: "more" }, make("summary", {}, words), listed(fields))] : [];
    return [
      make("p", { class: "hint" }, `Largest weights first: ${count(first.length)} of ${plural(all.length, "column")}.`),
      listed(first),
      ...folded(rest, `${plural(rest.length, "more column")}`),
      ...folded(idle, `${plural(idle.length, "column")} without a weight`),
    ];
  }

  numberField({ name, low, high, start, step, missing, mayBeEmpty }, i) {
    const id = `field-${i}`;
    // The number has the same arrow keys, so the slider needs no tab stop of its own.
    const slider = make("input", {
      ...{ type: "range", tabindex: -1, min: low, max: high, step, value: start, "aria-label": `${name}, slider` },
      input: () => take(slider.valueAsNumber),
    });
    const number = make("input", {
      ...{ type: "number", id, step, value: start },
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

/** How much all networks weigh each field: the sum of the magnitudes of the weights on its inputs. */
function fieldWeights(ensemble) {
  const { data, networks } = ensemble;
  const weight = data.fields.map(() => 0);
  const neurons = data.layers[1];
  for (const { weights } of networks)
    weights[0].forEach((value, place) => {
      for (const field of fieldsOf(data, Math.floor(place / neurons))) weight[field] += Math.abs(value);
    });
  return weight;
}
