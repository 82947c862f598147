"""``bemi export page``: an HTML file in which people can try and inspect a model."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.cli import choices
from bemi.cli.data import rows_for
from bemi.cli.options import IMAGE, add_json, add_missing, add_recordings, image_shape_or_none
from bemi.cli.output import Notes, check_writable, show

if TYPE_CHECKING:
    from bemi.ensemble.ensemble import Ensemble
    from bemi.export.page import TestData, TrainingData


def add_command(targets: Any, **options: Any) -> None:
    command = targets.add_parser("page", **options)
    command.set_defaults(run=run, example="bemi export page model.bemi --data test.csv -o page.html")
    add = command.add_argument
    add("model", type=Path)
    add("-o", "--output", type=Path, required=True, metavar="FILE", help="HTML file to write")
    add("--data", type=Path, metavar="FILE", help="test rows to click through: a CSV or NPZ file (default: none)")
    add("--target", help="column (CSV, default: label) or array (NPZ, default: y) with the labels")
    samples = "test rows in the page (default: %(default)s)"
    add("--samples", type=int, default=choices.PAGE_SAMPLES, metavar="N", help=samples)
    add(
        "--image",
        type=image_shape_or_none,
        metavar=IMAGE,
        help="rows are images of this size, or 'none' (default: what the model's transform or the data say; models of "
        "784 or 64 features are treated as images of 28x28 or 8x8)",
    )
    add("--title", help="heading of the page (default: name of the model file)")
    add_recordings(command)
    add_missing(command)
    add_json(command)


def run(options: argparse.Namespace) -> int:
    from rich.table import Table

    from bemi import load
    from bemi.export import page

    check_writable(options.output)
    ensemble, training = _with_record(load(options.model).ensemble_, options.model)
    test, shape = _test(ensemble, options)
    page.write(
        ensemble,
        options.output,
        title=options.title or options.model.stem,
        test=test,
        training=training,
        others=_others(ensemble, training, test),
        image=(shape or True) if options.image is None else options.image,
        samples=options.samples,
    )
    result: dict[str, Any] = {"file": str(options.output), "bytes": options.output.stat().st_size}
    table = Table(title=f"{result['file']}: {result['bytes']} bytes", show_header=False)
    table.add_row("networks", str(len(ensemble.networks)))
    if test is not None:
        result |= {"test_rows": len(test.y), "samples": min(options.samples, len(test.y))}
        table.add_row(test.about, f"{result['test_rows']}, of which {result['samples']} are in the page")
    show(options, result, table)
    return 0


def _with_record(ensemble: Ensemble, model: Path) -> tuple[Ensemble, TrainingData | None]:
    """Add what only the certificate knows, if there is one: the seconds of the stages, and the training rows."""
    import numpy as np

    from bemi.certificate import certificate_path, training_record
    from bemi.export.page import TrainingData

    if not Path(certificate_path(model)).exists():
        return ensemble, None
    record = training_record(model)
    if record.seconds is not None:
        timed = (
            {stage: replace(report, seconds=s) for (stage, report), s in zip(reports.items(), seconds, strict=True)}
            for reports, seconds in zip(ensemble.reports, record.seconds, strict=True)
        )
        ensemble = replace(ensemble, reports=tuple(timed))
    return ensemble, TrainingData(np.array(record.rows, dtype=np.int64), np.array(record.labels, dtype=np.int64))


def _others(ensemble: Ensemble, training: TrainingData | None, test: TestData | None) -> dict[str, float]:
    """Accuracy of other classifiers, untuned, on the same network inputs and the same training rows."""
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler
    from sklearn.svm import SVC

    if training is None or test is None:
        return {}
    given = ensemble.training.given_rows
    rows, targets = training.rows[:given], training.targets[:given]
    # Pixels share one unit; columns of a table do not.
    largest = max(1.0, float(abs(rows).max()))
    scaler = FunctionTransformer(lambda X: X / largest) if ensemble.inputs.one_unit else StandardScaler()
    inputs, truth = ensemble.inputs.of(test.X), ensemble.class_indices(test.y)
    others = {"linear SVM": SVC(kernel="linear"), "1-NN": KNeighborsClassifier(1)}
    return {
        name: make_pipeline(scaler, other).fit(rows, targets).score(inputs, truth) for name, other in others.items()
    }


def _test(ensemble: Ensemble, options: argparse.Namespace) -> tuple[TestData | None, tuple[int, ...] | None]:
    """Test rows, and their shape if they are images."""
    from bemi.export.page import TestData
    from bemi.io.files import row_shape

    path: Path | None = options.data
    if path is None:
        return None, None
    notes = Notes()
    rows = rows_for(options, ensemble, notes, labelled=True)
    notes.print()
    if rows.windows is not None:
        return TestData(rows.X, rows.y, f"windows of {path.name}"), None
    return TestData(rows.X, rows.y, f"rows of {path.name}"), row_shape(path)
