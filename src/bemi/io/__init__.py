"""Reads rows: tables in CSV and NPZ files, folders of images, and recordings of sensors."""

from itertools import chain

from bemi import lazily

MISSING_TOKENS = ("NA", "NaN", "nan", "N/A", "null", "None", "?")
"""Cells of a CSV file with one of these texts are missing, as empty ones always are."""

_HOMES = {
    "cells": ("SEPARATORS", "Cells", "Known", "read_cells", "separator_of"),
    "columns": ("NO_RULES", "ColumnRules", "ModelColumns", "features", "features_for"),
    "pictures": ("Pictures", "check_labelled", "has_pictures", "read_pictures"),
    "recording_files": ("column_names", "samples_in"),
    "recordings": ("Windows",),
    "sources": ("DataFileError", "opened"),
    "signals": ("ModelWindows", "Reading", "read_for_model", "read_training", "training_rows"),
    "tables": ("check_classes", "known_labels", "read_features", "read_labelled", "read_test", "row_shape"),
    "windowing": ("Columns", "windows"),
}
__all__ = ["MISSING_TOKENS", *chain.from_iterable(_HOMES.values())]

# The command line needs MISSING_TOKENS at its start, but neither NumPy nor pandas.
__getattr__ = lazily(__name__, _HOMES)
