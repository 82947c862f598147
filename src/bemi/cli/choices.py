"""Values of options whose home is too slow to import for a help text; a test compares each with its home."""

C_GOALS = ("speed", "size")

C_INPUT_TYPES = ("uint8_t", "int8_t", "uint16_t", "int16_t", "int32_t")

PAGE_SAMPLES = 200
