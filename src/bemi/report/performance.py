"""How a model performs on labelled rows: accuracy with its range, classes, ranking, and what its chances are worth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import log_loss, precision_recall_fscore_support, roc_auc_score

from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.smoothing import Smoothing
from bemi.exact import Integers
from bemi.problem.problem import ABSTAIN
from bemi.report.estimates import accuracy_range, effective_rows
from bemi.report.summary import confusion, evaluation

BINS = 5
"""Parts of the rows, from the least likely on, whose chances are compared with what happened."""


def performance(
    ensemble: Ensemble,
    X: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    smoothing: Smoothing | None = None,
    unknown: ArrayLike | None = None,
) -> dict[str, Any]:
    """All that labelled rows tell about a model, as plain data.

    Parameters
    ----------
    ensemble
        The model.
    X, y
        Rows and labels.  Labels that the model does not know count as wrong, and only for the accuracy.
    groups
        The recording of each row; None if every row stands for itself.
    smoothing
        Smooths class indices, with ``unsure=ABSTAIN``, each recording apart; None for labels as they are.  Chances and
        statuses are not smoothed.
    unknown
        Rows like none that the model was trained on; None without.  Only for a model that rejects unknown rows.
    """
    truth = ensemble.class_indices(y)
    votes = ensemble.votes(X, truth)
    if smoothing is not None:
        votes = replace(votes, label=smoothing(votes.label, groups))
    found = evaluation(ensemble, X, y, votes)
    right = (votes.label == truth) & (truth != ABSTAIN)
    recordings = None if groups is None else np.unique(np.asarray(groups).astype(str), return_inverse=True)[1]
    rows = effective_rows(right.astype(np.float64), np.ones(len(right)), recordings)
    known = truth != ABSTAIN
    counts = np.bincount(truth[known], minlength=len(ensemble.classes))
    labels = np.arange(len(ensemble.classes))
    precision, recall, *_ = precision_recall_fscore_support(
        truth[known], votes.label[known], labels=labels, zero_division=np.nan
    )
    return found | {
        "range": list(accuracy_range(found["accuracy"], rows)),
        "recordings": None if recordings is None else int(recordings.max()) + 1,
        "by_recording": None if groups is None else _by_recording(ensemble, np.asarray(groups), y, votes.label, right),
        "base_rate": float(counts.max() / len(truth)),
        "unknown_labels": int((~known).sum()),
        "rejection": _rejection(ensemble, X, known, votes.label == truth, unknown),
        "classes": [
            {
                "label": str(label),
                "rows": int(count),
                "recall": _number(r) if count else None,
                "precision": _number(p),
            }
            for label, count, r, p in zip(ensemble.classes.tolist(), counts, recall, precision, strict=True)
        ],
        "confusion": confusion(ensemble, votes, truth, by_paper=False),
        **_ranking(ensemble, X, truth, known),
        "probabilities": _probabilities(ensemble, X, truth, known),
    }


def _rejection(
    ensemble: Ensemble, X: Any, known: NDArray[np.bool_], right: NDArray[np.bool_], unknown: ArrayLike | None
) -> dict[str, Any] | None:
    """How many known rows are rejected, and how well unknown rows are recognized; None if every row is labelled."""
    ranges = ensemble.known_ranges
    if ranges is None:
        if unknown is not None:
            raise ValueError("this model labels every row; train it with --reject 0.05, or leave out --unknown")
        return None
    strange = ensemble.strangeness(X)[known]
    accepted = strange <= ranges.threshold
    found = {
        "expected": ranges.share,
        "known": len(strange),
        "rejected": _number(1 - accepted.mean()) if len(strange) else None,
        "accuracy_of_accepted": _number(right[known][accepted].mean()) if accepted.any() else None,
    }
    if unknown is None:
        return found
    other = ensemble.strangeness(unknown)
    truth = np.repeat([False, True], [len(strange), len(other)])
    return found | {
        "unknown": len(other),
        "recognized": float((other > ranges.threshold).mean()),
        "auc": float(roc_auc_score(truth, np.concatenate([strange, other]))) if len(strange) else None,
    }


def _by_recording(
    ensemble: Ensemble, groups: NDArray[Any], y: ArrayLike, labels: Integers, right: NDArray[np.bool_]
) -> list[dict[str, Any]]:
    """Rows, accuracy and the most frequent label of each recording, and its class if it has one only."""
    table = pd.DataFrame({"truth": np.asarray(y), "label": ensemble.labels(labels), "right": right})
    return [
        {
            "recording": str(name),
            "class": str(own.truth.iloc[0]) if own.truth.nunique() == 1 else None,
            "rows": len(own),
            "accuracy": float(own.right.mean()),
            "mostly": str(own.label.mode().iloc[0]),
        }
        for name, own in table.groupby(groups, sort=False)
    ]


def _ranking(ensemble: Ensemble, X: ArrayLike, truth: Integers, known: NDArray[np.bool_]) -> dict[str, Any]:
    """Area under the ROC curve: of two classes, else the mean over the classes, each against the rest."""
    present = np.unique(truth[known])
    if len(present) < 2:
        return {"auc": None}
    if len(ensemble.classes) == 2:
        # Chances are bytes, which order rows alike but tell fewer of them apart.
        return {"auc": float(roc_auc_score(truth[known] == 1, ensemble.decisions(X)[known]))}
    scores = ensemble.decisions(X) if ensemble.probabilities is None else ensemble.class_probabilities(X)
    return {"auc": float(np.mean([roc_auc_score(truth[known] == k, scores[known, k]) for k in present]))}


def _probabilities(
    ensemble: Ensemble, X: ArrayLike, truth: Integers, known: NDArray[np.bool_]
) -> dict[str, Any] | None:
    """Log-loss, Brier score and calibration; None if the model has no probabilities, or no label is known."""
    if ensemble.probabilities is None or not known.any():
        return None
    integers = ensemble.class_probabilities(X)[known]
    chances, own = integers / integers.sum(axis=1, keepdims=True), truth[known]
    actual = np.eye(len(ensemble.classes))[own]
    # Two classes: the chance of the second; else that of the predicted one.
    two = len(ensemble.classes) == 2
    told = chances[:, 1] if two else chances.max(axis=1)
    happened = own == 1 if two else own == chances.argmax(axis=1)
    # Rows of the same chance stay together.
    edges = np.unique(np.quantile(told, np.arange(1, BINS) / BINS))
    parts = np.searchsorted(edges, told, side="left")
    calibration = [
        {
            "chance": float(told[parts == part].mean()),
            "happened": float(happened[parts == part].mean()),
            "rows": int((parts == part).sum()),
        }
        for part in np.unique(parts)
    ]
    error = sum(bin_["rows"] * abs(bin_["chance"] - bin_["happened"]) for bin_ in calibration) / len(own)
    return {
        "log_loss": float(log_loss(own, chances, labels=np.arange(len(ensemble.classes)))),
        "brier": float(((chances - actual) ** 2).sum(axis=1).mean()) / (2 if two else 1),
        "calibration": calibration,
        "calibration_error": float(error),
    }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
