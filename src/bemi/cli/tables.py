"""Summaries as tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from bemi.ensemble.ties import TIES

if TYPE_CHECKING:
    from bemi.training.choosing.choice import Choice

MOST_CANDIDATES = 5
"""Settings that are listed beside an estimate, best first."""


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


def estimate_table(found: dict[str, Any]) -> Table:
    """The accuracy to expect on new rows, and the best of the settings compared; only if there is an estimate."""
    low, high = (_percent(end) for end in found["range"])
    new = "rows" if found["recordings"] is None else "recordings"
    title = f"expected accuracy on new {new}: {_percent(found['accuracy'])}, between {low} and {high}"
    table = Table(title=title, min_width=len(title))
    table.add_column("settings")
    table.add_column("cross-validated", justify="right")
    best = sorted(found["candidates"].items(), key=lambda pair: -pair[1])
    for name, accuracy in best[:MOST_CANDIDATES]:
        table.add_row(name + " (chosen)" * (name == found["chosen"]), _percent(accuracy))
    if len(best) > MOST_CANDIDATES:
        table.caption = f"and {len(best) - MOST_CANDIDATES} that are worse"
    return table


def _percent(share: float | None, digits: int = 1) -> str:
    return "-" if share is None else f"{100 * share:.{digits}f} %"
