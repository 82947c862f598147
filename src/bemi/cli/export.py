"""Commands that write models for other places than Python."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.table import Table

from bemi import datasets
from bemi.certificate import certificate_path, training_record
from bemi.classifier import BeMiClassifier
from bemi.cli.output import add_json, feature_names, show
from bemi.datasets.catalogue import SETS
from bemi.export import c, page
from bemi.export.c import OPTIMIZE
from bemi.export.inputs import TYPES
from bemi.export.page import TestData, TrainingData
from bemi.modelfile.saving import load
from bemi.rows.files import known_labels, read_test, row_shape


def add_commands(commands: Any) -> None:
    """Add this module's commands to the parser."""
    export = commands.add_parser("export", help="write a model for other places than Python")
    targets = export.add_subparsers(dest="target", required=True, metavar="target")

    for_c = targets.add_parser("c", help="C99 for small devices: integers only, nothing allocated, no library called")
    for_c.set_defaults(run=_c)
    for_c.add_argument("model", type=Path)
    for_c.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder to write to")
    for_c.add_argument("--optimize", choices=OPTIMIZE, default="speed", help="what to save (default: %(default)s)")
    for_c.add_argument(
        "--input-type", choices=TYPES, help="type of an input (default: the smallest for the training rows)"
    )
    add_json(for_c)

    onnx = targets.add_parser("onnx", help="an ONNX file with integer operators alone")
    onnx.set_defaults(run=_onnx)
    onnx.add_argument("model", type=Path)
    onnx.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="ONNX file to write")
    add_json(onnx)

    shown = targets.add_parser("page", help="one HTML file in which people can try the model and look into it")
    shown.set_defaults(run=_page)
    shown.add_argument("model", type=Path)
    shown.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="HTML file to write")
    shown.add_argument(
        "--data",
        metavar="DATA",
        help=f"test rows to click through: a CSV or NPZ file, or one of {', '.join(SETS)} (default: none)",
    )
    shown.add_argument("--target", help="column (CSV, default: label) or array (NPZ, default: y) with the labels")
    shown.add_argument(
        "--samples", type=int, default=page.SAMPLES, metavar="N", help="test rows in the page (default: %(default)s)"
    )
    shown.add_argument(
        "--image",
        type=_image,
        default=True,
        metavar="HxW[xC]",
        help="rows are such images, or 'none' (default: what the model's transform or the data say; models of 784 "
        "or 64 features are taken for images of 28x28 or 8x8)",
    )
    shown.add_argument("--title", help="heading of the page (default: name of the model file)")
    add_json(shown)


def _image(text: str) -> tuple[int, ...] | bool:
    if text == "none":
        return False
    try:
        sizes = tuple(map(int, text.split("x")))
    except ValueError:
        sizes = ()
    if len(sizes) not in (2, 3) or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"give a size as 28x28 or 32x32x3, or none, not {text!r}")
    return sizes


def _c(options: argparse.Namespace) -> int:
    if options.output.exists() and not options.output.is_dir():
        raise ValueError(f"{options.output} is a file; give the name of a folder")
    made = c.write(load(options.model), options.output, optimize=options.optimize, input_type=options.input_type)
    costs = asdict(made.costs)
    table = Table(title=f"{options.output}: bemi_model.h, bemi_model.c, main.c", show_header=False)
    for name, text in COSTS.items():
        table.add_row(text, str(costs[name]))
    table.caption = "at most, on a Cortex-M3 and compiled with gcc -Os"
    show(options, {"folder": str(options.output), **costs}, table)
    return 0


COSTS = {
    "flash": "flash, bytes",
    "tables": "of these, tables",
    "stack": "stack, bytes",
    "additions": "additions of inputs",
    "instructions": "instructions",
    "without_tie": "instructions without a tie",
}
"""Rows of the table that ``bemi export c`` shows."""


def _onnx(options: argparse.Namespace) -> int:
    # Not everyone has the package that it needs.
    from bemi.export import onnx

    _check_writable(options.output)
    classifier = load(options.model)
    onnx.write(classifier, options.output)
    result = {"file": str(options.output), "bytes": options.output.stat().st_size}
    result |= {"input_range": onnx.input_range(classifier)}
    low, high = result["input_range"]
    table = Table(title=f"{result['file']}: {result['bytes']} bytes", show_header=False)
    table.add_row("x", f"{classifier.n_features_in_} integers in {low}..{high}")
    table.add_row("label", "class index, -1 for unclassified")
    table.add_row("counts", f"votes for each of {len(classifier.classes_)} classes")
    show(options, result, table)
    return 0


def _page(options: argparse.Namespace) -> int:
    _check_writable(options.output)
    classifier = load(options.model)
    training = None
    if Path(certificate_path(options.model)).exists():
        record = training_record(options.model)
        training = TrainingData(np.array(record.rows, dtype=np.int64), np.array(record.labels, dtype=np.int64))
        for reports, seconds in zip(classifier.reports_.values(), record.seconds or (), strict=False):
            reports |= {stage: replace(reports[stage], seconds=s) for stage, s in zip(reports, seconds, strict=True)}
    image, test = options.image, None
    if options.data in SETS:
        known = datasets.load(options.data)
        test = _of_set(classifier, known, training)
        image = known.shape if image is True and known.shape is not None else image
    elif options.data is not None:
        test = _of_file(classifier, Path(options.data), options.target)
        image = row_shape(Path(options.data)) or image if image is True else image
    title = options.title or options.model.stem
    page.write(
        *(classifier, options.output), title=title, test=test, training=training, image=image, samples=options.samples
    )
    result: dict[str, Any] = {"file": str(options.output), "bytes": options.output.stat().st_size}
    table = Table(title=f"{result['file']}: {result['bytes']} bytes", show_header=False)
    table.add_row("networks", str(len(classifier.networks_)))
    if test is not None:
        result |= {"test_rows": len(test.y), "samples": min(options.samples, len(test.y))}
        table.add_row(test.about, f"{result['test_rows']}, of which {result['samples']} are in the page")
    show(options, result, table)
    return 0


def _of_file(classifier: BeMiClassifier, path: Path, target: str | None) -> TestData:
    if not path.exists():
        raise ValueError(f"{path} is neither a file nor one of the sets {', '.join(SETS)}")
    X, y = read_test(path, target, feature_names(classifier), classifier.classes_)
    return TestData(X, y, f"rows of {path.name}")


def _of_set(classifier: BeMiClassifier, known: datasets.Dataset, training: TrainingData | None) -> TestData:
    """The test part of a set; of a set without one all complete rows that the model was not trained on."""
    if known.train_X.shape[1] != classifier.n_features_in_:
        raise ValueError(
            f"{known.name} has {known.train_X.shape[1]} features, but the model has {classifier.n_features_in_}"
        )
    if known.has_test:
        return _named(classifier, known.test_X, known.test_y, f"test rows of {known.name}", known)
    complete = np.isfinite(known.train_X).all(axis=1)
    X, y, about = known.train_X[complete], known.train_y[complete], f"rows of {known.name}"
    if not complete.all():
        about += " without missing values"
    if training is None:
        about += ", some of which it may have been trained on"
    else:
        seen = {row.tobytes() for row in training.rows}
        new = np.array([row.tobytes() not in seen for row in classifier._inputs(X)], dtype=bool)
        X, y, about = X[new], y[new], f"{about} that it was not trained on"
    return _named(classifier, X, y, about, known)


def _named(classifier: BeMiClassifier, X: Any, y: Any, about: str, known: datasets.Dataset) -> TestData:
    """Rows of a set with the columns and the kind of labels that the model knows."""
    names = getattr(classifier, "feature_names_in_", None)
    if names is not None:
        X = pd.DataFrame(X, columns=names)
    if known.class_names is not None and set(classifier.classes_.tolist()) <= set(known.class_names):
        y = np.array(known.class_names, dtype=object)[y]
    return TestData(X, known_labels(y, classifier.classes_), about, known.class_names)


def _check_writable(path: Path) -> None:
    if not path.parent.is_dir():
        raise ValueError(f"the folder of {path} does not exist")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file")
