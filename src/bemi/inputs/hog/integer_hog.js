// Histograms of oriented gradients; docs/transforms.md describes the algorithm step by step.  Everything fits 32 bits,
// and integers are small enough that the floor of a rounded quotient equals that of the exact one.
{
  function histograms(given, hog) {
    for (const value of given) {
      if (value < 0 || value > hog.maximum) throw new RangeError(`pixels must be in 0..${hog.maximum}`);
    }
    const integers = hog.box === null ? given : shrunk(given, hog);
    const image = brightness(integers, hog);
    if (hog.massShift !== null) straighten(image, hog);
    const gradients = pooled(blurred(image, hog), hog);
    return hog.colours === null ? gradients : [...gradients, ...colourShares(integers, hog)];
  }

  /** Rounded means of boxes of pixels. */
  function shrunk(given, { shape: [height, width, channels], box: { side, width: givenWidth } }) {
    return Array.from({ length: height * width * channels }, (_, place) => {
      const channel = place % channels;
      const pixel = (place - channel) / channels;
      const [r, c] = [Math.floor(pixel / width) * side, (pixel % width) * side];
      let sum = Math.floor((side * side) / 2);
      for (let i = 0; i < side; i++)
        for (let j = 0; j < side; j++) sum += given[((r + i) * givenWidth + c + j) * channels + channel];
      return Math.floor(sum / (side * side));
    });
  }

  /** How much there is of each of 64 colours. */
  function colourShares(integers, { maximum, colours: { whole, shift, most } }) {
    const counts = new Array(64).fill(0);
    const pixels = integers.length / 3;
    const level = (value) => Math.floor((4 * value) / (maximum + 1));
    for (let i = 0; i < pixels; i++) counts[integers.slice(3 * i, 3 * i + 3).reduce((sum, v) => 4 * sum + level(v), 0)]++;
    return counts.map((count) => integerRoot(Math.floor((Math.min(count >> shift, most) * whole) / most)));
  }

  /** One plane per channel, doubled if need be. */
  function brightness(integers, { shape, levels, levelShift, doubled, height, width }) {
    const step = doubled ? 1 : 0;
    const [, givenWidth, channels] = shape;
    return Array.from({ length: channels }, (_, channel) => {
      const plane = new Int32Array(height * width);
      for (let r = 0; r < height; r++)
        for (let c = 0; c < width; c++) {
          const place = ((r >> step) * givenWidth + (c >> step)) * channels + channel;
          plane[r * width + c] = levels[integers[place] >> levelShift];
        }
      return plane;
    });
  }

  function straighten(image, { massShift, height, width }) {
    const masses = new Int32Array(height * width);
    for (const plane of image) plane.forEach((value, place) => (masses[place] += value));
    let mass = 0,
      across = 0,
      down = 0;
    masses.forEach((sum, place) => {
      const weight = sum >> massShift;
      masses[place] = weight;
      mass += weight;
      across += weight * (place % width);
      down += weight * Math.floor(place / width);
    });
    if (mass === 0) return;
    const centreX = Math.floor((4 * across + mass) / (2 * mass));
    const centreY = Math.floor((4 * down + mass) / (2 * mass));
    let mixedMoment = 0,
      vertical = 0;
    masses.forEach((weight, place) => {
      const y = 2 * Math.floor(place / width) - centreY;
      mixedMoment += weight * y * (2 * (place % width) - centreX);
      vertical += weight * y * y;
    });
    const size = Math.abs(mixedMoment);
    const slope = size >= vertical - size ? 32 : Math.floor((64 * size) / vertical);
    const slant = mixedMoment >= 0 ? slope : -slope;
    if (slant === 0) return;
    for (let r = 0; r < height; r++) {
      const sixteenths = (slant * (2 * r - centreY) + 4) >> 3;
      const whole = sixteenths >> 4,
        part = sixteenths & 15;
      for (const plane of image) {
        const line = plane.slice(r * width, (r + 1) * width);
        const at = (c) => (c >= 0 && c < width ? line[c] : 0);
        for (let c = 0; c < width; c++) {
          plane[r * width + c] = ((16 - part) * at(c + whole) + part * at(c + whole + 1) + 8) >> 4;
        }
      }
    }
  }

  /** Binomial blur, times 16, with a border of one pixel that is 0. */
  function blurred(image, { height, width }) {
    return image.map((plane) => {
      const out = new Int32Array((height + 2) * (width + 2));
      for (let r = 0; r < height; r++) {
        const column = (c) => {
          if (c < 0 || c >= width) return 0;
          const place = r * width + c;
          return 2 * plane[place] + (r > 0 ? plane[place - width] : 0) + (r < height - 1 ? plane[place + width] : 0);
        };
        for (let c = 0; c < width; c++) {
          out[(r + 1) * (width + 2) + c + 1] = column(c - 1) + 2 * column(c) + column(c + 1);
        }
      }
      return out;
    });
  }

  /** Gradients, distributed over two orientations and up to four regions, and the roots of the sums. */
  function pooled(planes, { height, width, rows, columns, orientations, directions, outputShift }) {
    const sums = new Int32Array(rows * columns * orientations);
    const sectors = directions.length - 1;
    const stride = width + 2;
    for (let r = 0; r < height; r++)
      for (let c = 0; c < width; c++) {
        const middle = (r + 1) * stride + c + 1;
        let gx = 0,
          gy = 0,
          largest = 0;
        for (const plane of planes) {
          const x = plane[middle + 1] - plane[middle - 1];
          const y = plane[middle + stride] - plane[middle - stride];
          const size = Math.max(Math.abs(x), Math.abs(y)) * 2 + Math.min(Math.abs(x), Math.abs(y));
          if (size > largest) [gx, gy, largest] = [x, y, size];
        }
        if (largest === 0) continue;
        let orientation = 0;
        while (!(gx > 0 && gy >= 0)) {
          [gx, gy] = [gy, -gx];
          orientation += sectors;
        }
        let sector = 0;
        while (directions[sector + 1][0] * gy - directions[sector + 1][1] * gx >= 0) sector++;
        const first = gx * directions[sector + 1][1] - gy * directions[sector + 1][0];
        const second = directions[sector][0] * gy - directions[sector][1] * gx;
        orientation += sector;
        const next = (orientation + 1) % orientations;
        const place = (r + 2) & 3,
          across = (c + 2) & 3;
        for (let i = 0; i < 2; i++) {
          const row = ((r + 2) >> 2) - i;
          if (row < 0 || row >= rows) continue;
          for (let j = 0; j < 2; j++) {
            const column = ((c + 2) >> 2) - j;
            if (column < 0 || column >= columns) continue;
            const weight = (i ? 7 - 2 * place : 2 * place + 1) * (j ? 7 - 2 * across : 2 * across + 1);
            const start = (row * columns + column) * orientations;
            sums[start + orientation] += weight * first;
            sums[start + next] += weight * second;
          }
        }
      }
    return Array.from(sums, (sum) => integerRoot(sum >> outputShift));
  }

  function integerRoot(value) {
    let root = 0;
    for (let bit = 128; bit > 0; bit >>= 1) if ((root + bit) ** 2 <= value) root += bit;
    return root;
  }

  /** One star per region: the length of a ray is the size of a weight, its direction that of the gradient. */
  function drawDirections(canvas, weight, { rows, columns, orientations }, size) {
    const cell = Math.max(8, Math.floor(size / columns));
    canvas.width = cell * columns;
    canvas.height = cell * rows;
    const context = canvas.getContext("2d");
    const colours = palette();
    context.fillStyle = css(colours.zero);
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.lineWidth = Math.max(1, cell / 16);
    context.lineCap = "round";
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++)
        for (let orientation = 0; orientation < orientations; orientation++) {
          const value = weight((row * columns + column) * orientations + orientation);
          if (value === 0) continue;
          const angle = (2 * Math.PI * orientation) / orientations;
          const [x, y] = [(column + 0.5) * cell, (row + 0.5) * cell];
          const length = (0.12 + 0.36 * Math.abs(value)) * cell;
          context.strokeStyle = css(value < 0 ? colours.minus : colours.plus);
          context.beginPath();
          context.moveTo(x, y);
          context.lineTo(x + length * Math.cos(angle), y + length * Math.sin(angle));
          context.stroke();
        }
  }

  TRANSFORMS["integer-hog"] = {
    inputs: histograms,
    weights: {
      words:
        "Each image shows the weights of one neuron: a star per region of the image, a ray per direction of change",
      draw: (canvas, weight, data, size) => drawDirections(canvas, weight, data.transform, size),
    },
  };
}
