"""Files of signals as a command reads them: to train on, and for a model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bemi.inputs.inputs import Inputs
from bemi.io import MISSING_TOKENS
from bemi.io.cells import Tell, read_cells
from bemi.io.recording_files import column_names, read_arrays, read_recordings, read_rows, samples_in
from bemi.io.recordings import UNEVEN
from bemi.io.sources import DataFileError
from bemi.io.tables import check_classes, is_npz
from bemi.io.windowing import Columns, Cutting, Windows


@dataclass(frozen=True)
class Reading:
    """What the user says about a file of signals.

    Attributes
    ----------
    window, hop, resample, fill
        As in :func:`bemi.windows`; the window is None if windows are given one by one, or if the model knows.
    columns
        Columns of long tables, and of tables with a row per window.
    count
        Number of channels where their names are not known.
    missing
        Texts that mean a missing value.
    drop
        Columns to leave out.
    """

    window: int | None = None
    hop: int | None = None
    columns: Columns = field(default_factory=Columns)
    count: int | None = None
    missing: Sequence[str] = MISSING_TOKENS
    drop: Sequence[str] = ()
    resample: float | None = None
    fill: int | None = None


OTHER_UNIT = 5.0
"""Values this many times larger or smaller than in training may be in another unit."""


@dataclass(frozen=True)
class ModelWindows:
    """The windows that a model takes.

    Attributes
    ----------
    time, count
        Samples, and channels of each.
    channels
        Names of the channels; None if the model does not know them.
    rate
        Samples per second; None if the model does not know it.
    quantiles
        Of each channel, fractions of the training samples and the values up to which these are; None if unknown.
    """

    time: int
    count: int
    channels: tuple[str, ...] | None
    rate: float | None = None
    quantiles: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    @classmethod
    def of(cls, inputs: Inputs) -> ModelWindows | None:
        """The windows of a model with these inputs; None if it takes other rows."""
        if inputs.window_shape is None:
            return None
        time, count = inputs.window_shape
        told = None if inputs.names is None else samples_in(inputs.names)
        in_order = told is not None and [name for place in told[1] for name in place] == list(inputs.names or ())
        names = told[0] if told is not None and in_order and len(told[0]) == count else None
        return cls(time, count, names, inputs.rate, getattr(inputs.transform, "sample_quantiles", None))

    def usual(self, channel: int) -> tuple[float, float]:
        """Between which values most training samples of a channel are."""
        assert self.quantiles is not None
        values = self.quantiles[1][channel]
        return float(values.min()), float(values.max())

    def doubts(self, found: Windows) -> Iterator[str]:
        """A line for a rate, and one for units, that seem to be others than in training."""
        if self.rate is not None and found.rate is not None:
            times = math.log(found.rate / self.rate)
            # Files may have times in ms and in s, and not tell.
            if abs(times - math.log(1000) * round(times / math.log(1000))) > math.log(1 + UNEVEN):
                yield (
                    f"recordings have {found.rate:g} samples a second, the model was trained on {self.rate:g}: "
                    f"--resample {self.rate:g} brings them to its rate"
                )
        if self.quantiles is None or not len(found.X):
            return
        names, first = [], ""
        for channel, (shares, trained) in enumerate(zip(*self.quantiles, strict=True)):
            given = np.quantile(found.X[:, :, channel], shares)
            now, then = (float(np.sqrt((values**2).mean())) for values in (given, trained))
            if min(now, then) > 0 and abs(math.log(now / then)) > math.log(OTHER_UNIT):
                ends = [f"{values.min():.3g} to {values.max():.3g}" for values in (given, trained)]
                names.append(str(found.channels[channel]))
                first = first or f"{now / then:.3g} times as large as in training ({ends[0]}, in training {ends[1]})"
        if names:
            yield f"values of {', '.join(names)} are {first}: are they in the same units?"

    def rows(self, found: Windows, names: Sequence[str] | None) -> pd.DataFrame | NDArray:
        """Windows as the model takes them: with the names of its features if it has any."""
        if names is None:
            return found.X
        return pd.DataFrame(found.X.reshape(len(found.X), -1), columns=list(names))


def training_rows(found: Windows) -> pd.DataFrame | NDArray:
    """Windows to train on: with the names of channels and samples if channels have names."""
    if not all(isinstance(name, str) for name in found.channels):
        return found.X
    count, time, _ = found.X.shape
    return pd.DataFrame(found.X.reshape(count, -1), columns=column_names(found.channels, time))


def _refuse_hop(path: Path, reading: Reading) -> None:
    if any(value is not None for value in (reading.hop, reading.columns.time, reading.resample, reading.fill)):
        raise DataFileError(
            f"{path} has windows, which are not cut again; hop, time, resample and fill are for rows that are samples"
        )


def read_training(path: Path, reading: Reading, tell: Tell) -> Windows:
    """Labelled windows: of an NPZ file, of long tables if the window is known, otherwise one per row of a CSV file."""
    if is_npz(path):
        _refuse_hop(path, reading)
        found = read_arrays(path, reading.columns, tell, count=reading.count)
        if reading.window not in (None, found.X.shape[1]):
            raise DataFileError(
                f"{path}: windows have {found.X.shape[1]} samples, not {reading.window}; 'X' must have shape (windows, "
                "time, channels)"
            )
    elif reading.window is None and not path.is_dir():
        _refuse_hop(path, reading)
        found = read_rows(path, reading.columns, tell, count=reading.count, missing=reading.missing, drop=reading.drop)
    else:
        if reading.window is None:
            raise DataFileError(
                f"{path} is a folder of recordings; say how many samples a window has, such as --window 128"
            )
        found = _long(path, reading, tell, labelled=True)
    if found.y is None:
        raise DataFileError(f"{path} has no labels; name their column or array with --target")
    check_classes(found.y, str(path))
    return found


def read_for_model(path: Path, model: ModelWindows, reading: Reading, tell: Tell, *, labelled: bool) -> Windows:
    """Windows that a model takes.

    Parameters
    ----------
    path
        An NPZ file, a CSV file with a row per window or per sample, or a folder of the latter.
    model
        Samples and channels of a window.
    reading
        What the user says.
    tell
        Gets the lines that the user should see.
    labelled
        Whether labels are needed.
    """
    columns = reading.columns
    if columns.channels is None:
        columns = replace(columns, channels=model.channels)
    if is_npz(path):
        _refuse_hop(path, reading)
        # Arrays are in the order of the model's channels.
        found = read_arrays(path, replace(columns, channels=None), tell, count=model.count)
    elif not path.is_dir() and _has_row_per_window(path, model, columns):
        _refuse_hop(path, reading)
        count = model.count if columns.channels is None else None
        found = read_rows(path, columns, tell, count=count, missing=reading.missing, drop=reading.drop)
    else:
        known = replace(reading, columns=columns, window=model.time)
        found = _long(path, known, tell, labelled=labelled)
    if found.X.shape[1:] != (model.time, model.count):
        time, count = found.X.shape[1:]
        raise DataFileError(
            f"{path}: windows of {time} samples of {count} channels ({', '.join(map(str, found.channels))}); the model "
            f"takes {model.time} of {model.count}"
        )
    if labelled and found.y is None:
        raise DataFileError(f"{path} has no labels; name their column or array with --target")
    for line in model.doubts(found):
        tell(line)
    return found


def _long(path: Path, reading: Reading, tell: Tell, *, labelled: bool) -> Windows:
    if reading.count is not None:
        raise DataFileError(f"{path} has one column per channel: give the names of the channels, not their number")
    cutting = Cutting(reading.window, reading.hop, reading.resample, reading.fill)  # type: ignore[arg-type]
    return read_recordings(
        path, cutting, reading.columns, tell, missing=reading.missing, drop=reading.drop, labelled=labelled
    )


def _has_row_per_window(path: Path, model: ModelWindows, columns: Columns) -> bool:
    """Whether a file has a row per window, rather than per sample."""
    names: list[Any] = read_cells(path, lambda line: None).names
    if columns.channels is not None and all(name in names for name in columns.channels):
        return False
    rest = [name for name in names if name not in (columns.id, columns.target)]
    return len(rest) >= model.time * model.count
