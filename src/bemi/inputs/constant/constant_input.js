// The inputs, none beyond the constant, and the constant itself.
TRANSFORMS["constant-input"] = {
  inputs: (integers, { level }) => [...integers.map((value) => Math.max(-level, Math.min(level, value))), level],
  furtherInputs: ["constant"],
};
