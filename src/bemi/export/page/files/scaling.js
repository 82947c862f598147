// From features to the integers that networks see: the same integers as bemi.inputs.
// Numbers stay below 2^53, where doubles are exact.

/** Nearest integer, halves to even, like NumPy's rint. */
function roundHalfEven(value) {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest !== 0.5) return rest < 0.5 ? below : below + 1;
  return below % 2 === 0 ? below : below + 1;
}

const EXACT_RANGE = 2 ** 31;
const LARGEST_READING = EXACT_RANGE - 1;

const tooLarge = () => new RangeError("values are too large: sums of them would leave the exact range");

const clipped = (value, low, high) => Math.max(low, Math.min(high, value));

/** A value in units of 10^-decimals; `power` is 10^|decimals|. */
function reading(value, decimals, power) {
  const units = decimals >= 0 ? value * power : value / power;
  return roundHalfEven(clipped(units, -LARGEST_READING, LARGEST_READING));
}

/** A reading on its integer grid. */
const fixedPoint = (found, centre, multiplier, shift) =>
  Math.floor(((found - centre) * multiplier + 2 ** (shift - 1)) / 2 ** shift);

/** Features on their integer grids; integers stay as they are. */
function scaled(row, scaling) {
  return row.map((value, i) => {
    if (typeof value !== "number" || !Number.isFinite(value)) throw new RangeError("this model takes numbers only");
    const integer = scaling === null ? value : onGrid(value, i, scaling);
    if (!Number.isInteger(integer)) throw new RangeError("this model takes integer features");
    if (Math.abs(integer) >= EXACT_RANGE) throw tooLarge();
    return scaling === null || scaling.range === null ? integer : clipped(integer, ...scaling.range);
  });
}

function onGrid(value, i, { decimals, powers, centres, multipliers, shifts, limit }) {
  const integer = fixedPoint(reading(value, decimals[i], powers[i]), centres[i], multipliers[i], shifts[i]);
  return limit === null ? integer : clipped(integer, -limit, limit);
}

/**
 * Transforms by name.  The script of the model's transform, next to its Python code, registers itself here:
 *   inputs(integers, data)  inputs of the networks from scaled features; data comes from Python.
 *   takesCells              whether `inputs` takes the cells of a table instead: numbers, text, null if missing.
 *   readings(cells, data)   the integers that its inputs are made of, if it takes cells.
 *   furtherInputs           names of the inputs that follow those of the features, if any.
 *   inputNames(data)        names of all inputs, if they are not those of the features.
 *   fieldsOf(data, input)   the fields that an input is made of; only where rows are made of fields.
 *   inputState(data, input, value)  {text, on}: what an input says now, if it is worth showing.
 *   inputGroups(data)       [{name, members, constant}]: inputs that are made of the same column, or response of a signal, and
 *   inputWords(data, input, row)  what a row has there.
 *   windowOf(data)          {time, channels} if rows are windows of a signal; such a transform also has
 *   fired(data, input, row) {channel, places}: where an input counts something.
 *   weights                 how to draw the first-layer weights of a neuron, see pictures.js, if it has its own way.
 */
const TRANSFORMS = {};

/** The transform of a model, or null. */
const transformOf = ({ transform }) => (transform === null ? null : TRANSFORMS[transform.name]);

/** Whether rows are windows of a signal. */
const takesWindows = (data) => Boolean(transformOf(data)?.windowOf);

/** The integers that programs take for a row of features: readings of a table's cells, or scaled features. */
function takenOf(row, data) {
  const transform = transformOf(data);
  return transform?.takesCells ? transform.readings(Array.from(row), data.transform) : scaled(Array.from(row), data.scaling);
}

/** Inputs of the networks from a row of features. */
function inputsOf(row, data) {
  const transform = transformOf(data);
  const taken = transform?.takesCells ? row : scaled(row, data.scaling);
  return transform === null ? taken : transform.inputs(taken, data.transform);
}

/** Names of the inputs of the networks. */
function inputNames(data) {
  const transform = transformOf(data);
  if (transform?.inputNames) return transform.inputNames(data.transform);
  return [...data.fields.map(({ name }) => name), ...(transform?.furtherInputs ?? [])];
}

/** The fields that an input of the networks is made of; none for a constant. */
function fieldsOf(data, input) {
  const transform = transformOf(data);
  if (transform?.fieldsOf) return transform.fieldsOf(data.transform, input);
  const kept = data.image === null && (transform === null || transform.furtherInputs);
  return kept && input < data.fields.length ? [input] : [];
}

/** Inputs that belong together, and what a row has there; null where inputs have no meaning of their own. */
function inputGroups(data) {
  const transform = transformOf(data);
  if (transform?.inputGroups) return transform.inputGroups(data.transform);
  if (!fieldsOf(data, 0).length) return null;
  return inputNames(data).map((name, input) => ({ name, members: [input], constant: !fieldsOf(data, input).length }));
}

function inputWords(data, input, row) {
  const transform = transformOf(data);
  if (transform?.inputWords) return transform.inputWords(data.transform, input, row);
  const [field] = fieldsOf(data, input);
  return field === undefined ? "" : short(row[field]);
}
