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

/** Ways to draw the first-layer weights of one neuron; `size` is the width in pixels unless inputs are pixels. */
const PIXELS = {
  words: "Each image shows the weights of one first-layer neuron, pixel by pixel",
  draw: (canvas, weight, data) => drawPixels(canvas, weight, data.image),
};
const BARS = {
  words: "Each image shows the weights of one first-layer neuron, a bar per input",
  draw: (canvas, weight, data, size) => drawBars(canvas, weight, data.layers[0], size),
};

/** How to draw the weights of a model; its transform may define its own way. */
const weightView = (data) => transformOf(data)?.weights ?? (data.image === null ? BARS : PIXELS);

function drawWeights(canvas, ensemble, network, neuron, size = 64) {
  const { data } = ensemble;
  const neurons = data.layers[1];
  const weight = (input) => (ensemble.facing * network.weights[0][input * neurons + neuron]) / data.weightBound;
  weightView(data).draw(canvas, weight, data, size);
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
