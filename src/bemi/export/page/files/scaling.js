// From features to the integers that networks see: the same integers as bemi.inputs.

/** Nearest integer, halves to even, like NumPy's rint. */
function roundHalfEven(value) {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return rest < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
}

const EXACT_RANGE = 2 ** 31;

const tooLarge = () => new RangeError("values are too large: sums of them would leave the exact range");

/** Features times their factors, rounded; integers stay as they are. */
function scaled(row, factors) {
  return row.map((value, i) => {
    const integer = factors === null ? value : roundHalfEven(value * factors[i]);
    if (factors === null && !Number.isInteger(value)) throw new RangeError("this model takes integer features");
    if (!(Math.abs(integer) < EXACT_RANGE)) throw tooLarge();
    return integer;
  });
}

/**
 * Transforms by name.  The script of the model's transform, next to its Python code, registers itself here:
 *   inputs(integers, data)  inputs of the networks from scaled features; data comes from Python.
 *   furtherInputs           names of the inputs that follow those of the features, if any.
 *   weights                 how to draw the first-layer weights of a neuron, see pictures.js, if it has its own way.
 */
const TRANSFORMS = {};

/** The transform of a model, or null. */
const transformOf = ({ transform }) => (transform === null ? null : TRANSFORMS[transform.name]);

/** Inputs of the networks from scaled features. */
const transformed = (integers, data) => transformOf(data)?.inputs(integers, data.transform) ?? integers;
