// A pad to draw on with mouse, finger, pen or keys.

const KEY_STEP = 1 / 28;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

class Pad {
  /** `changed` is called with the features of what is on the pad, or null if there is nothing. */
  constructor(data, changed) {
    this.image = data.image;
    this.changed = changed;
    this.strokes = [];
    this.row = null; // a test row that is shown instead of strokes
    this.pen = [0.5, 0.5]; // where the keys draw
    this.penDown = false;
    this.active = null; // the pointer that is drawing
    this.canvas = make("canvas", {
      class: "pad",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "drawing pad",
      "aria-label": "Drawing pad. Arrow keys move the pen, space puts it down or lifts it, Escape clears.",
      pointerdown: (event) => this.begin(event),
      pointermove: (event) => this.move(event),
      pointerup: (event) => this.end(event),
      pointercancel: (event) => this.end(event),
      keydown: (event) => this.key(event),
      focus: () => this.show(),
      blur: () => this.show(),
    });
    this.seen = make("canvas", { class: "seen", role: "img", "aria-label": "The image as the networks get it" });
    this.centred = make("input", { type: "checkbox", checked: true, change: () => this.update() });
    const button = (text, act) => make("button", { type: "button", click: act }, text);
    this.element = make(
      "div",
      { class: "drawing" },
      this.canvas,
      make(
        "div",
        { class: "tools" },
        button("Clear", () => this.clear()),
        button("Undo", () => this.undo()),
        make("label", { class: "check" }, this.centred, "Centre and scale"),
      ),
      make(
        "div",
        { class: "seen-row" },
        this.seen,
        make(
          "p",
          { class: "hint" },
          `What the networks get: ${this.image.width} × ${this.image.height} pixels, framed as the training images. ` +
            "Draw with mouse, finger or pen; or focus the pad, move with the arrow keys and put the pen down with space.",
        ),
      ),
    );
  }

  begin(event) {
    if (this.active !== null || (event.pointerType === "mouse" && event.button !== 0)) return;
    this.active = event.pointerId;
    this.canvas.setPointerCapture(event.pointerId);
    this.penDown = false;
    this.start(this.point(event));
  }

  move(event) {
    if (event.pointerId !== this.active) return;
    const events = event.getCoalescedEvents?.() ?? [];
    for (const each of events.length ? events : [event]) this.strokes[this.strokes.length - 1].push(this.point(each));
    this.update();
  }

  end(event) {
    if (event.pointerId === this.active) this.active = null;
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  }

  start(point) {
    this.row = null;
    this.strokes.push([point]);
    this.update();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in ARROWS) {
      const step = ARROWS[event.key].map((way) => way * KEY_STEP * (event.shiftKey ? 3 : 1));
      this.pen = this.pen.map((value, i) => Math.max(0, Math.min(1, value + step[i])));
      if (this.penDown) this.strokes[this.strokes.length - 1].push(this.pen);
      this.update(this.penDown);
    } else if (event.key === " " || event.key === "Enter") {
      this.penDown = !this.penDown;
      if (this.penDown) this.start(this.pen);
      else this.show();
    } else if (event.key === "Escape" || event.key === "Delete") this.clear();
    else if (event.key === "Backspace") this.undo();
    else return;
    event.preventDefault();
  }

  clear() {
    this.strokes = [];
    this.row = null;
    this.penDown = false;
    this.update();
  }

  undo() {
    this.strokes.pop();
    this.row = null;
    this.penDown = false;
    this.update();
  }

  /** Shows a test row. */
  load(row) {
    this.strokes = [];
    this.penDown = false;
    this.row = row;
    this.show();
  }

  update(different = true) {
    this.show();
    if (!different) return;
    this.changed(this.row ?? (this.strokes.length ? this.drawn() : null));
  }

  drawn() {
    return features(this.strokes, this.image, this.centred.checked ? this.image.framing : "drawn");
  }

  show() {
    const { canvas, image } = this;
    if (this.row !== null) drawRow(canvas, this.row, image);
    else this.showStrokes();
    canvas.classList.toggle("pixels", this.row !== null);
    drawRow(this.seen, this.row ?? this.drawn(), image);
  }

  showStrokes() {
    const { canvas } = this;
    const size = Math.round((canvas.clientWidth || 320) * (window.devicePixelRatio || 1));
    canvas.width = size;
    canvas.height = Math.round((size * this.image.height) / this.image.width);
    const context = canvas.getContext("2d");
    const colours = palette();
    context.lineCap = context.lineJoin = "round";
    context.lineWidth = 0.09 * Math.min(canvas.width, canvas.height);
    context.strokeStyle = css(colours.ink);
    for (const stroke of this.strokes) {
      context.beginPath();
      stroke.forEach(([x, y], i) => context[i ? "lineTo" : "moveTo"](x * canvas.width, y * canvas.height));
      if (stroke.length === 1) context.lineTo(stroke[0][0] * canvas.width, stroke[0][1] * canvas.height);
      context.stroke();
    }
    if (!this.strokes.length) {
      context.fillStyle = css(mixed(colours.card, colours.ink, 0.55));
      context.font = `${0.06 * canvas.width}px system-ui, sans-serif`;
      context.textAlign = "center";
      context.fillText("draw here", canvas.width / 2, canvas.height / 2);
    }
    if (document.activeElement !== canvas || !canvas.matches(":focus-visible")) return;
    context.beginPath();
    context.arc(this.pen[0] * canvas.width, this.pen[1] * canvas.height, 0.045 * canvas.width, 0, 2 * Math.PI);
    context.fillStyle = context.strokeStyle = css(colours.minus);
    context.lineWidth = 0.012 * canvas.width;
    if (this.penDown) context.fill();
    context.stroke();
  }
}
