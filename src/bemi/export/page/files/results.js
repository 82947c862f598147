// Performance on all test rows: accuracy compared with other classifiers, label statuses, confusion matrix.

function showResults(ensemble, element) {
  const { test, labels } = ensemble.data;
  const warning = trainingWarning(ensemble);
  element.append(
    make("p", { class: "lead" }, `Measured on ${count(test.rows)} ${test.about}.`),
    warning === null ? "" : make("p", { class: "warning", role: "note" }, make("b", {}, "Careful: "), warning),
    make(
      "div",
      { class: "cards" },
      make("div", { class: "pile" }, accuracyCard(ensemble), ensemble.decidesAlone ? recallCard(test, labels) : statusCard(ensemble)),
      confusionCard(ensemble),
    ),
  );
}

const MOST_COMMON = 0.1; // share of rows that may look like training rows by chance

/** That the networks know these rows already; null if they do not. */
function trainingWarning({ data: { test, training } }) {
  if (test === null) return null;
  const { seen, rows } = test;
  if (seen === null) return `it is not known whether ${rows === 1 ? "this row is a training row" : "these are training rows"}, since the certificate was not beside the model.`;
  if (seen.rows === rows)
    return "all of these rows are training rows. The numbers say how well the networks remember, not how well they will do on new rows.";
  if (seen.rows <= MOST_COMMON * rows && seen.training < training) return null;
  return (
    `${count(seen.rows)} of these ${count(rows)} rows equal training rows, inputs and label. ` +
    "The numbers are too good if training rows are among them; leave those out."
  );
}

/** How many rows of each class are recognized. */
function recallCard(test, labels) {
  const [matrix] = Object.values(test.confusion);
  const lines = matrix.slice(0, labels.length).map((row, truth) => {
    const total = row.reduce((sum, number) => sum + number);
    return make(
      "div",
      { class: "measure" },
      make("span", {}, labels[truth]),
      bar(total ? row[truth] / total : 0, "own"),
      make("span", { class: "count" }, `${count(row[truth])} of ${count(total)}`),
    );
  });
  return make("section", { class: "card" }, make("h3", {}, "Recognized, by class"), ...lines);
}

function accuracyCard(ensemble) {
  const { test, training } = ensemble.data;
  const rows = [[ensemble.networks.length === 1 ? "This network" : "This ensemble", test.accuracy, "own"]];
  if (!ensemble.data.ties.isPaperRule && !ensemble.decidesAlone) rows.push(["… by the paper's rule", test.paper_accuracy, "own pale"]);
  for (const [name, share] of Object.entries(test.others)) rows.push([name, share, "other"]);
  const lines = rows.map(([name, share, kind]) =>
    make(
      "div",
      { class: "measure" },
      make("span", {}, name),
      bar(share, kind),
      make("span", { class: "count" }, percent(share, 2)),
    ),
  );
  const others = Object.keys(test.others).length
    ? ` The others are scikit-learn's, untuned, on the same ${count(training)} training rows and the same inputs.`
    : "";
  return make(
    "section",
    { class: "card" },
    make("h3", {}, "Accuracy"),
    ...lines,
    ensemble.decidesAlone && !others ? null : make("p", { class: "hint" }, (ensemble.decidesAlone ? "" : ensemble.data.ties.sentence) + others),
  );
}

function statusCard(ensemble) {
  const { test, statuses } = ensemble.data;
  const lines = statuses.map(({ name, words, correct }) =>
    make(
      "div",
      { class: "measure status" },
      make("span", {}, make("b", {}, name), ` ${words}`),
      bar(test.statuses[name], correct ? "own" : "miss"),
      make("span", { class: "count" }, percent(test.statuses[name], 1)),
    ),
  );
  const hint = `By the paper's rule, ${percent(test.unclassified, 1)} of the rows get no label.`;
  return make(
    "section",
    { class: "card" },
    make("h3", {}, "Label statuses"),
    ...lines,
    make("p", { class: "hint" }, hint),
  );
}

function confusionCard(ensemble) {
  const { test, labels } = ensemble.data;
  const alone = ensemble.decidesAlone; // and leaves no row without a label
  const holder = scrolling("Confusion matrix");
  const names = ends(labels);
  const long = needsUpright(names);
  const show = (rule) => {
    const matrix = test.confusion[rule];
    const largest = Math.max(1, ...matrix.map((row) => Math.max(...row)));
    const cells = (row, truth) =>
      row.slice(0, alone ? labels.length : row.length).map((number, given) => {
        const kind = given === truth ? "hit" : given === labels.length ? "unlabelled" : "miss";
        const cell = make("td", { class: number ? kind : "empty" }, number ? String(number) : "·");
        cell.style.setProperty("--share", Math.sqrt(number / largest));
        return cell;
      });
    const heading = (text, given) =>
      make("th", { scope: "col", class: long ? "upright" : "", title: text }, make("span", {}, names[given] ?? text));
    holder.replaceChildren(
      make(
        "table",
        { class: "confusion" },
        make("caption", { class: "unseen" }, "Rows by true label, columns by decision"),
        make("thead", {}, make("tr", {}, make("td"), ...labels.map(heading), ...(alone ? [] : [heading("n.l.", labels.length)]))),
        make(
          "tbody",
          {},
          ...matrix.map((row, truth) =>
            make("tr", {}, make("th", { scope: "row", title: labels[truth] }, names[truth]), ...cells(row, truth)),
          ),
        ),
      ),
    );
  };
  const rules = Object.keys(test.confusion).slice(0, alone ? 1 : undefined);
  const switches = rules.map((rule, i) =>
    make(
      "label",
      { class: "check" },
      make("input", { type: "radio", name: "rule", checked: i === 0, change: () => show(rule) }),
      rule,
    ),
  );
  show(rules[0]);
  return make(
    "section",
    { class: "card" },
    make("h3", {}, "Confusion matrix"),
    rules.length > 1 ? make("div", { class: "tools" }, ...switches) : null,
    holder,
    make(
      "p",
      { class: "hint" },
      `A row is a true label, a column the decision${alone ? "" : "; n.l. means no label"}. Shades follow square roots, so rare mistakes show.`,
    ),
  );
}
