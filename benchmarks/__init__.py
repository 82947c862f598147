"""Measurements: ``python -m benchmarks.run --help``.  Data come from the folder that ``BEMI_DATA`` names."""
