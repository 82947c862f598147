"""``bemi export``: write a model for use outside Python.  Every target is an entry of :data:`TARGETS`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.cli import program
from bemi.cli.data import rows_for
from bemi.cli.options import IMAGE, add_json, add_missing, add_recordings, image_shape_or_none, smoothing
from bemi.cli.output import Notes, check_writable, show

if TYPE_CHECKING:
    from rich.table import Table

    from bemi.ensemble.ensemble import Ensemble
    from bemi.estimators import Classifier
    from bemi.export.page import TestData, TrainingData

C_GOALS = ("speed", "size")
C_LAYOUTS = ("plain", "arduino", "platformio", "cmake", "esp-idf", "zephyr")
C_INPUT_TYPES = ("uint8_t", "int8_t", "uint16_t", "int16_t", "int32_t")
PREFIX = "bemi"
VERILOG_INTERFACES, VERILOG_VECTORS = ("stream", "parallel"), 100
PAGE_SAMPLES = 200
"""Option values whose home modules are too slow to import for help texts; a test compares them with the originals."""

C_COSTS = {
    "flash": "flash, bytes",
    "tables": "of these, tables",
    "stack": "stack, bytes",
    "state": "RAM for each stream, bytes",
    "additions": "additions of inputs",
    "instructions": "instructions",
    "without_tie": "instructions without a tie",
}
VERILOG_COSTS = {
    "luts": "lookup tables of 4 inputs",
    "flip_flops": "flip-flops",
    "block_rams": "block RAMs of 4,096 bits",
    "latency": "clocks from the first feature to the label",
    "interval": "clocks from one label to the next",
    "tie": "more clocks for a tie, at most",
}
"""Rows of the tables of costs."""

Result = tuple[dict[str, Any], "Table"]
"""What a command shows: one object for ``--json``, or a table."""


@dataclass(frozen=True)
class Target:
    """A target of exports, and its command.

    Attributes
    ----------
    name
        Name of the command, and of the package in :mod:`bemi.export` whose ``write(model, path, ...)`` does the work.
    description
        What it writes, in one line.
    output
        What ``--output`` names: ``"folder"``, or a kind of file.
    example
        A call for the help.
    write
        Writes the model as the options say.
    add_options
        Adds its own options to the command; None if it has none.
    """

    name: str
    description: str
    output: str
    example: str
    write: Callable[[argparse.Namespace, Classifier], Result]
    add_options: Callable[[argparse.ArgumentParser], None] | None = None


def add_command(commands: Any) -> None:
    command = program.add(commands, "export", "write a model for use outside Python")
    command.set_defaults(example="bemi export c model.bemi -o device\nbemi export c --help")
    targets = command.add_subparsers(dest="target", required=True, metavar="target")
    for target in TARGETS.values():
        own = program.add(targets, target.name, target.description)
        own.set_defaults(run=partial(_run, target), example=target.example)
        own.add_argument("model", type=Path, help="model file")
        folder = target.output == "folder"
        what = "folder to write to" if folder else f"{target.output} to write"
        own.add_argument("-o", "--output", type=Path, required=True, metavar="DIR" if folder else "FILE", help=what)
        if target.add_options is not None:
            target.add_options(own)
        add_json(own)


def _run(target: Target, options: argparse.Namespace) -> int:
    from bemi import load

    # Better before anything is computed than after.
    if target.output != "folder":
        check_writable(options.output)
    elif options.output.exists() and not options.output.is_dir():
        raise ValueError(f"{options.output} is a file; give the name of a folder")
    show(options, *target.write(options, load(options.model)))
    return 0


def _costs(options: argparse.Namespace, files: Iterable[str], costs: Any, rows: Mapping[str, str], at: str) -> Result:
    """The files of a folder, and the costs that ``rows`` name; ``at`` says where they are."""
    from rich.table import Table

    numbers = asdict(costs)
    table = Table(title=f"{options.output}: {', '.join(files)}", show_header=False, caption=at)
    table.add_column()
    table.add_column(justify="right")
    for name, text in rows.items():
        if numbers[name] or name != "state":  # only signals have streams
            table.add_row(text, f"{numbers[name]:,}")
    return {"folder": str(options.output), **numbers}, table


def _file(options: argparse.Namespace) -> Result:
    """The name and the size of a file, and a table for more about it."""
    from rich.table import Table

    size = options.output.stat().st_size
    result = {"file": str(options.output), "bytes": size}
    return result, Table(title=f"{options.output}: {size:,} bytes", show_header=False)


def _add_c_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--optimize", choices=C_GOALS, default="speed", help="what to optimize for (default: %(default)s)")
    smallest = "type of an input (default: the smallest for the training rows)"
    add("--input-type", choices=C_INPUT_TYPES, help=smallest)
    add(
        "--smooth",
        type=smoothing,
        metavar="LENGTH,VOTES",
        help="add bemi_smooth: the last LENGTH labels vote, and a label needs VOTES of them (default: none)",
    )
    left_out = "leave out the probabilities, which take flash"
    add("--no-probabilities", dest="probabilities", action="store_false", help=left_out)
    learned = "add bemi_learn: the device learns further classes from a few rows each; for models with --reject"
    add("--learn", action="store_true", help=learned)
    around = "add what a build system needs around header and source (default: %(default)s)"
    add("--layout", choices=C_LAYOUTS, default=C_LAYOUTS[0], help=around)
    _add_name(command, "the names of the program and its files begin with, so that two models fit into one")


def _add_name(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument("--name", default=PREFIX, help=f"what {what} (default: %(default)s)")


def _write_c(options: argparse.Namespace, model: Classifier) -> Result:
    from bemi import Smoothing
    from bemi.export import c

    smoother = None if options.smooth is None else Smoothing(*options.smooth)
    made = c.write(
        model,
        options.output,
        optimize=options.optimize,
        input_type=options.input_type,
        smoothing=smoother,
        probabilities=options.probabilities,
        name=options.name,
        layout=options.layout,
        learn=options.learn,
    )
    return _costs(options, made.files, made.costs, C_COSTS, "upper limits for a Cortex-M3, gcc -Os")


def _add_blob_options(command: argparse.ArgumentParser) -> None:
    widest = "type whose range inputs may have that enter as they are (default: the smallest for the training rows)"
    command.add_argument("--input-type", choices=C_INPUT_TYPES, help=widest)


def _write_blob(options: argparse.Namespace, model: Classifier) -> Result:
    from rich.table import Table

    from bemi.export import blob

    made = blob.write(model, options.output, input_type=options.input_type)
    size = len(made.blob)
    title = f"{options.output}: {', '.join(made.files)}"
    table = Table(title=title, show_header=False)
    table.add_row("model.blob, bytes", f"{size:,}")
    return {"folder": str(options.output), "bytes": size}, table


def _write_onnx(options: argparse.Namespace, model: Classifier) -> Result:
    from bemi.export import onnx

    onnx.write(model, options.output)
    low, high = onnx.input_range(model)
    result, table = _file(options)
    table.add_row("x", f"{model.ensemble_.inputs.features} integers in {low}..{high}")
    table.add_row("label", "class index, -1 for unclassified")
    table.add_row("counts", f"votes for each of {len(model.classes_)} classes")
    return result | {"input_range": (low, high)}, table


def _add_verilog_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    whole = "one feature per clock, or a whole row at once (default: %(default)s)"
    add("--interface", choices=VERILOG_INTERFACES, default="stream", help=whole)
    fewest = "bits of a feature that enters as it is (default: the fewest for the training rows)"
    add("--input-bits", type=int, metavar="N", help=fewest)
    vectors = "random rows for the test bench (default: %(default)s)"
    add("--vectors", type=int, default=VERILOG_VECTORS, metavar="N", help=vectors)
    own = "rows of yours for the test bench, as predict takes them: a CSV or NPZ file or a folder of images"
    add("--rows", dest="data", type=Path, metavar="FILE", help=f"{own} (default: none)")
    add_missing(command)
    _add_name(command, "the names of the module and its file begin with")


def _write_verilog(options: argparse.Namespace, model: Classifier) -> Result:
    from bemi.export import verilog

    rows, notes = None, Notes()
    if options.data is not None:
        rows = rows_for(options, model.ensemble_, notes, labelled=False).X
    notes.print()
    made = verilog.write(
        model,
        options.output,
        interface=options.interface,
        input_bits=options.input_bits,
        vectors=options.vectors,
        rows=rows,
        name=options.name,
    )
    estimated = "estimates for an iCE40; clocks are exact\n'make report' in the folder measures"
    return _costs(options, made.files, made.costs, VERILOG_COSTS, estimated)


def _add_page_options(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--data", type=Path, metavar="FILE", help="test rows to click through: a CSV or NPZ file (default: none)")
    add("--target", help="column (CSV, default: label) or array (NPZ, default: y) with the labels")
    samples = "test rows in the page (default: %(default)s)"
    add("--samples", type=int, default=PAGE_SAMPLES, metavar="N", help=samples)
    add(
        "--image",
        type=image_shape_or_none,
        metavar=IMAGE,
        help="rows are images of this size, or 'none' (default: what the model's transform or the data say; models of "
        "784 or 64 features are treated as images of 28x28 or 8x8)",
    )
    add("--title", help="heading of the page (default: a question with the classes)")
    add_missing(command)
    add_recordings(command)


def _write_page(options: argparse.Namespace, model: Classifier) -> Result:
    from bemi.export import page

    ensemble, training = _with_record(model.ensemble_, options.model)
    test, shape = _test_rows(ensemble, options)
    page.write(
        ensemble,
        options.output,
        title=options.title,
        test=test,
        training=training,
        others=_others(ensemble, training, test),
        image=(shape or True) if options.image is None else options.image,
        samples=options.samples,
    )
    result, table = _file(options)
    table.add_row("networks", str(len(ensemble.networks)))
    if test is not None:
        result |= {"test_rows": len(test.y), "samples": min(options.samples, len(test.y))}
        table.add_row(test.about, f"{result['test_rows']:,}, of which {result['samples']:,} are in the page")
    return result, table


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


def _test_rows(ensemble: Ensemble, options: argparse.Namespace) -> tuple[TestData | None, tuple[int, ...] | None]:
    """Test rows, and their shape if they are images."""
    from bemi.export.page import TestData
    from bemi.io.tables import row_shape

    path: Path | None = options.data
    if path is None:
        return None, None
    notes = Notes()
    rows = rows_for(options, ensemble, notes, labelled=True)
    notes.print()
    if rows.windows is not None:
        return TestData(rows.X, rows.y, f"windows of {path.name}"), None
    return TestData(rows.X, rows.y, f"rows of {path.name}"), row_shape(path)


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


TARGETS = {
    target.name: target
    for target in (
        Target(
            "c",
            "C99 for small devices: integers only, no allocation, no library calls",
            output="folder",
            example="bemi export c model.bemi -o device",
            add_options=_add_c_options,
            write=_write_c,
        ),
        Target(
            "blob",
            "the model as data for updates over the air, and C that runs any such file",
            output="folder",
            example="bemi export blob model.bemi -o device",
            add_options=_add_blob_options,
            write=_write_blob,
        ),
        Target(
            "onnx",
            "an ONNX file with integer operators only",
            output="ONNX file",
            example="bemi export onnx model.bemi -o model.onnx",
            write=_write_onnx,
        ),
        Target(
            "verilog",
            "Verilog for FPGAs, with a test bench",
            output="folder",
            example="bemi export verilog model.bemi -o circuit\nmake -C circuit test",
            add_options=_add_verilog_options,
            write=_write_verilog,
        ),
        Target(
            "page",
            "one HTML file to try the model in and look inside it",
            output="HTML file",
            example="bemi export page model.bemi --data test.csv -o page.html",
            add_options=_add_page_options,
            write=_write_page,
        ),
    )
}
"""All targets, in the order in which help lists them."""
