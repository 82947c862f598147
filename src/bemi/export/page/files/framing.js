// From strokes to pixels, framed as the training images are.  Strokes are lists of points [x, y] in 0..1.

/** How much of each pixel a pen covers, 0..1; `place` puts points of strokes into the picture. */
function inked(strokes, width, height, place, radius) {
  const ink = new Float64Array(width * height);
  for (const stroke of strokes) {
    const points = stroke.map(place);
    points.forEach((to, i) => cover(ink, width, height, points[Math.max(0, i - 1)], to, radius));
  }
  return ink;
}

function cover(ink, width, height, [x0, y0], [x1, y1], radius) {
  const reach = radius + 1;
  const length = (x1 - x0) ** 2 + (y1 - y0) ** 2;
  const top = Math.max(0, Math.floor(Math.min(y0, y1) - reach));
  const bottom = Math.min(height - 1, Math.ceil(Math.max(y0, y1) + reach));
  const left = Math.max(0, Math.floor(Math.min(x0, x1) - reach));
  const right = Math.min(width - 1, Math.ceil(Math.max(x0, x1) + reach));
  for (let r = top; r <= bottom; r++)
    for (let c = left; c <= right; c++) {
      const x = c + 0.5,
        y = r + 0.5;
      const along = length ? Math.max(0, Math.min(1, ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length)) : 0;
      const distance = Math.hypot(x - x0 - along * (x1 - x0), y - y0 - along * (y1 - y0));
      const covered = Math.max(0, Math.min(1, radius + 0.5 - distance));
      ink[r * width + c] = Math.max(ink[r * width + c], covered);
    }
}

const PEN = 0.06; // radius of the pen, as a fraction of the box that a drawing is fitted into
const LARGEST_ZOOM = 6; // a dot stays a dot

/** Fits a drawing into a box in the middle of a picture, preserving the aspect ratio. */
function boxed(strokes, width, height, box) {
  const xs = strokes.flat().map(([x]) => x),
    ys = strokes.flat().map(([, y]) => y);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const room = box * (1 - 2 * PEN);
  const scale = Math.min(room / Math.max(right - left, bottom - top, 1e-9), LARGEST_ZOOM * box);
  return ([x, y]) => [width / 2 + scale * (x - (left + right) / 2), height / 2 + scale * (y - (top + bottom) / 2)];
}

/** As MNIST was made: into a box of 20/28 of the picture, the centre of mass in its middle. */
function byMass(strokes, width, height) {
  const box = (Math.min(width, height) * 20) / 28;
  const place = boxed(strokes, width, height, box);
  const ink = inked(strokes, width, height, place, PEN * box);
  let mass = 0,
    across = 0,
    down = 0;
  ink.forEach((value, at) => {
    mass += value;
    across += value * ((at % width) + 0.5);
    down += value * (Math.floor(at / width) + 0.5);
  });
  const shift = [width / 2 - across / mass, height / 2 - down / mass];
  return inked(strokes, width, height, (point) => place(point).map((value, i) => value + shift[i]), PEN * box);
}

/** As the digits of 8 x 8 were made: the drawing fills a bitmap of four times the size, and each 4 x 4 block counts. */
function byBlocks(strokes, width, height) {
  const box = 4 * Math.min(width, height);
  const ink = inked(strokes, 4 * width, 4 * height, boxed(strokes, 4 * width, 4 * height, box), PEN * box);
  const counts = new Float64Array(width * height);
  ink.forEach((value, at) => {
    const block = (Math.floor(at / (4 * width)) >> 2) * width + ((at % (4 * width)) >> 2);
    if (value >= 0.5) counts[block] += 1 / 16;
  });
  return counts;
}

/** Where it was drawn. */
function asDrawn(strokes, width, height) {
  return inked(strokes, width, height, ([x, y]) => [x * width, y * height], 0.75 * PEN * Math.min(width, height));
}

const FRAMINGS = { mass: byMass, blocks: byBlocks, drawn: asDrawn };

/** Features of a drawing. */
function features(strokes, { height, width, channels, maximum, whole }, framing) {
  const ink = strokes.length ? FRAMINGS[framing](strokes, width, height) : new Float64Array(width * height);
  const row = [];
  for (const share of ink) {
    const value = whole ? Math.round(share * maximum) : share * maximum;
    for (let channel = 0; channel < channels; channel++) row.push(value);
  }
  return row;
}
