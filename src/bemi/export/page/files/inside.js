// Inside the networks: the weights of every network, and one network in detail.

const GALLERY_PAGE = 60;
const MOST_BARS = 24; // of more inputs, those with the largest weights come first, and only those with a link at all

class Inside {
  constructor(ensemble, element) {
    this.ensemble = ensemble;
    this.selected = 0;
    this.outcome = null;
    this.detail = make("section", { class: "card broad", id: "network", tabindex: -1 });
    this.gallery = make("div", { class: `gallery ${ensemble.data.layers[1] === 1 ? "single" : ""}` });
    this.more = make("button", { type: "button", click: () => this.showMore() }, "Show more networks");
    this.shown = 0;
    this.refresh = roving(this.gallery, "button");
    const alone = ensemble.networks.length === 1;
    if (alone) element.append(this.detail);
    else element.append(
      make("div", { class: "cards" }, trainingCard(ensemble), weightsCard(ensemble)),
      this.detail,
      make(
        "section",
        { class: "card broad" },
        make("h3", {}, "Every network"),
        this.galleryHint(),
        this.gallery,
        this.more,
      ),
      make(
        "section",
        { class: "card broad" },
        networksTable(ensemble, (n) => this.open(n)),
      ),
    );
    this.buildDetail();
    if (!alone) this.showMore();
  }

  galleryHint() {
    return make(
      "p",
      { class: "hint" },
      `${weightView(this.ensemble.data).words}; `,
      make("span", { class: "key minus" }, "negative"),
      ", ",
      make("span", { class: "key plus" }, "positive"),
      ". A framed neuron splits the training rows; a faded one gives the same sign on all of them.",
    );
  }

  showMore() {
    const end = Math.min(this.ensemble.networks.length, this.shown + GALLERY_PAGE);
    for (let n = this.shown; n < end; n++) this.gallery.append(this.card(n));
    this.refresh();
    this.shown = end;
    this.more.hidden = end === this.ensemble.networks.length;
  }

  card(n) {
    const network = this.ensemble.networks[n];
    const name = networkName(this.ensemble, network);
    const pictures = network.splitting.map((splits, neuron) => {
      const canvas = make("canvas", { class: splits ? "splits" : "constant" });
      drawWeights(canvas, this.ensemble, network, neuron);
      return canvas;
    });
    return make(
      "button",
      { type: "button", class: "network", "aria-label": `Network ${name}: look inside`, click: () => this.open(n) },
      make("span", { class: "name" }, name),
      make("span", { class: "neurons" }, ...pictures),
    );
  }

  /** Shows a network and scrolls to it. */
  open(n) {
    this.select(n);
    this.detail.focus({ preventScroll: true });
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.detail.scrollIntoView({ block: "start", behavior: calm ? "auto" : "smooth" });
  }

  buildDetail() {
    const { networks } = this.ensemble;
    this.choice = make(
      "select",
      { id: "choice", change: () => this.select(Number(this.choice.value)) },
      ...networks.map((network, n) => make("option", { value: n }, networkName(this.ensemble, network))),
    );
    const step = (by) => () => this.select((this.selected + by + networks.length) % networks.length);
    this.body = make("div", { class: "detail" });
    const alone = networks.length === 1;
    this.detail.append(
      alone ? make("h3", {}, "The network") : make(
        "div",
        { class: "tools head" },
        make("h3", {}, make("label", { for: "choice" }, "One network")),
        this.choice,
        make("button", { type: "button", "aria-label": "Previous network", click: step(-1) }, "←"),
        make("button", { type: "button", "aria-label": "Next network", click: step(1) }, "→"),
      ),
      this.body,
    );
    this.select(0);
  }

  select(n) {
    this.selected = n;
    this.choice.value = n;
    const network = this.ensemble.networks[n];
    this.live = [];
    this.states = transformOf(this.ensemble.data)?.inputState ? [] : null;
    const neurons = network.splitting.map((_, neuron) => this.neuron(network, neuron));
    this.verdict = make("p", { class: "verdict" });
    this.body.classList.toggle("single", neurons.length === 1);
    this.body.replaceChildren(
      this.verdict,
      make("div", { class: "neurons" }, ...neurons),
      make("div", {}, ...this.upperLayers(network), make("h4", {}, "Training results"), this.reports(network), ...this.further()),
    );
    this.showOutcome(this.outcome);
  }

  /** What stands in cards of its own if there are several networks. */
  further() {
    if (this.ensemble.networks.length > 1) return [];
    return [trainingHint(this.ensemble), make("h4", {}, "Weights and links"), ...weightsParts(this.ensemble)];
  }

  neuron(network, neuron) {
    const { data } = this.ensemble;
    const splits = network.splitting[neuron];
    const votes = network.voting.includes(neuron);
    const links = network.norms[neuron] ? this.links(network, neuron) : 0;
    const sum = make("p", { class: "sum" });
    this.live.push(sum);
    const title = data.layers.length === 2 ? (data.layers[1] === 1 ? "The output" : `Output ${neuron + 1}`) : `Neuron ${neuron + 1}`;
    const picture =
      weightView(data) === BARS
        ? this.bars(network, neuron)
        : make("canvas", { role: "img", "aria-label": `Weights of neuron ${neuron + 1}` });
    if (picture.tagName === "CANVAS") drawWeights(picture, this.ensemble, network, neuron, 448);
    return make(
      "figure",
      { class: splits ? "neuron splits" : "neuron constant" },
      picture,
      make(
        "figcaption",
        {},
        make("b", {}, title),
        splits && network.splitting.length === 1
          ? null
          : make(
              "span",
              {
                class: `tag ${splits ? "splits" : ""}`,
                title: splits ? "gives both signs on the training rows" : "gives the same sign on all training rows",
              },
              splits ? "splitting" : "constant",
            ),
        votes ? null : make("span", { class: "tag" }, "cannot change the vote"),
        make("span", {}, plural(links, "link")),
        sum,
      ),
    );
  }

  links(network, neuron) {
    const neurons = this.ensemble.data.layers[1];
    return network.weights[0].reduce(
      (sum, weight, place) => sum + (place % neurons === neuron && weight !== 0 ? 1 : 0),
      0,
    );
  }

  bars(network, neuron) {
    const { data } = this.ensemble;
    const names = inputNames(data);
    const neurons = data.layers[1];
    const weightOf = (input) => this.ensemble.facing * network.weights[0][input * neurons + neuron];
    const every = names.map((_, input) => input);
    const many = names.length > MOST_BARS;
    const shown = many ? every.filter((input) => weightOf(input) !== 0) : every;
    const left = names.length - shown.length;
    if (many) shown.sort((a, b) => Math.abs(weightOf(b)) - Math.abs(weightOf(a)) || a - b);
    const listed = (inputs) => make(
      "ul",
      { class: "weights" },
      ...inputs.map((input) => {
        const [name, weight] = [names[input], weightOf(input)];
        const state = make("span", { class: "state" });
        if (this.states) this.states.push({ element: state, input });
        const beam = make("span", { class: `beam ${weight < 0 ? "minus" : "plus"}`, "aria-hidden": "true" });
        beam.style.setProperty("--share", Math.abs(weight) / data.weightBound);
        return make(
          "li",
          {},
          make("span", { class: "name", title: name }, name),
          beam,
          make("span", { class: "count" }, signed(weight)),
          this.states ? state : null,
        );
      }),
    );
    const words = [
      this.states ? "Beside each weight: what its input is now." : "",
      left ? `${plural(left, "input")} without a link ${left === 1 ? "is" : "are"} not listed.` : "",
    ];
    const hint = make("p", { class: "hint" }, words.join(" "));
    const rest = shown.slice(MOST_BARS);
    const more = rest.length
      ? make("details", { class: "more" }, make("summary", {}, plural(rest.length, "smaller weight")), listed(rest))
      : null;
    const holder = { class: this.states ? "listing with-states" : "listing" };
    return make("div", holder, listed(shown.slice(0, MOST_BARS)), more, hint);
  }

  upperLayers(network) {
    const { layers, weightBound } = this.ensemble.data;
    const parts = network.weights.slice(1).map((weights, above) => {
      const [from, to] = layers.slice(above + 1);
      const last = above + 2 === layers.length - 1;
      const headings = [
        "from ↓ to →",
        ...Array.from({ length: to }, (_, i) => (last ? `output${to > 1 ? ` ${i + 1}` : ""}` : `${i + 1}`)),
      ];
      const rows = Array.from({ length: from }, (_, i) => [
        `neuron ${i + 1}`,
        ...Array.from({ length: to }, (_, j) => {
          const weight = weights[i * to + j];
          const cell = make(
            "span",
            { class: `weight ${weight < 0 ? "minus" : weight > 0 ? "plus" : ""}` },
            signed(weight),
          );
          cell.style.setProperty("--share", Math.abs(weight) / weightBound);
          return cell;
        }),
      ]);
      return make(
        "div",
        {},
        make("h4", {}, last ? "Into the output" : `Into layer ${above + 2}`),
        scrolling("Weights", table("Weights", headings, rows)),
      );
    });
    return parts.length ? [make("div", { class: "upper" }, ...parts)] : [];
  }

  reports(network) {
    const { stageWords } = this.ensemble.data;
    const headings = ["stage", "reached", "bound", "gap", "links", "proof", "seconds"];
    const rows = network.stages.map((report) => [
      make("span", {}, stageWords[report.stage].title, make("small", {}, stageWords[report.stage].measure)),
      short(report.objective),
      short(report.bound),
      percent(report.gap, 2),
      count(report.links),
      make("span", { title: PROOF_WORDS[report.proof] }, report.proof),
      report.seconds === null ? "–" : report.seconds.toFixed(2),
    ]);
    const notes = network.stages
      .filter(({ message }) => message)
      .map(({ stage, message }) => `${stageWords[stage].title}: ${message}.`);
    return scrolling(
      "Stages of this network",
      table("Stages of this network", headings, rows),
      notes.length ? make("p", { class: "hint" }, notes.join(" ")) : null,
    );
  }

  /** The vote of the selected network on the current row. */
  showOutcome(outcome) {
    this.outcome = outcome;
    const network = this.ensemble.networks[this.selected];
    const vote = outcome === null ? null : outcome.votes[this.selected];
    const { layers, labels } = this.ensemble.data;
    const { facing } = this.ensemble;
    // The sign of a lone output is the vote.
    const lone = layers.length === 2 && layers[1] === 1;
    const rule = facing > 0 ? `at least 0 votes for ${labels[network.classes[0]]}` : `more than 0 votes for ${labels[network.classes[1]]}`;
    const among = `Tells ${networkName(this.ensemble, network)} apart.${lone ? ` A sum of ${rule}.` : ""}`;
    this.verdict.textContent =
      vote === null
        ? among
        : `${among} For the row above it ${vote === ABSTAIN ? "abstains" : `votes for ${this.ensemble.data.labels[vote]}`}.`;
    this.live.forEach((element, neuron) => {
      const sum = outcome === null ? null : outcome.sums[this.selected][0][neuron];
      const side = lone ? labels[network.classes[sum >= 0 ? 0 : 1]] : sum >= 0 ? "+1" : "−1";
      element.textContent = sum === null ? "" : `sum now ${signed(facing * sum)}, so ${side}`;
    });
    const { data } = this.ensemble;
    for (const { element, input } of this.states ?? []) {
      const state =
        outcome === null ? { text: "" } : transformOf(data).inputState(data.transform, input, outcome.inputs[input]);
      element.textContent = state.text;
      element.parentElement.classList.toggle("off", state.on === false);
    }
  }

  /** Draws all weights again, in other colours. */
  redraw() {
    if (this.ensemble.networks.length === 1) return this.select(0);
    this.gallery.replaceChildren();
    this.shown = 0;
    this.showMore();
    this.select(this.selected);
  }
}
