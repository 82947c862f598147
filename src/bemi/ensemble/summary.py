"""Results as numbers and tables.  Reads fitted classifiers; never solves."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bemi.classifier import BeMiClassifier
from bemi.ensemble.voting import STATUSES
from bemi.stages.result import StageResult


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
