// Performance on all test rows: accuracy compared with other classifiers, label statuses, confusion matrix.

function showResults(ensemble, element) {
  const { test, labels } = ensemble.data;
  element.append(
    make("p", { class: "lead" }, `Measured on ${count(test.rows)} ${test.about}.`),
    make(
      "div",
      { class: "cards" },
      make("div", { class: "pile" }, accuracyCard(ensemble), statusCard(ensemble)),
      confusionCard(test, labels),
    ),
  );
}

function accuracyCard(ensemble) {
  const { test, training } = ensemble.data;
  const rows = [["This ensemble", test.accuracy, "own"]];
  if (!ensemble.data.ties.isPaperRule) rows.push(["… by the paper's rule", test.paper_accuracy, "own pale"]);
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
    make("p", { class: "hint" }, ensemble.data.ties.sentence + others),
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

function confusionCard(test, labels) {
  const holder = make("div", { class: "wide" });
  const names = ends(labels);
  const long = needsUpright(names);
  const show = (rule) => {
    const matrix = test.confusion[rule];
    const largest = Math.max(1, ...matrix.map((row) => Math.max(...row)));
    const cells = (row, truth) =>
      row.map((number, given) => {
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
        make("thead", {}, make("tr", {}, make("td"), ...labels.map(heading), heading("n.l.", labels.length))),
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
  const rules = Object.keys(test.confusion);
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
      "A row is a true label, a column the decision; n.l. means no label. Shades follow square roots, so rare mistakes show.",
    ),
  );
}
