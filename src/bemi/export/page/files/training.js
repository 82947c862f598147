// Training results: stages, weights, links, margins with their bounds, time, proofs.

/** Results of each stage over all networks. */
function trainingCard(ensemble) {
  const { summary, stageWords } = ensemble.data;
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
  return make(
    "section",
    { class: "card" },
    make("h3", {}, "Training results"),
    scrolling("Results of each stage", table("Results of each stage over all networks", headings, rows)),
    trainingHint(ensemble),
  );
}

/** What the numbers mean. */
function trainingHint({ data: { summary, solver, stageWords } }) {
  const goals = Object.values(stageWords).map(({ title, asksFor }) => `${title}: ${asksFor}.`);
  const stages = Object.values(summary.stages);
  const computed = stages.some((stage) => stage.computed > 0);
  const claimed = stages.some((stage) => stage.certified + stage.computed < stage.ran);
  const untimed = stages.some(({ seconds }) => seconds === null);
  return make(
    "p",
    { class: "hint" },
    `${goals.join(" ")} A gap is how far the result may be from the best possible. Certified bounds can be checked ` +
      "without a solver (bemi verify)" +
      (computed ? "; computed ones come from our own search, without a proof to check" : "") +
      (claimed ? `; ${computed ? "those of a solver" : "the others"} rely on ${solver ?? "the solver"}` : "") +
      "." +
      (untimed ? " Times are in the certificate, which is not part of this page." : ""),
  );
}

const MOST_NAMES = 15; // under the columns of a histogram

function weightsCard(ensemble) {
  return make("section", { class: "card" }, make("h3", {}, "Weights and links"), ...weightsParts(ensemble));
}

/** How often each weight occurs, and how many links are left after each stage. */
function weightsParts(ensemble) {
  const { weightBound, summary, stageWords } = ensemble.data;
  const weightCounts =
    ensemble.facing > 0
      ? ensemble.data.weightCounts
      : ensemble.data.weightCounts.map(({ low, high, count }) => ({ low: -high, high: -low, count })).reverse();
  const every = Math.ceil(weightCounts.length / MOST_NAMES);
  const middle = (weightCounts.length - 1) / 2;
  const total = weightCounts.reduce((sum, { count }) => sum + count, 0);
  const largest = Math.max(...weightCounts.map(({ count }) => count));
  const columns = weightCounts.map(({ low, high, count: number }, i) => {
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
      make("span", { class: "name" }, (i - middle) % every ? "" : name),
    );
  });
  const matter = ensemble.networks.reduce((sum, network) => sum + network.matter, 0) / ensemble.networks.length;
  const before = (stage) =>
    ensemble.networks.reduce((sum, network) => sum + network.stages[stage].links, 0) / ensemble.networks.length;
  const rows = [["possible", summary.total_links]];
  ensemble.networks[0].stages.forEach(({ stage }, i) => rows.push([`after ${stageWords[stage].title}`, before(i)]));
  rows.push(["can change the vote", matter]);
  const [low, high] = ensemble.data.inputRange;
  const mean = ensemble.networks.length === 1 ? "" : ", per network on average";
  return [
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
      `Links are non-zero weights${mean}.` +
        (ensemble.decidesAlone
          ? ""
          : ` With inputs in ${count(low)}..${count(high)} some neurons always give the same sign; links into the first ` +
            "layer that can change the vote are those of the others."),
    ),
  ];
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
  const holder = scrolling("All numbers", table("Links, margins and bounds of every network", headings, rows));
  holder.classList.add("tall");
  roving(holder, "button")();
  return make(
    "details",
    { class: "all-networks" },
    make("summary", {}, make("h3", {}, "All numbers, network by network")),
    holder,
  );
}
