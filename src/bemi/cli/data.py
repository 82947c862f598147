"""The data of a command: rows to train on, or rows in the form that a model takes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.checks import counted
from bemi.cli.output import Notes
from bemi.inputs import registry

if TYPE_CHECKING:
    from bemi.ensemble.ensemble import Ensemble
    from bemi.io.signals import Reading
    from bemi.io.windowing import Windows

ABOUT_RECORDINGS = ("hop", "id", "time", "channels", "resample", "fill")
"""Options that only signals have."""


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows to train on.

    Attributes
    ----------
    X, y
        Rows and labels.
    groups
        Recording of each window of a signal; None if unknown, and for other rows.
    shape
        Height and width of images, perhaps with channels; None if the file does not tell.
    channels
        Channels of a signal; None for other rows.
    names
        Their names, if they have any.
    rate
        Samples per second of a signal; None if unknown, and for other rows.
    why
        What the rows are, if the file or the options tell.
    """

    X: Any
    y: Any
    groups: Any = None
    shape: tuple[int, ...] | None = None
    channels: int | None = None
    names: Sequence[str] = ()
    rate: float | None = None
    why: str = ""


@dataclass(frozen=True, eq=False)
class ModelRows:
    """Data for a model.

    Attributes
    ----------
    X
        Rows as the model takes them.
    y
        Labels; None if none were asked for.
    windows
        Where windows of a signal come from; None for other rows.
    files
        Names of the files that images come from; None for other rows.
    """

    X: Any
    y: Any
    windows: Windows | None = None
    files: list[str] | None = None


def training_data(options: argparse.Namespace, notes: Notes) -> TrainingData:
    """The data that ``bemi train`` is given."""
    if _is_signal(options):
        return _windows(options, notes)
    if options.kind is None:
        _refuse(options, ABOUT_RECORDINGS, "is for signals; give --window too, or --kind signal")
    else:
        _refuse(options, ("window", *ABOUT_RECORDINGS), f"is for signals, not for --kind {options.kind}")
    if options.kind == "table":
        _refuse(options, ("image_shape",), "is for images, not for --kind table")
    return _pictures(options) if options.data.is_dir() else _table(options, notes)


def rows_for(options: argparse.Namespace, ensemble: Ensemble, notes: Notes, *, labelled: bool) -> ModelRows:
    """The data of a command, for its model."""
    from bemi.io.columns import ModelColumns
    from bemi.io.signals import ModelWindows, read_for_model
    from bemi.io.tables import known_labels, read_features, read_test

    model = ModelWindows.of(ensemble.inputs)
    if model is not None:
        windows = read_for_model(options.data, model, _reading(options), notes, labelled=labelled)
        y = known_labels(windows.y, ensemble.classes) if labelled and windows.y is not None else None
        return ModelRows(model.rows(windows, ensemble.inputs.names), y, windows)
    _refuse(options, ABOUT_RECORDINGS, "is for windows of a signal, which this model does not take")
    if options.data.is_dir():
        return _pictures_for(options.data, ensemble, labelled=labelled)
    columns = ModelColumns.of(ensemble.inputs)
    if not labelled:
        return ModelRows(read_features(options.data, columns, options.missing, notes), None)
    return ModelRows(*read_test(options.data, options.target, columns, ensemble.classes, options.missing, notes))


def _is_signal(options: argparse.Namespace) -> bool:
    """Whether the user says that the data are recordings or windows of a signal."""
    from bemi.inputs.transform import Takes
    from bemi.io.pictures import has_pictures

    if options.kind is not None:
        return options.kind == "signal"
    if options.inputs is not None and Takes.by(registry.by_short_name(options.inputs)) is Takes.WINDOWS:
        return True
    return options.window is not None or (options.data.is_dir() and not has_pictures(options.data))


def _table(options: argparse.Namespace, notes: Notes) -> TrainingData:
    """Rows of a file: of a table, or images."""
    from bemi.io.columns import ColumnRules
    from bemi.io.tables import read_labelled, row_shape

    rules = ColumnRules(options.categorical, options.numeric, options.drop, options.missing, options.keep)
    X, y = read_labelled(options.data, options.target, rules, notes)
    shape = row_shape(options.data)
    if shape is not None and len(shape) == 2 and shape[0] > 2 * shape[1] and not (options.image_shape or options.kind):
        height, width = shape
        notes(
            f"rows of {height} x {width} are treated as images; add --window {height} if they are windows of a signal"
        )
    return TrainingData(X, y, shape=options.image_shape or shape)


def _pictures(options: argparse.Namespace) -> TrainingData:
    """Images in the sub-folders of a folder."""
    from bemi.io.pictures import check_labelled, read_pictures

    _refuse(options, ("categorical", "numeric", "drop", "keep", "target"), "is for CSV files, not for images")
    pictures = read_pictures(options.data, options.image_shape)
    check_labelled(options.data, pictures)
    shape = pictures.shape if pictures.shape[2] > 1 else pictures.shape[:2]
    return TrainingData(pictures.X, pictures.labels, shape=shape)


def _pictures_for(folder: Path, ensemble: Ensemble, *, labelled: bool) -> ModelRows:
    """Images of a folder in the size that a model takes."""
    from bemi.io.pictures import check_labelled, has_pictures, read_pictures
    from bemi.io.tables import known_labels

    if not has_pictures(folder):
        raise ValueError(f"{folder} is a folder without images, and this model takes no recordings")
    pictures = read_pictures(folder, ensemble.inputs.image_shape)
    pixels, features = pictures.X.shape[1], ensemble.inputs.features
    if pixels != features:
        raise ValueError(f"images of {folder} have {pixels} pixels, the model has {features}")
    if not labelled:
        return ModelRows(pictures.X, None, files=pictures.files)
    check_labelled(folder, pictures)
    return ModelRows(pictures.X, known_labels(pictures.labels, ensemble.classes), files=pictures.files)


def _windows(options: argparse.Namespace, notes: Notes) -> TrainingData:
    """Windows of a signal."""
    import pandas as pd

    from bemi.io.signals import read_training, training_rows

    _refuse(options, ("categorical", "numeric", "keep", "image_shape"), "is not for signals")
    windows = read_training(options.data, _reading(options), notes)
    count, time, channels = windows.X.shape
    why = f"{counted(count, 'window')} of {time} samples of {_listed(windows.channels)}"
    if windows.groups is None:
        notes("windows are not grouped by recording (--id), so the estimate may be too high if they overlap")
    else:
        why += f" from {counted(len(pd.unique(windows.groups)), 'recording')}"
    if windows.rate is not None:
        why += f", {windows.rate:g} samples a second"
    X = training_rows(windows)
    names = windows.channels if isinstance(X, pd.DataFrame) else ()
    return TrainingData(X, windows.y, windows.groups, channels=channels, names=names, rate=windows.rate, why=why)


def _reading(options: argparse.Namespace) -> Reading:
    """What the options say about a file of signals."""
    from bemi.io.signals import Reading
    from bemi.io.windowing import Columns

    number = isinstance(options.channels, int)
    return Reading(
        window=getattr(options, "window", None),
        hop=options.hop,
        columns=Columns(
            options.id, options.time, getattr(options, "target", None), None if number else options.channels
        ),
        count=options.channels if number else None,
        missing=options.missing,
        drop=getattr(options, "drop", ()),
        resample=options.resample,
        fill=options.fill,
    )


def _listed(channels: Sequence[Any]) -> str:
    count = counted(len(channels), "channel")
    return f"{count} ({', '.join(channels)})" if all(isinstance(name, str) for name in channels) else count


def _refuse(options: argparse.Namespace, names: tuple[str, ...], why: str) -> None:
    """Raise ValueError if one of these options is given."""
    for name in names:
        if getattr(options, name, None) not in (None, (), False):
            raise ValueError(f"--{name.replace('_', '-')} {why}")
