"""Summaries as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from bemi.ensemble.ties import TIES

if TYPE_CHECKING:
    from bemi.training.choosing.choice import Choice


def training_table(summary: dict[str, Any]) -> Table:
    """Training results, stage by stage."""
    layers = ", ".join(map(str, summary["layers"]))
    weights = f"weights -{summary['weight_bound']}..{summary['weight_bound']}"
    table = Table(title=f"{summary['networks']} networks [{layers}], {weights}")
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


def evaluation_table(result: dict[str, Any]) -> Table:
    """Accuracy and label statuses."""
    table = Table(title=f"{result['rows']} rows", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    table.add_row(f"accuracy (ties: {result['ties']}, {TIES[result['ties']].words})", _percent(result["accuracy"], 2))
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
    layers = ", ".join(map(str, summary["layers"]))
    plural = "s" if summary["networks"] > 1 else ""
    bound = summary["weight_bound"]
    table = Table(
        title=f"{summary['networks']} network{plural} [{layers}], weights -{bound}..{bound}", show_header=False
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
