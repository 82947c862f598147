"""Reads rows: tables in CSV and NPZ files, folders of images, and recordings of sensors."""

from importlib import import_module
from typing import Any

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
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = ["MISSING_TOKENS", *_HOME_OF]


def __getattr__(name: str) -> Any:
    # Imported on first use: the command line needs MISSING_TOKENS at its start, but neither NumPy nor pandas.
    if name in _HOME_OF:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
