"""Results as numbers and tables.  Reads fitted classifiers; never solves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rich.table import Table

from bemi.classifier import BeMiClassifier
from bemi.engines.result import StageResult
from bemi.voting import STATUSES


def training_summary(classifier: BeMiClassifier) -> dict[str, Any]:
    """What training reached, over all networks: per stage how many ran, gaps, links, proofs and seconds."""
    networks = list(classifier.networks_.values())
    total_links = sum(w.size for w in networks[0].weights)
    stages = {}
    for stage in next(iter(classifier.reports_.values())):
        reports = [r[stage] for r in classifier.reports_.values()]
        ran = [r for r in reports if r.ran]
        gaps = np.array([r.gap for r in ran])
        stages[stage] = {
            "ran": len(ran),
            "optimal": sum(r.objective == r.bound for r in ran),
            "certified": sum(r.proof == "certified" for r in ran),
            "mean_gap": float(gaps.mean()) if len(ran) else None,
            "max_gap": float(gaps.max()) if len(ran) else None,
            "mean_links": float(np.mean([r.links for r in reports])),
            "seconds": _sum_known([r.seconds for r in reports]),
            "messages": _counted([r.message for r in reports if r.message]),
        }
    if "sm" in stages:
        reports = [r["sm"] for r in classifier.reports_.values()]
        outputs = sum(r.rows * networks[0].layers[-1] for r in reports)
        stages["sm"]["confident"] = float(sum(r.objective or 0 for r in reports)) / outputs
    return {
        "networks": len(networks),
        "layers": list(networks[0].layers),
        "weight_bound": networks[0].weight_bound,
        "total_links": total_links,
        "mean_links": float(np.mean([n.links for n in networks])),
        "stages": stages,
    }


def stage_record(report: StageResult) -> dict[str, Any]:
    """What a stage reached, as plain numbers and words."""
    numbers = {name: getattr(report, name) for name in ("objective", "bound", "proof", "links", "rows", "message")}
    shown = {name: float(v) if isinstance(v, Fraction) else v for name, v in numbers.items()}
    return shown | {"seconds": round(report.seconds, 4)}


def _sum_known(seconds: list[float]) -> float | None:
    total = float(np.sum(seconds))
    return None if np.isnan(total) else total


def _counted(messages: list[str]) -> dict[str, int]:
    return {text: messages.count(text) for text in dict.fromkeys(messages)}


def evaluation(classifier: BeMiClassifier, X: ArrayLike, y: ArrayLike) -> dict[str, Any]:
    """Accuracy, unclassified share and label statuses on labelled data.

    ``accuracy`` follows the classifier's own tie rule; ``paper_accuracy`` and ``unclassified`` the paper's, under which
    a row without a clear winner has no label.
    """
    votes = classifier.vote(X, y)
    assert votes.status is not None
    share = {status: float(np.mean(votes.status == status)) for status in STATUSES}
    return {
        "rows": len(votes.status),
        "accuracy": float(np.mean(votes.label == np.asarray(y))),
        "paper_accuracy": share["1C"] + share["mC"],
        "unclassified": float(np.mean(votes.unclassified)),
        "ties": classifier.ties,
        "statuses": share,
    }


def training_table(summary: dict[str, Any]) -> Table:
    """A training summary for people."""
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
    """An evaluation for people."""
    table = Table(title=f"{result['rows']} rows", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    rule = "every row gets a label" if result["ties"] == "margin" else "the paper's rule"
    table.add_row(f"accuracy (ties: {result['ties']}, {rule})", _percent(result["accuracy"], 2))
    table.add_row("accuracy under the paper's rule", _percent(result["paper_accuracy"], 2))
    table.add_row("unclassified under the paper's rule", _percent(result["unclassified"], 2))
    table.add_section()
    for status, share in result["statuses"].items():
        table.add_row(f"status {status}", _percent(share, 2))
    return table


def _percent(share: float | None, digits: int = 1) -> str:
    return "-" if share is None else f"{100 * share:.{digits}f} %"
