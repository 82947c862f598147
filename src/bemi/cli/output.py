"""What commands print: tables and notes, or JSON for programs; progress; and Dask clusters, for training."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.checks import counted
from bemi.files import printable

if TYPE_CHECKING:
    from rich.table import Table

    from bemi.training.choice import Choice


def rejection_in_words(found: dict[str, Any] | None) -> str:
    """What becomes of unknown rows, and of known ones with them."""
    if found is None:
        return "get a label"
    apart = "" if found["recordings"] is None else f" of {counted(found['recordings'], 'recording')}"
    about = f"{100 * found['expected']:.1f} % of known rows"
    if found["unseen"] is not None:
        about += f", and {100 * found['unseen']:.0f} % of the rows of a class if it is left out"
    return f"are rejected, with an expected {about}, by cross-validation of {counted(found['rows'], 'row')}{apart}"


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Train on the Dask cluster with this scheduler, or on this machine if there is no address."""
    if address is None:
        yield
        return
    import joblib

    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--cluster needs Dask: pip install 'bemi[cluster]'") from None
    try:
        client = Client(address)
    except (OSError, ValueError, TypeError) as error:  # TypeError if TLS is not set up
        raise ValueError(f"there is no Dask scheduler at {address}: {error}") from None
    with client, joblib.parallel_config("dask", client=client):
        yield


def show(options: argparse.Namespace, result: dict[str, Any], *tables: Table) -> None:
    """Print a command's result: one JSON object with --json, nothing with --quiet, tables otherwise.

    Tables have colours only on a terminal, and none if the variable NO_COLOR is set.
    """
    if options.json:
        print(json.dumps(result, allow_nan=False))
        return
    if is_quiet(options):
        return
    from rich.console import Console

    console = Console()
    for table in tables:
        table.min_width = min(len(str(table.title or "")), console.width)  # a title that fits is not broken
        console.print(table)


def shown(text: str) -> str:
    """Text from a file, safe to print in a table: no markup, no control characters."""
    from rich.markup import escape

    return escape(printable(text, longest=1000))


def progress_wanted(options: argparse.Namespace) -> bool:
    """Whether to show progress: only on a terminal."""
    return sys.stderr.isatty() and not options.json and not is_quiet(options)


def is_quiet(options: argparse.Namespace) -> bool:
    """Whether the user wants errors only."""
    return getattr(options, "quiet", False)


def check_writable(path: Path) -> None:
    """Raise ValueError unless a file can be written there: better before hours of training than after."""
    if not path.parent.is_dir():
        raise ValueError(f"the folder of {path} does not exist")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give the name of a file")


class Notes:
    """Messages for the user, such as about a column that is left out.

    They are kept until the command has succeeded: an error is a single line.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, line: str) -> None:
        self.lines.append(line)

    def print(self) -> None:
        """Print the lines on standard error; standard output may be read by a program."""
        for line in self.lines:
            print(f"bemi: {line}", file=sys.stderr)


def training_table(summary: dict[str, Any]) -> Table:
    """Training results, stage by stage."""
    from rich.table import Table

    layers = ", ".join(map(str, summary["layers"]))
    weights = f"weights -{summary['weight_bound']}..{summary['weight_bound']}"
    table = Table(title=f"{counted(summary['networks'], 'network')} [{layers}], {weights}")
    for heading in ("stage", "ran", "proved optimal", "mean gap", "max gap", "mean links", "links %", "seconds"):
        table.add_column(heading, justify="left" if heading == "stage" else "right")
    for stage, numbers in summary["stages"].items():
        table.add_row(
            stage,
            str(numbers["ran"]),
            str(numbers["optimal"]),
            _percent(numbers["mean_gap"]),
            _percent(numbers["max_gap"]),
            f"{numbers['mean_links']:.1f}",
            _percent(numbers["mean_links"] / summary["total_links"]),
            "-" if numbers["seconds"] is None else f"{numbers['seconds']:.1f}",
        )
    notes = [
        f"{s}: {count} times: {text}" for s, n in summary["stages"].items() for text, count in n["messages"].items()
    ]
    if notes:
        table.caption = "\n".join(notes)
        table.caption_justify = "left"
    return table


def performance_tables(result: dict[str, Any]) -> list[Table]:
    """Accuracy, chances and classes; what rows of each class are taken for, and how far chances can be trusted."""
    from rich.table import Table

    apart = "" if result["recordings"] is None else f" of {counted(result['recordings'], 'recording')}"
    table = Table(title=f"{result['rows']:,} rows{apart}", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    low, high = (_percent(end) for end in result["range"])
    table.add_row("accuracy", f"{_percent(result['accuracy'], 2)} ({low} to {high})")
    table.add_row("always the most frequent class", _percent(result["base_rate"], 2))
    what = "AUC" if len(result["classes"]) == 2 else "AUC, mean of each class against the rest"
    table.add_row(what, _decimals(result["auc"]))
    chances = result["probabilities"]
    if chances is not None:
        table.add_row("log-loss", _decimals(chances["log_loss"]))
        table.add_row("Brier score", _decimals(chances["brier"]))
        table.add_row("expected calibration error", _percent(chances["calibration_error"]))
    rejection = result["rejection"]
    if rejection is not None:
        about = f"known rows rejected (expected: {_percent(rejection['expected'])})"
        table.add_row(about, _percent(rejection["rejected"], 2))
        table.add_row("accuracy of the others", _percent(rejection["accuracy_of_accepted"], 2))
        if "unknown" in rejection:
            table.add_row(f"of {rejection['unknown']:,} unknown rows rejected", _percent(rejection["recognized"], 2))
            table.add_row("AUC of unknown rows against known ones", _decimals(rejection["auc"]))
    if result["unknown_labels"]:
        table.add_row("labels that the model does not know", f"{result['unknown_labels']:,}")
    more = [] if chances is None else [_calibration_table(result)]
    recordings = [] if result["by_recording"] is None else [_recordings_table(result["by_recording"])]
    return [table, _classes_table(result), *recordings, *more]


MOST_COLUMNS = 10
"""Classes of a confusion table; more do not fit a terminal."""


def _classes_table(result: dict[str, Any]) -> Table:
    """Each class: rows, recall, precision, and what its rows were taken for."""
    from rich.table import Table

    classes = result["classes"]
    open_ = any(row[-1] for row in result["confusion"])
    heads = [shown(one["label"]) for one in classes] + (["unclassified"] if open_ else [])
    table = Table(title="classes, and the labels of their rows")
    table.add_column("class")
    small = len(heads) <= MOST_COLUMNS
    for head in ("rows", "recall", "precision", *(heads if small else [])):
        table.add_column(head, justify="right")
    for one, row in zip(classes, result["confusion"], strict=True):
        cells = [str(count) for count in row[: len(heads)]] if small else []
        table.add_row(
            shown(one["label"]), str(one["rows"]), _percent(one["recall"]), _percent(one["precision"]), *cells
        )
    if not small:
        table.caption = "--json has the confusion of all classes"
    return table


MOST_RECORDINGS = 20
"""Recordings in a table; the others are those with a higher accuracy."""


def _recordings_table(recordings: list[dict[str, Any]]) -> Table:
    """Each recording, the worst first."""
    from rich.table import Table

    table = Table(title="recordings, the worst first")
    for head in ("recording", "class", "rows", "accuracy", "mostly labelled"):
        table.add_column(head, justify="right" if head in ("rows", "accuracy") else "left")
    for one in sorted(recordings, key=lambda one: one["accuracy"])[:MOST_RECORDINGS]:
        own = "several" if one["class"] is None else shown(one["class"])
        cells = (shown(one["recording"]), own, str(one["rows"]), _percent(one["accuracy"]), shown(one["mostly"]))
        table.add_row(*cells)
    if len(recordings) > MOST_RECORDINGS:
        table.caption = f"{len(recordings) - MOST_RECORDINGS} more, which --json has"
    return table


def _calibration_table(result: dict[str, Any]) -> Table:
    """Predicted probabilities beside observed frequencies."""
    from rich.table import Table

    classes = result["classes"]
    of = f"probability of {shown(classes[1]['label'])}" if len(classes) == 2 else "largest probability"
    table = Table(title="calibration")
    for head in (of, "observed", "rows"):
        table.add_column(head, justify="right")
    for part in result["probabilities"]["calibration"]:
        table.add_row(_percent(part["chance"]), _percent(part["happened"]), str(part["rows"]))
    return table


def statuses_table(result: dict[str, Any]) -> Table:
    """Accuracy and label statuses under the paper's rule."""
    from rich.table import Table

    from bemi.ensemble.ties import TIES

    table = Table(title="the paper's rule", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row("ties of the model", f"{result['ties']}, {TIES[result['ties']].words}")
    table.add_row("accuracy under the paper's rule", _percent(result["paper_accuracy"], 2))
    table.add_row("unclassified under the paper's rule", _percent(result["unclassified"], 2))
    table.add_section()
    for status, share in result["statuses"].items():
        table.add_row(f"status {status}", _percent(share, 2))
    return table


def estimate(choice: Choice | None) -> dict[str, Any] | None:
    """What was chosen by cross-validation and what accuracy to expect on new rows, as plain numbers."""
    if choice is None:
        return None
    return {
        "chosen": choice.name,
        "words": choice.in_words(),
        "accuracy": choice.expected,
        "range": None if choice.low is None else [choice.low, choice.high],
        "candidates": dict(choice.accuracies),
        "recordings": choice.recordings,
    }


def result_table(summary: dict[str, Any]) -> Table:
    """What training gave, in few lines: accuracy, proofs, size and time.  ``bemi info`` has the details."""
    from rich.table import Table

    layers = ", ".join(map(str, summary["layers"]))
    bound = summary["weight_bound"]
    table = Table(
        title=f"{counted(summary['networks'], 'network')} [{layers}], weights -{bound}..{bound}", show_header=False
    )
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_row(*expectation(summary["estimate"]))
    training = summary["training"]
    table.add_row("training accuracy", f"{_percent(training['accuracy'])} of {training['rows']} rows")
    for stage, numbers in summary["stages"].items():
        table.add_row(f"stage {stage}", _proved(numbers, summary["networks"]))
    share = _percent(summary["mean_links"] / summary["total_links"])
    table.add_row("links", f"{summary['mean_links']:.1f} per network, {share} of all")
    seconds = [numbers["seconds"] for numbers in summary["stages"].values()]
    if None not in seconds:
        table.add_row("seconds", f"{sum(seconds):.1f} for all networks")
    return table


def expectation(found: dict[str, Any] | None) -> tuple[str, str]:
    """What to expect on new rows, and how much."""
    new = "rows" if found is None or found["recordings"] is None else "recordings"
    what = f"expected accuracy on new {new}"
    if found is None:
        return what, "not estimated: bemi evaluate measures it"
    if found["accuracy"] is None:
        return what, "unknown"
    low, high = (_percent(end) for end in found["range"])
    return what, f"{_percent(found['accuracy'])}, between {low} and {high}"


def _proved(numbers: dict[str, Any], networks: int) -> str:
    if not numbers["ran"]:
        return "did not run"
    words = f"proved within {_percent(numbers['mean_gap'])}, {_percent(numbers['max_gap'])} at most"
    if numbers["optimal"] == networks:
        words = "proved optimal"
    skipped = networks - numbers["ran"]
    return words + (f"; did not run for {skipped} networks" if skipped else "")


def _percent(share: float | None, digits: int = 1) -> str:
    return "-" if share is None else f"{100 * share:.{digits}f} %"


def _decimals(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
