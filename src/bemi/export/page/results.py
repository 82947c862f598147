"""Performance of an ensemble on test rows, and some of these rows."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.ties import PAPER_RULE
from bemi.exact import Integers
from bemi.inputs.export_hooks import own_piece
from bemi.inputs.inputs import Inputs
from bemi.problem.problem import ABSTAIN
from bemi.report.summary import confusion, evaluation


@dataclass(frozen=True, eq=False)
class TestData:
    """Labelled rows that an ensemble was not trained on.

    Attributes
    ----------
    X, y
        Features and labels.
    about
        Where they come from, in words.
    class_names
        Names of the classes 0, 1, ..., if the labels are these numbers.
    """

    X: Any
    y: NDArray
    about: str = "test rows"
    class_names: Sequence[str] | None = None


def results(ensemble: Ensemble, test: TestData, others: Mapping[str, float], samples: int) -> dict[str, Any]:
    """Accuracy and confusion on all rows, the accuracies of other classifiers, and some of the rows."""
    y = np.asarray(test.y)
    truth = ensemble.class_indices(y)
    votes = ensemble.votes(test.X, truth)
    given = votes.label
    tables = {PAPER_RULE.words: confusion(ensemble, votes, truth)}
    if ensemble.ties != PAPER_RULE:
        tables = {f"ties by {ensemble.ties.name}": confusion(ensemble, votes, truth, by_paper=False), **tables}
    right = (given == truth) & (truth != ABSTAIN)
    return {
        "about": test.about,
        **evaluation(ensemble, test.X, y, votes),
        "confusion": tables,
        "others": dict(others),
        "wrong": int((~right).sum()),
        **_samples(plain_rows(ensemble.inputs, test.X), truth, given, y, _chosen(right, samples)),
    }


def _chosen(right: NDArray[np.bool_], samples: int) -> Integers:
    """Rows to show, misclassified ones first, spread over the data; each kind may use places the other leaves."""
    wrong, fine = np.flatnonzero(~right), np.flatnonzero(right)
    first = min(len(wrong), max(samples - samples // 2, samples - len(fine)))
    parts = [
        rows[np.linspace(0, len(rows) - 1, number).astype(np.int64)] if number else rows[:0]
        for rows, number in ((wrong, first), (fine, min(len(fine), samples - first)))
    ]
    return np.concatenate(parts)


def plain_rows(inputs: Inputs, X: Any) -> NDArray:
    """Rows as the page takes them: numbers, or plain cells if the transform takes raw columns."""
    if inputs.takes_integers:
        return np.asarray(X)
    return np.array(own_piece(inputs.transform, "page_rows", "a page")(X), dtype=object)


def _samples(X: NDArray, truth: Integers, given: Integers, y: NDArray, chosen: Integers) -> dict[str, Any]:
    rows = X[chosen]
    small = rows.dtype.kind in "biuf" and bool(((rows == np.rint(rows)) & (rows >= 0) & (rows <= 255)).all())
    return {
        # Pixels take a byte each; other numbers are written as they are.
        "rowBytes": base64.b64encode(rows.astype(np.uint8).tobytes()).decode() if small else None,
        "rowNumbers": None if small else rows.tolist(),
        "numbers": chosen.tolist(),
        "truth": truth[chosen].tolist(),
        "truthLabels": [str(label) for label in y[chosen].tolist()],
        "given": given[chosen].tolist(),
    }
