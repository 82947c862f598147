"""Measurements: ``python -m bemi_lab.benchmarks.run --help``.  Data come from the folder that ``BEMI_DATA`` names."""
