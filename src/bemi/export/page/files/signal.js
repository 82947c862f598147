// A recording to slide through: the window under the slider, what surrounds it, and how the votes change along it.

const AROUND = 8; // windows that are seen at once
const PER_WINDOW = 8; // places at which votes are computed, per window
const AT_A_TIME = 8; // of these between two frames

class Recording {
  /** `changed` is called with the features of a window; `loaded` when other readings take the place of the samples. */
  constructor(ensemble, changed, loaded) {
    const { data } = ensemble;
    Object.assign(this, { ensemble, changed, loaded, ...transformOf(data).windowOf(data.transform) });
    this.fields = data.fields;
    this.known = new Map();
    this.marks = null;
    this.plot = make("canvas", { class: "plot", role: "img" });
    this.map = make("canvas", { class: "plot map", "aria-hidden": "true" });
    this.slider = make("input", {
      ...{ type: "range", min: 0, value: 0, step: 1, "aria-label": "Start of the window" },
      input: () => this.slide(this.slider.valueAsNumber),
    });
    this.place = make("p", { class: "hint" });
    this.problem = make("p", { class: "problem", role: "alert" });
    this.player = make("button", { type: "button", click: () => this.play() }, "▶ Play");
    const step = (text, name, by) => make("button", { type: "button", "aria-label": name, click: () => this.slide(this.start + by) }, text);
    const hop = Math.max(1, Math.round(this.time / PER_WINDOW));
    this.hop = hop;
    this.element = make(
      "div",
      { class: "recording" },
      this.plot,
      make(
        "div",
        { class: "tools" },
        step("←", "Earlier", -hop),
        this.player,
        step("→", "Later", hop),
        this.place,
      ),
      this.slider,
      make("h4", {}, "Votes along the recording"),
      this.map,
      make(
        "p",
        { class: "hint" },
        "A row per class: the stronger the colour, the more votes for the window that begins there; dots are decisions. Click to go there.",
      ),
      this.importer(),
    );
    this.map.addEventListener("click", (event) => {
      const box = this.map.getBoundingClientRect();
      this.slide(this.first + ((event.clientX - box.left - this.edge) / Math.max(1, box.width - this.edge)) * this.span);
    });
    this.take([this.usual()], 0);
  }

  /** A window of usual values: nothing happens in it. */
  usual() {
    return Array.from({ length: this.time * this.channels }, (_, i) => this.fields[i % this.channels].start);
  }

  importer() {
    const text = make("textarea", { rows: 4, "aria-label": "Readings", placeholder: this.example(), spellcheck: "false" });
    const file = make("input", {
      ...{ type: "file", accept: ".csv,.txt,.tsv,text/*", "aria-label": "File with readings" },
      change: async () => file.files.length && this.read(await file.files[0].text()),
    });
    return make(
      "details",
      {},
      make("summary", {}, "Your own readings"),
      make(
        "p",
        { class: "hint" },
        `One line per sample with ${plural(this.channels, "number")}, or with the time before ${this.channels === 1 ? "it" : "them"}: ` +
          `choose a CSV file, or paste it. At least ${this.time} samples, at the rate of the training windows.`,
      ),
      file,
      text,
      make("div", { class: "tools" }, make("button", { type: "button", click: () => this.read(text.value) }, "Show these")),
      this.problem,
    );
  }

  example() {
    const line = (t) => [t, ...this.fields.map(({ start }) => start)].join(",");
    return `time,${this.fields.map(({ name }) => name.replaceAll(" ", "")).join(",")}\n${line(0)}\n${line(1)}\n…`;
  }

  /** Shows readings from text, or says why not. */
  read(text) {
    try {
      const samples = readSamples(text, this.channels);
      if (samples.length < this.time) throw new RangeError(`${plural(samples.length, "sample")} are fewer than the ${this.time} of a window`);
      this.problem.textContent = "";
      this.loaded();
      this.take([samples.flat()], 0);
      this.slide(0);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      this.problem.textContent = `Not read: ${error.message}.`;
    }
  }

  /** Shows a test sample at its place among all of them. */
  load(rows, index) {
    if (this.rows !== rows) this.take(rows.map((row) => Array.from(row)), index * this.time);
    else this.moveTo(index * this.time);
    this.rows = rows;
  }

  /** Other readings: parts that follow each other, and the sample to start with. */
  take(parts, start) {
    this.pause();
    this.rows = null;
    this.signal = parts.length === 1 ? parts[0] : parts.flat();
    this.parts = parts.length;
    this.length = this.signal.length / this.channels;
    this.known.clear();
    this.slider.max = this.length - this.time;
    this.ranges = this.fields.map(({ low, high }, channel) => {
      let [bottom, top] = [low, high];
      for (let i = channel; i < this.signal.length; i += this.channels) {
        bottom = Math.min(bottom, this.signal[i]);
        top = Math.max(top, this.signal[i]);
      }
      return top > bottom ? [bottom, top] : [bottom - 1, top + 1];
    });
    this.moveTo(start);
  }

  moveTo(start) {
    this.start = Math.round(clipped(start, 0, this.length - this.time));
    this.span = Math.min(this.length - this.time, AROUND * this.time) || 1;
    this.first = Math.round(clipped(this.start - this.span / 2, 0, Math.max(0, this.length - this.time - this.span)));
    this.slider.value = this.start;
    this.show();
  }

  /** The window at a sample is the one to decide on. */
  slide(start) {
    this.moveTo(start);
    this.changed(this.row(this.start));
  }

  /** Features of a window. */
  row(start) {
    return this.signal.slice(start * this.channels, (start + this.time) * this.channels);
  }

  /** The row on display. */
  get values() {
    return this.row(this.start);
  }

  play() {
    if (this.timer !== undefined) return this.pause();
    this.player.textContent = "❚❚ Pause";
    if (this.start >= this.length - this.time) this.moveTo(0);
    this.timer = setInterval(() => {
      this.slide(this.start + Math.max(1, Math.round(this.hop / 4)));
      if (this.start >= this.length - this.time) this.pause();
    }, 60);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = undefined;
    this.player.textContent = "▶ Play";
  }

  /** Marks positions of a channel in the plot; null for none. */
  mark(marks) {
    this.marks = marks;
    this.drawWindow();
  }

  show() {
    const end = this.start + this.time;
    const joined = this.parts > 1 && this.start % this.time ? " It has parts of two test samples." : "";
    this.place.textContent = `Samples ${count(this.start)} to ${count(end - 1)} of ${count(this.length)}.${joined}`;
    this.slider.setAttribute("aria-valuetext", `sample ${this.start}`);
    this.plot.setAttribute("aria-label", `${plural(this.channels, "channel")} of the window, samples ${this.start} to ${end - 1}`);
    this.drawWindow();
    this.drawMap();
  }

  drawWindow() {
    const lane = clipped(Math.round(260 / this.channels), 34, 150);
    const { context, width } = sheet(this.plot, lane * this.channels);
    const [ink, line, own, miss] = ["ink", "line", "own", "miss"].map(colourOf);
    context.font = "11px system-ui, sans-serif";
    for (let channel = 0; channel < this.channels; channel++) {
      const [bottom, top] = this.ranges[channel];
      const floor = (channel + 1) * lane - 5;
      const y = (value) => floor - ((value - bottom) / (top - bottom)) * (lane - 20);
      const x = (t) => 1 + (t / Math.max(1, this.time - 1)) * (width - 2);
      context.fillStyle = line;
      context.fillRect(0, (channel + 1) * lane - 1, width, 1);
      if (this.marks?.channel === channel) {
        context.fillStyle = miss;
        for (const t of this.marks.places) context.fillRect(x(t) - 1, floor, Math.max(2, (width - 2) / this.time), 4);
      }
      context.strokeStyle = own;
      context.lineWidth = 1.5;
      context.beginPath();
      for (let t = 0; t < this.time; t++) context.lineTo(x(t), y(this.signal[(this.start + t) * this.channels + channel]));
      context.stroke();
      context.fillStyle = ink;
      context.fillText(`${this.fields[channel].name}, ${short(bottom)} to ${short(top)}`, 2, channel * lane + 11);
    }
  }

  /** Places of the map, from left to right. */
  places() {
    const found = [];
    for (let at = this.first; at <= this.first + this.span && at + this.time <= this.length; at += this.hop) found.push(at);
    return found;
  }

  drawMap() {
    const { labels } = this.ensemble.data;
    const shown = labels.length <= MOST_SHOWN ? labels.map((_, index) => index) : this.mostVoted();
    const lane = 15;
    const { context, width } = sheet(this.map, lane * shown.length + 2);
    const [ink, zero, own, card, miss] = ["ink", "zero", "own", "card", "miss"].map(colourOf);
    context.font = "11px system-ui, sans-serif";
    this.edge = Math.min(width / 3, 8 + Math.max(...shown.map((index) => context.measureText(labels[index]).width)));
    const places = this.places();
    const x = (at) => this.edge + ((at - this.first) / this.span) * (width - this.edge);
    const wide = Math.max(2, (this.hop / this.span) * (width - this.edge));
    shown.forEach((index, row) => {
      context.fillStyle = ink;
      context.fillText(fitting(context, labels[index], this.edge - 6), 0, row * lane + 12);
    });
    for (const at of places) {
      const found = this.known.get(at);
      if (!found) continue;
      shown.forEach((index, row) => {
        context.fillStyle = zero;
        context.fillRect(x(at), row * lane + 1, wide - 1, lane - 2);
        context.globalAlpha = 0.85 * found.shares[index] ** 2;
        context.fillStyle = own;
        context.fillRect(x(at), row * lane + 1, wide - 1, lane - 2);
        context.globalAlpha = 1;
        if (found.decision === index) {
          context.fillStyle = card;
          context.beginPath();
          context.arc(x(at) + (wide - 1) / 2, (row + 0.5) * lane, Math.min(3, wide / 3), 0, 7);
          context.fill();
        }
      });
    }
    context.strokeStyle = miss;
    context.lineWidth = 2;
    context.strokeRect(clipped(x(this.start), 1, width - wide - 1), 1, Math.max(3, wide - 1), lane * shown.length);
    this.later(places);
  }

  /** Votes at places of the map, a few between two frames. */
  later(places) {
    const open = places.filter((at) => !this.known.has(at));
    if (!open.length || this.waiting) return;
    this.waiting = true;
    setTimeout(() => {
      this.waiting = false;
      for (const at of open.slice(0, AT_A_TIME)) {
        if (at + this.time > this.length || this.known.has(at)) continue;
        const { shares, decision } = this.ensemble.outcome(this.row(at));
        this.known.set(at, { shares, decision });
      }
      this.drawMap();
    });
  }

  mostVoted() {
    const total = this.ensemble.data.labels.map((_, index) => [...this.known.values()].reduce((sum, { shares }) => sum + shares[index], 0));
    return total.map((_, index) => index).sort((a, b) => total[b] - total[a] || a - b).slice(0, MOST_SHOWN);
  }
}

/** A canvas of a height in the page's pixels, sharp on every screen. */
function sheet(canvas, height) {
  const width = Math.max(120, Math.round(canvas.clientWidth || 320));
  const scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.setProperty("height", `${height}px`);
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width };
}

/** Text that is cut to a width. */
function fitting(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}

const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
