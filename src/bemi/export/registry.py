"""The targets that an ensemble can be exported to.

A target is a package of its name here, whose ``write(model, path, ...)`` takes a fitted classifier or an ensemble, and
a module of its name in :mod:`bemi.cli.export`.
"""

TARGETS = {
    "c": "C99 for small devices: integers only, nothing allocated, no library called",
    "onnx": "an ONNX file with integer operators alone",
    "verilog": "Verilog for FPGAs, with a test bench",
    "page": "one HTML file in which people can try the model and look into it",
}
"""Name of every target, and what it is in one line."""
