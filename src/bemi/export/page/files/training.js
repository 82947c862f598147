// Training results: stages, weights, links, margins with their bounds, time, proofs.

/** Results of each stage over all networks. */
function trainingCard(ensemble) {
  const { summary, solver, stageWords } = ensemble.data;
  const rows = Object.entries(summary.stages).map(([stage, numbers]) => [
    make("span", { title: stageWords[stage].asksFor }, stageWords[stage].title),
    `${numbers.optimal} of ${numbers.ran}`,
    percent(numbers.mean_gap, 2),
    percent(numbers.max_gap, 2),
    `${numbers.certified} of ${numbers.ran}`,
    numbers.mean_links.toFixed(1),
    numbers.seconds === null ? "–" : numbers.seconds.toFixed(1),
  ]);
  const headings = ["stage", "proved optimal", "mean gap", "largest gap", "certified", "mean links", "seconds"];
  const goals = Object.values(stageWords).map(({ title, asksFor }) => `${title}: ${asksFor}.`);
  const seconds = Object.values(summary.stages).some((numbers) => numbers.seconds === null);
  return make(
    "section",
    { class: "card" },
    make("h3", {}, "Training results"),
    make("div", { class: "wide" }, table("Results of each stage over all networks", headings, rows)),
    make(
      "p",
      { class: "hint" },
      `${goals.join(" ")} A gap is how far the result may be from the best possible. Certified bounds can be checked ` +
        `without a solver (bemi verify); the others rely on ${solver ?? "the solver"}.` +
        (seconds ? " Times are in the certificate, which was not available." : ""),
    ),
  );
}

/** How often each weight occurs, and how many links are left after each stage. */
function weightsCard(ensemble) {
  const { weightCounts, weightBound, summary, stageWords } = ensemble.data;
  const total = weightCounts.reduce((sum, { count }) => sum + count, 0);
  const largest = Math.max(...weightCounts.map(({ count }) => count));
  const columns = weightCounts.map(({ low, high, count: number }) => {
    const name =
      low === high ? String(low).replace("-", "−") : `${Math.max(low, -weightBound)}..${Math.min(high, weightBound)}`;
    const kind = high < 0 ? "minus" : low > 0 ? "plus" : "zero";
    const column = make("span", { class: `column ${kind}`, "aria-hidden": "true" });
    column.style.setProperty("--share", number / largest);
    return make(
      "li",
      { title: `${name}: ${count(number)}` },
      make("span", { class: "share" }, weightCounts.length > 9 ? "" : percent(number / total, 1)),
      column,
      make("span", { class: "name" }, name),
    );
  });
  const matter = ensemble.networks.reduce((sum, network) => sum + network.matter, 0) / ensemble.networks.length;
  const before = (stage) =>
    ensemble.networks.reduce((sum, network) => sum + network.stages[stage].links, 0) / ensemble.networks.length;
  const rows = [["possible", summary.total_links]];
  ensemble.networks[0].stages.forEach(({ stage }, i) => rows.push([`after ${stageWords[stage].title}`, before(i)]));
  rows.push(["can change the vote", matter]);
  const [low, high] = ensemble.data.inputRange;
  return make(
    "section",
    { class: "card" },
    make("h3", {}, "Weights and links"),
    make("ul", { class: "histogram", "aria-label": "How often each weight occurs" }, ...columns),
    ...rows.map(([name, number], i) =>
      make(
        "div",
        { class: "measure" },
        make("span", {}, name),
        bar(number / summary.total_links, i === rows.length - 1 ? "own" : "other"),
        make("span", { class: "count" }, number.toLocaleString("en-US", { maximumFractionDigits: 1 })),
      ),
    ),
    make(
      "p",
      { class: "hint" },
      `Links, non-zero weights, per network on average. With inputs in ${count(low)}..${count(high)} some neurons always give the same sign; links into the first layer that can change the vote are those of the others.`,
    ),
  );
}

/** All numbers; `opened` is called with the index of a network to inspect. */
function networksTable(ensemble, opened) {
  const { networks } = ensemble;
  const stages = networks[0].stages.map(({ stage }) => stage);
  const { judged, stageWords } = ensemble.data;
  const at = stages.indexOf(judged);
  const headings = [
    "network",
    ...stages.map((stage) => `links after ${stage}`),
    "can change the vote",
    stageWords[judged].measure,
    "bound",
    "gap",
    "proof",
    "seconds",
  ];
  const rows = networks.map((network, n) => {
    const report = network.stages[at];
    const seconds = network.stages.map((stage) => stage.seconds);
    const time = seconds.includes(null) ? "–" : seconds.reduce((a, b) => a + b, 0).toFixed(1);
    return [
      make("button", { type: "button", class: "plain", click: () => opened(n) }, networkName(ensemble, network)),
      ...network.stages.map(({ links }) => count(links)),
      count(network.matter),
      short(report.objective),
      short(report.bound),
      percent(report.gap, 2),
      report.proof,
      time,
    ];
  });
  return make(
    "details",
    { class: "all-networks" },
    make("summary", {}, make("h3", {}, "All numbers, network by network")),
    make("div", { class: "wide tall" }, table("Links, margins and bounds of every network", headings, rows)),
  );
}
