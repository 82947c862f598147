"""``bemi predict`` and ``bemi evaluate``: a model on the rows of a file."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.cli import program
from bemi.cli.data import ModelRows, rows_for
from bemi.cli.options import add_json, add_missing, add_recordings, smoothing
from bemi.cli.output import Notes, check_writable, performance_tables, show, statuses_table

if TYPE_CHECKING:
    from bemi.ensemble.smoothing import Smoothing
    from bemi.estimators import Classifier


def add_command(commands: Any) -> None:
    command = program.add(commands, "predict", "label the rows of a file")
    command.set_defaults(run=predict, example="bemi predict model.bemi new.csv -o labels.csv")
    command.add_argument("model", type=Path, help="model file")
    command.add_argument(
        "data",
        type=Path,
        help="CSV, Parquet, Excel or NPZ with the model's features, - for CSV on standard input, or a folder",
    )
    command.add_argument("-o", "--output", type=Path, help="CSV file to write (default: standard output)")
    command.add_argument("--proba", action="store_true", help="also give the probability of every class")
    command.add_argument(
        "--votes",
        type=Path,
        metavar="FILE",
        help="CSV file to write with the vote of every network: a line per row of the data with its number from 0, the "
        "label that each network votes for in a column named by its classes, such as 4/9, and the prediction",
    )
    _add_reading_options(command)

    command = program.add(commands, "evaluate", "measure accuracy, recall, AUC and calibration on labelled data")
    command.set_defaults(run=evaluate, example="bemi evaluate model.bemi test.csv --target label")
    command.add_argument("model", type=Path, help="model file")
    command.add_argument(
        "data",
        type=Path,
        help="CSV, Parquet, Excel or NPZ with features and labels, - for CSV on standard input, or a folder",
    )
    command.add_argument("--target", help="column or array with the labels")
    about = "rows like none of the training rows, in a file or folder as the data: how many of them are rejected"
    command.add_argument("--unknown", type=Path, metavar="FILE", help=about)
    about = "also accuracy and label statuses under the paper's rule, as for models of --paper"
    command.add_argument("--statuses", action="store_true", help=about)
    _add_reading_options(command)


def _add_reading_options(command: argparse.ArgumentParser) -> None:
    about = "smooth labels over time: of the last LENGTH, a label needs VOTES (default: none)"
    command.add_argument("--smooth", type=smoothing, metavar="LENGTH,VOTES", help=about)
    add_missing(command)
    add_json(command)
    add_recordings(command)


def predict(options: argparse.Namespace) -> int:
    from bemi import load

    classifier, notes = load(options.model), Notes()
    for path in filter(None, (options.output, options.votes)):
        check_writable(path)
    rows = rows_for(options, classifier.ensemble_, notes, labelled=False)
    X, places = rows.X, _places(rows)
    labels = _labels(classifier, rows, _smoother(options))
    chances = _chances(classifier, X) if options.proba else None
    if options.votes is not None:
        _write_votes(options.votes, classifier, X, labels)
    notes.print()
    if options.json:
        known = {} if chances is None else {"classes": classifier.classes_.tolist(), "probabilities": chances}
        print(json.dumps({"labels": labels, **places, **known, "notes": notes.lines}, default=str))
        return 0
    with open(options.output, "w", newline="") if options.output else nullcontext(sys.stdout) as file:
        writer = csv.writer(file, lineterminator="\n")
        heads = [] if chances is None else [f"chance of {label}" for label in classifier.classes_.tolist()]
        writer.writerow([*places, "prediction", *heads])
        for row, label in enumerate(labels):
            place = [values[row] for values in places.values()]
            writer.writerow([*place, label, *([] if chances is None else (f"{chance:.5f}" for chance in chances[row]))])
    return 0


def evaluate(options: argparse.Namespace) -> int:
    from bemi import load
    from bemi.report.performance import performance

    ensemble = load(options.model).ensemble_
    notes = Notes()
    rows = rows_for(options, ensemble, notes, labelled=True)
    recordings = None if rows.windows is None else rows.windows.groups
    unknown = None
    if options.unknown is not None:
        others = argparse.Namespace(**vars(options) | {"data": options.unknown})
        unknown = rows_for(others, ensemble, notes, labelled=False).X
    result = performance(ensemble, rows.X, rows.y, recordings, _smoother(options), unknown) | {"notes": notes.lines}
    notes.print()
    by_paper = options.statuses or ensemble.training.settings["estimator"] == "bemi"
    show(options, result, *performance_tables(result), *([statuses_table(result)] if by_paper else []))
    return 0


def _smoother(options: argparse.Namespace) -> Smoothing | None:
    """What smooths class indices as the user wants."""
    from bemi import Smoothing
    from bemi.problem.problem import ABSTAIN

    if options.smooth is None:
        return None
    length, votes = options.smooth
    return Smoothing(length, votes, unsure=ABSTAIN)


def _labels(classifier: Classifier, rows: ModelRows, smoother: Smoothing | None) -> list[Any]:
    """Labels; smoothed ones are None before any had enough votes."""
    if smoother is None:
        return classifier.predict(rows.X).tolist()
    ensemble, groups = classifier.ensemble_, None if rows.windows is None else rows.windows.groups
    codes = smoother(ensemble.votes(rows.X).label, groups)
    return [label if code >= 0 else None for label, code in zip(ensemble.labels(codes).tolist(), codes, strict=True)]


def _places(rows: ModelRows) -> dict[str, list[Any]]:
    """Where each window of a recording, or each image, comes from; nothing for other rows."""
    if rows.files is not None:
        return {"file": rows.files}
    windows = rows.windows
    if windows is None:
        return {}
    known = {"id": windows.groups, "start": windows.starts}
    return {name: values.tolist() for name, values in known.items() if values is not None}


def _write_votes(path: Path, classifier: Classifier, X: Any, labels: list[Any]) -> None:
    """The vote of every network on every row, and the predicted label."""
    import numpy as np

    votes = np.asarray(classifier.votes_by_network(X)).tolist()
    names = ["/".join(map(str, classes)) for classes in classifier.networks_]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["row", *names, "prediction"])
        writer.writerows([row, *votes[row], label] for row, label in enumerate(labels))


def _chances(classifier: Classifier, X: Any) -> list[list[float]]:
    if classifier.ensemble_.probabilities is None:
        raise ValueError("this model has no probabilities; train it with --probabilities, or leave out --proba")
    return classifier.predict_proba(X).tolist()
