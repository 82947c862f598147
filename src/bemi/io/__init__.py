MISSING_TOKENS = ("NA", "NaN", "nan", "N/A", "null", "None", "?")
"""Cells of a CSV file with one of these texts are missing, as empty ones always are."""
