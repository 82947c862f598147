// Readings of a signal as text: one line per sample, its channels in columns, perhaps with a time before them.

const SEPARATORS = /[,;\t ]+/;

/** Samples from text, as rows of numbers; a RangeError says what is wrong, and where. */
function readSamples(text, channels) {
  const lines = text.split(/\r\n|\n|\r/).map((line) => line.trim());
  const used = lines.flatMap((line, i) => (line ? [{ cells: line.replace(/[,;]+$/, "").split(SEPARATORS), number: i + 1 }] : []));
  if (used.length && used[0].cells.some((cell) => !isNumber(cell))) used.shift(); // headings
  if (!used.length) throw new RangeError("there are no readings in it");
  const width = used[0].cells.length;
  if (width !== channels && width !== channels + 1)
    throw new RangeError(
      `${plural(channels, "column")} of numbers ${channels === 1 ? "is" : "are"} needed, or one more with the time first; ` +
        `line ${used[0].number} has ${width}`,
    );
  return used.map(({ cells, number }) => {
    if (cells.length !== width) throw new RangeError(`line ${number} has ${plural(cells.length, "cell")} instead of ${width}`);
    const bad = cells.find((cell) => !isNumber(cell));
    if (bad !== undefined) throw new RangeError(`line ${number} has “${bad.slice(0, 20)}” instead of a number`);
    return cells.slice(width - channels).map(Number);
  });
}

const isNumber = (cell) => cell !== "" && Number.isFinite(Number(cell));
