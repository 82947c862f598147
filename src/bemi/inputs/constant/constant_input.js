// The inputs, clipped at the constant, followed by the constant.
TRANSFORMS["constant-input"] = {
  inputs: (integers, { level }) => [...integers.map((value) => Math.max(-level, Math.min(level, value))), level],
  furtherInputs: ["constant"],
};
