"""What a model holds, how it was trained, what is proved and how it performs on labelled rows, as plain data."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import confusion_matrix

from bemi.augment import scenarios
from bemi.checks import counted
from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.voting import LabelStatus, Votes
from bemi.exact import Integers
from bemi.inputs.fixed_point import in_units
from bemi.inputs.inputs import Inputs
from bemi.inputs.registry import describe
from bemi.inputs.transform import Takes, reader_of
from bemi.io.signals import ModelWindows
from bemi.problem.problem import ABSTAIN
from bemi.report.scorecard import Scorecard
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
        "computed": sum(r.proof == "computed" for r in ran),
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


LARGE_GAP = 0.1
"""Gaps from this on are worth a line."""

_MOST_NAMED = 3


def large_gaps(ensemble: Ensemble) -> str:
    """That proofs leave large gaps, where, and what to do, in one line; empty if they do not."""
    stage = shown_stage(ensemble)
    gaps = [reports[stage].gap if reports[stage].ran else math.inf for reports in ensemble.reports]
    wide = sorted((place for place, gap in enumerate(gaps) if gap > LARGE_GAP), key=lambda place: -gaps[place])
    if not wide:
        return ""
    names = ["/".join(map(str, ensemble.keys[place])) for place in wide[:_MOST_NAMED]]
    more = f" and {len(wide) - len(names)} more" if len(wide) > len(names) else ""
    largest = gaps[wide[0]]
    what = f"a gap of {100 * largest:.0f} %" if math.isfinite(largest) else "no bound"
    which = f"{len(wide)} of {counted(len(gaps), 'network')} ({', '.join(names)}{more})"
    where = f"the proof of stage {stage} leaves {what}" + (
        f" at most; over {100 * LARGE_GAP:.0f} %: {which}" if len(gaps) > 1 else ""
    )
    return f"{where}; give more time (time_limit), or prove less: smaller C, fewer rows, columns or links"


def rows_inside(ensemble: Ensemble) -> str:
    """That the model contains training rows, in one line; empty if it contains none."""
    count = ensemble.inputs.rows_inside
    without = "inputs='explainable' trains without"
    return f"the model contains {count} training rows, to which it compares new ones; {without}" if count else ""


def shown_stage(ensemble: Ensemble) -> str:
    """The last stage whose gap is worth showing."""
    return next((name for name in reversed(ensemble.stages) if get(name).shows_gap), ensemble.stages[-1])


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
    share = {status: float(np.mean(votes.status == status.value)) for status in LabelStatus}
    return {
        "rows": len(votes.status),
        "accuracy": float(np.mean(ensemble.labels(votes.label) == np.asarray(y))),
        "paper_accuracy": sum(share[status] for status in LabelStatus if status.correct),
        "unclassified": float(np.mean(votes.unclassified)),
        "ties": ensemble.ties.name,
        "statuses": {status.value: part for status, part in share.items()},
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


def contents(ensemble: Ensemble) -> dict[str, Any]:
    """Classes, columns, inputs, networks, training and proofs of a model."""
    inputs = ensemble.inputs
    return {
        "classes": ensemble.classes.tolist(),
        "ties": ensemble.ties.name,
        "columns": _columns(inputs),
        "named": inputs.names is not None,
        "inputs": {"number": inputs.size, "are": describe(inputs.transform)},
        "rows_inside": inputs.rows_inside,
        "training": _training(ensemble),
        "networks": [
            {
                "classes": list(key),
                "links": network.links,
                "stages": {stage: _proved(report) for stage, report in reports.items()},
            }
            for key, network, reports in zip(ensemble.keys, ensemble.networks, ensemble.reports, strict=True)
        ],
        "summary": training_summary(ensemble),
        "probabilities": ensemble.probabilities is not None,
        "rejection": rejection(ensemble),
        "scorecard": _scorecard(ensemble),
    }


def rejection(ensemble: Ensemble) -> dict[str, Any] | None:
    """Which share of known rows, and of a class left out, is expected to be rejected, and from how many rows that is
    known; None if every row is labelled."""
    ranges = ensemble.known_ranges
    if ranges is None:
        return None
    return {
        "expected": ranges.share,
        "rows": ranges.tested,
        "recordings": ranges.recordings or None,
        "unseen": ranges.unseen,
    }


def _scorecard(ensemble: Ensemble) -> str | None:
    """The model as points to add up, if it is of that kind."""
    try:
        return Scorecard.of(ensemble).text()
    except ValueError:
        return None


def _columns(inputs: Inputs) -> list[dict[str, Any]]:
    """Name and kind of each column; for tables also what is made of it.  Of windows, the channels."""
    windows = ModelWindows.of(inputs)
    if windows is not None:
        names = windows.channels or [f"channel {place}" for place in range(windows.count)]
        units = reader_of(inputs.transform).reading_units()
        return [
            {"name": name, "kind": f"{windows.time} samples", "unit": in_units(1, unit["decimals"])}
            for name, unit in zip(names, units, strict=False)
        ]
    if Takes.by(inputs.transform) is not Takes.RAW_COLUMNS:
        names = inputs.names or [f"feature {place}" for place in range(inputs.features)]
        return [{"name": name, "kind": "number"} for name in names]
    found = []
    for column in inputs.transform.columns_:  # type: ignore[union-attr]
        about: dict[str, Any] = {"name": column.name, "missing": column.has_missing}
        if column.levels is not None:
            about |= {"kind": "category", "levels": list(column.levels)}
        else:
            cuts = [in_units(threshold, column.decimals) for threshold in column.thresholds]
            about |= {"kind": "number", "unit": in_units(1, column.decimals), "thresholds": cuts}
            about |= {"value": column.multiplier > 0}
        found.append(about)
    return found


def _training(ensemble: Ensemble) -> dict[str, Any]:
    record = ensemble.training
    settings = {name: list(v) if isinstance(v, tuple) else v for name, v in record.settings.items()}
    settings["copies"] = scenarios.parameters(settings["copies"])
    return {"settings": settings, "rows": _rows(ensemble), "solver": record.solver, "digest": record.digest}


def _rows(ensemble: Ensemble) -> int | None:
    """Number of training rows, variants not counted; None if it does not follow from those of the networks.

    The first stage of a network sees all rows of its classes.  If every set of m of k classes has a network, it counts
    each row ``C(k-1, m-1)`` times.
    """
    if ensemble.training.given_rows is not None:
        return ensemble.training.given_rows
    classes, size = len(ensemble.classes), ensemble.subsets.shape[1]
    if len(ensemble.subsets) < math.comb(classes, size):
        return None
    seen = sum(next(iter(reports.values())).rows for reports in ensemble.reports)
    return seen // math.comb(classes - 1, size - 1)


def _proved(report: Any) -> dict[str, Any]:
    """A stage's numbers; times are not part of a model."""
    numbers = {name: value for name, value in stage_numbers(report).items() if name != "seconds"}
    return numbers | {"gap": report.gap if report.ran else None, "outcome": report.outcome.label}
