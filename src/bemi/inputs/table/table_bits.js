// Bits of a table, from cells: numbers, text, and null for a missing cell.
{
  const MISSING = -(2 ** 31);
  const NUMBER = /^\s*[-+]?(\d+[.,]?\d*|[.,]\d+)(e[-+]?\d+)?\s*$/i;

  /** Text of a cell as Python writes it. */
  const textOf = (cell) => (typeof cell === "boolean" ? (cell ? "True" : "False") : String(cell));

  function numberOf(cell, name) {
    const number = typeof cell !== "string" ? Number(cell) : NUMBER.test(cell) ? Number(cell.replace(",", ".")) : NaN;
    if (Number.isFinite(number)) return number;
    throw new RangeError(`column ${name} holds numbers, not ${textOf(cell)}`);
  }

  function readingOf(cell, { name, decimals, power, levels }) {
    const isBlank = levels === null && typeof cell === "string" && cell.trim() === "";
    if (cell === null || cell === undefined || Number.isNaN(cell) || isBlank) return MISSING;
    return levels === null ? reading(numberOf(cell, name), decimals, power) : levels.indexOf(textOf(cell));
  }

  const OUTPUTS = {
    value: (found, { scale, limit }) => (found === MISSING ? 0 : clipped(fixedPoint(found, ...scale), -limit, limit)),
    atLeast: (found, output, level) => (found >= output.reading ? level : -level),
    equals: (found, output, level) => (found === output.reading ? level : -level),
    constant: (found, output) => output.reading,
  };

  const isOn = (found, conditions) =>
    conditions.every((bit) => OUTPUTS[bit.kind](found[bit.column], bit, 1) > 0 === bit.holds);

  const evaluated = (found, outputs, level) =>
    outputs.map((output) =>
      output.kind === "rule"
        ? isOn(found, output.conditions) ? level : -level
        : OUTPUTS[output.kind](found[output.column], output, level),
    );

  /** Outputs that are not of one column. */
  const OTHERS = { constant: "constant", like: "similar training rows", rule: "rules" };

  /** How alike the row is to each landmark. */
  function similarities(found, { units, level, landmarks, steps, halving, table }) {
    const own = evaluated(found, units, level);
    return landmarks.map((landmark) => {
      const distance = landmark.reduce((sum, value, i) => sum + Math.abs(value - own[i]), 0);
      return table[Math.min(Math.floor((distance * steps) / halving), table.length - 1)];
    });
  }

  TRANSFORMS["table-bits"] = {
    takesCells: true,
    readings: (cells, { columns }) => cells.map((cell, i) => readingOf(cell, columns[i])),
    inputs(cells, { columns, outputs, level, like }) {
      const found = this.readings(cells, { columns });
      const alike = like === null ? [] : similarities(found, like);
      const own = outputs.filter(({ kind }) => kind !== "like");
      const values = evaluated(found, own, level);
      return outputs.map((output) => (output.kind === "like" ? alike[output.reading] : values.shift()));
    },
    fieldsOf({ outputs, like }, input) {
      const { kind, column, conditions } = outputs[input];
      if (!(kind in OTHERS)) return [column];
      return [...new Set((conditions ?? (kind === "like" ? like.units : [])).map((part) => part.column))];
    },
    /** Inputs of the same column. */
    inputGroups({ columns, outputs }) {
      const groups = new Map();
      outputs.forEach(({ kind, column }, input) => {
        const own = kind in OTHERS ? kind : column;
        const name = OTHERS[kind] ?? columns[column].name;
        if (!groups.has(own)) groups.set(own, { name, members: [], constant: kind === "constant" });
        groups.get(own).members.push(input);
      });
      return [...groups.values()];
    },
    /** The cell that an input is made of. */
    inputWords({ outputs }, input, row) {
      const { kind, column } = outputs[input];
      if (kind in OTHERS) return "";
      return row[column] === null ? "missing" : typeof row[column] === "number" ? short(row[column]) : textOf(row[column]);
    },
    inputNames: ({ outputs }) => outputs.map(({ name }) => name),
    /** What an input says now: whether a bit is on, or a number. */
    inputState: ({ outputs }, input, value) =>
      ["value", "like"].includes(outputs[input].kind) ? { text: signed(value) } : { text: value > 0 ? "on" : "off", on: value > 0 },
  };
}
