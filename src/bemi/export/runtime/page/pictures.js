// Images of rows and of weights on canvases.

/** Draws a row of pixels; ink on paper for grey images, colours as they are. */
function drawRow(canvas, row, image) {
  const { height, width, channels, maximum } = image;
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const picture = context.createImageData(width, height);
  const { card, ink } = palette();
  for (let place = 0; place < height * width; place++) {
    const share = (channel) => Math.max(0, Math.min(1, row[place * channels + channel] / maximum));
    const colour = channels === 3 ? [0, 1, 2].map((c) => Math.round(255 * share(c))) : mixed(card, ink, share(0));
    picture.data.set([...colour, 255], 4 * place);
  }
  context.putImageData(picture, 0, 0);
}

/** What the first-layer weights of a neuron are drawn as: pixels, gradient directions by region, or bars. */
function weightView(data) {
  if (data.transform?.name === "integer-hog") return "directions";
  return data.image === null ? "bars" : "pixels";
}

/** Draws the first-layer weights of one neuron; `size` is the width in pixels for what is not made of pixels. */
function drawWeights(canvas, ensemble, network, neuron, size = 64) {
  const view = weightView(ensemble.data);
  const neurons = ensemble.data.layers[1];
  const weight = (input) => network.weights[0][input * neurons + neuron] / ensemble.data.weightBound;
  if (view === "pixels") drawPixels(canvas, weight, ensemble.data.image);
  else if (view === "directions") drawDirections(canvas, weight, ensemble.data.transform, size);
  else drawBars(canvas, weight, ensemble.data.layers[0], size);
}

function drawPixels(canvas, weight, { height, width, channels }) {
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  const picture = context.createImageData(width, height);
  const colours = palette();
  for (let place = 0; place < height * width; place++) {
    let mean = 0;
    for (let channel = 0; channel < channels; channel++) mean += weight(place * channels + channel) / channels;
    picture.data.set([...diverging(colours, mean), 255], 4 * place);
  }
  context.putImageData(picture, 0, 0);
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

function drawBars(canvas, weight, inputs, size) {
  canvas.width = Math.max(size, inputs);
  canvas.height = Math.round(canvas.width / 2);
  const context = canvas.getContext("2d");
  const colours = palette();
  context.fillStyle = css(colours.zero);
  context.fillRect(0, 0, canvas.width, canvas.height);
  const wide = canvas.width / inputs;
  const middle = canvas.height / 2;
  for (let input = 0; input < inputs; input++) {
    const value = weight(input);
    context.fillStyle = css(value < 0 ? colours.minus : colours.plus);
    context.fillRect(
      input * wide,
      value < 0 ? middle : middle * (1 - value),
      Math.max(1, 0.8 * wide),
      middle * Math.abs(value),
    );
  }
}
