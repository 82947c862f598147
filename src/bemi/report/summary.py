"""Training results and performance on labelled rows, as plain numbers.  Only reads ensembles."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import confusion_matrix

from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.voting import CORRECT, STATUSES, Votes
from bemi.exact import Integers
from bemi.problem.problem import ABSTAIN
from bemi.stages import get
from bemi.stages.result import StageResult


def training_summary(ensemble: Ensemble) -> dict[str, Any]:
    """Training results over all networks: for each stage the number of runs, gaps, links, proofs and seconds."""
    networks = ensemble.networks
    stages = {
        stage: _stage_summary([reports[stage] for reports in ensemble.reports], ensemble.layers[-1])
        for stage in ensemble.stages
    }
    return {
        "networks": len(networks),
        "layers": list(ensemble.layers),
        "weight_bound": ensemble.weight_bound,
        "total_links": sum(w.size for w in networks[0].weights),
        "mean_links": float(np.mean([n.links for n in networks])),
        "stages": stages,
    }


def _stage_summary(reports: list[StageResult], outputs: int) -> dict[str, Any]:
    ran = [r for r in reports if r.ran]
    gaps = np.array([r.gap for r in ran])
    found = {
        "ran": len(ran),
        "optimal": sum(r.objective == r.bound for r in ran),
        "certified": sum(r.proof == "certified" for r in ran),
        "mean_gap": float(gaps.mean()) if len(ran) else None,
        "max_gap": float(gaps.max()) if len(ran) else None,
        "mean_links": float(np.mean([r.links for r in reports])),
        "seconds": _sum_known([r.seconds for r in reports]),
        "messages": _counted([r.message for r in reports if r.message]),
    }
    if get(reports[0].stage).counts_outputs:
        total = sum(r.rows * outputs for r in reports)
        found["confident"] = float(sum(r.objective or 0 for r in reports)) / total
    return found


def stage_numbers(report: StageResult) -> dict[str, Any]:
    """The result of a stage, as plain numbers and words."""
    numbers = {name: getattr(report, name) for name in ("objective", "bound", "proof", "links", "rows", "message")}
    plain = {name: float(v) if isinstance(v, Fraction) else v for name, v in numbers.items()}
    return plain | {"seconds": round(report.seconds, 4)}


def _sum_known(seconds: list[float]) -> float | None:
    total = float(np.sum(seconds))
    return None if np.isnan(total) else total


def _counted(messages: list[str]) -> dict[str, int]:
    return {text: messages.count(text) for text in dict.fromkeys(messages)}


def evaluation(ensemble: Ensemble, X: ArrayLike, y: ArrayLike, votes: Votes | None = None) -> dict[str, Any]:
    """Accuracy, unclassified share and label statuses on labelled rows.

    ``accuracy`` follows the tie rule of the ensemble; ``paper_accuracy`` and ``unclassified`` follow the paper's, under
    which a row without a clear winner has no label.  ``votes``, with statuses, saves voting again.
    """
    votes = ensemble.votes(X, ensemble.class_indices(y)) if votes is None else votes
    assert votes.status is not None
    share = {status: float(np.mean(votes.status == status)) for status in STATUSES}
    return {
        "rows": len(votes.status),
        "accuracy": float(np.mean(ensemble.labels(votes.label) == np.asarray(y))),
        "paper_accuracy": sum(share[status] for status in CORRECT),
        "unclassified": float(np.mean(votes.unclassified)),
        "ties": ensemble.ties.name,
        "statuses": share,
    }


def confusion(ensemble: Ensemble, votes: Votes, truth: Integers, *, by_paper: bool = True) -> list[list[int]]:
    """Counts by actual class (rows) and predicted class (columns); the last column counts unclassified rows.

    ``truth`` holds class indices; rows whose label is not a class do not count.  ``by_paper`` follows the paper's rule,
    otherwise the tie rule of the ensemble.
    """
    classes, known = len(ensemble.classes), truth != ABSTAIN
    given = np.where(votes.unclassified, ABSTAIN, votes.label) if by_paper else votes.label
    if not known.any():
        return np.zeros((classes, classes + 1), dtype=int).tolist()
    return confusion_matrix(truth[known], given[known], labels=[*range(classes), ABSTAIN])[:-1].tolist()
