"""From features to the integers that networks see: scaling, and one folder per transform."""

INPUT_SCALINGS = ("auto", "centred", "common", "per-feature", None)
"""Values of the parameter ``input_scaling``."""
