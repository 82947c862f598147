"""Values of options whose home is too slow to import for a help text; a test compares each with its home."""

STAGES = "some of sm,mm,mw, or ml2, or ml2,mw"

PAPER_STAGES = "sm,mm,mw"

INPUT_SCALINGS = ("auto", "common", "per-feature", "none")

C_GOALS = ("speed", "size")

C_INPUT_TYPES = ("uint8_t", "int8_t", "uint16_t", "int16_t", "int32_t")

PAGE_SAMPLES = 200
