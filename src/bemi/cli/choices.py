"""Option values whose home modules are too slow to import for help texts; a test compares them with the originals."""

C_GOALS = ("speed", "size")

C_INPUT_TYPES = ("uint8_t", "int8_t", "uint16_t", "int16_t", "int32_t")

PAGE_SAMPLES = 200

VERILOG_INTERFACES = ("stream", "parallel")

VERILOG_VECTORS = 100
