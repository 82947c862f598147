"""Windows of signals on the command line: what the options say, and data in the form that a model takes."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.cli.output import Notes, model_columns

if TYPE_CHECKING:
    from bemi.ensemble.ensemble import Ensemble
    from bemi.io.signals import Reading
    from bemi.io.windowing import Windows

ABOUT_RECORDINGS = ("hop", "id", "time", "channels")
"""Options that only signals have."""


def reading_of(options: argparse.Namespace) -> Reading:
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
    )


def refuse(options: argparse.Namespace, names: tuple[str, ...], why: str) -> None:
    """Raise ValueError if one of these options is given."""
    for name in names:
        if getattr(options, name) not in (None, (), False):
            raise ValueError(f"--{name} {why}")


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


def rows_for(options: argparse.Namespace, ensemble: Ensemble, notes: Notes, *, labelled: bool) -> ModelRows:
    """The data of a command, for its model."""
    from bemi.io.signals import ModelWindows, read_for_model
    from bemi.io.tables import known_labels, read_features, read_test

    model = ModelWindows.of(ensemble.inputs)
    if model is not None:
        found = read_for_model(options.data, model, reading_of(options), notes, labelled=labelled)
        y = known_labels(found.y, ensemble.classes) if labelled and found.y is not None else None
        return ModelRows(model.rows(found, ensemble.inputs.names), y, found)
    refuse(options, ABOUT_RECORDINGS, "is for windows of a signal, which this model does not take")
    if options.data.is_dir():
        return _pictures_for(options.data, ensemble, labelled=labelled)
    columns = model_columns(ensemble)
    if not labelled:
        return ModelRows(read_features(options.data, columns, options.missing, notes), None)
    return ModelRows(*read_test(options.data, options.target, columns, ensemble.classes, options.missing, notes))


def _pictures_for(folder: Path, ensemble: Ensemble, *, labelled: bool) -> ModelRows:
    """Images of a folder in the size that a model takes."""
    from bemi.io.pictures import check_labelled, has_pictures, read_pictures
    from bemi.io.tables import known_labels

    if not has_pictures(folder):
        raise ValueError(f"{folder} is a folder without images, and this model takes no recordings")
    found = read_pictures(folder, getattr(ensemble.inputs.transform, "image_shape", None))
    if found.X.shape[1] != ensemble.inputs.features:
        raise ValueError(f"images of {folder} have {found.X.shape[1]} pixels, the model has {ensemble.inputs.features}")
    if not labelled:
        return ModelRows(found.X, None, files=found.files)
    check_labelled(folder, found)
    return ModelRows(found.X, known_labels(found.labels, ensemble.classes), files=found.files)
