"""The classifier you can add up by hand: points for a few lines of a table, with a certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bemi.ensemble.ensemble import Ensemble
from bemi.estimators.few_bit import USUAL_PENALTY, SoftMarginClassifier
from bemi.inputs.table import TableBits
from bemi.stages import SOFT_STAGES
from bemi.training.plan import Settings


class ScorecardClassifier(SoftMarginClassifier):
    """Scorecards: integer points for a few yes-or-no questions about a row, added up by hand.

    One card per pair of classes.  The number of lines is a hard limit, and the certificate says how far any other card
    with as many lines could be from this one's objective.  :meth:`scorecard` shows the card.

    {parameters}

    Attributes
    ----------
    ensemble_
        The fitted model; see :class:`bemi.estimators.base.Classifier` for all fitted attributes.

    Examples
    --------
    >>> from bemi import ScorecardClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = ScorecardClassifier(max_lines=3).fit(X[::5], y[::5])
    >>> clf.predict(X[:2])
    array([0, 0])
    >>> len(clf.scorecard().cards[0].lines) <= 3
    True
    """

    NAME = "scorecard"
    AUTOMATIC = ("inputs",)

    def __init__(
        self,
        max_lines: int | None = 10,
        *,
        monotone: Mapping[Any, int] | None = None,
        inputs: Any = "auto",
        weight_bound: int = 5,
        C: float = USUAL_PENALTY,
        hinges: int = 2,
        class_weight: str | Mapping[Any, float] | None = None,
        time_limit: float | Sequence[float] | None = 10.0,
        total_time_limit: float | None = None,
        node_limit: int | None = None,
        gap: float = 0.01,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        run_dir: str | Path | None = None,
    ) -> None:
        self.max_lines = max_lines
        self.monotone = monotone
        self.inputs = inputs
        self.weight_bound = weight_bound
        self.C = C
        self.hinges = hinges
        self.class_weight = class_weight
        self.time_limit = time_limit
        self.total_time_limit = total_time_limit
        self.node_limit = node_limit
        self.gap = gap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.run_dir = run_dir

    def _translated(self, given: dict[str, Any]) -> dict[str, Any]:
        return given | {"stages": SOFT_STAGES, "max_links": given["max_lines"], "probabilities": True}

    @classmethod
    def _parameters_of(cls, ensemble: Ensemble) -> dict[str, Any]:
        return super()._parameters_of(ensemble) | {"max_lines": ensemble.training.settings["max_links"]}

    def _resolved(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, groups: ArrayLike | None
    ) -> Settings:
        given = self._translated(self._settings())
        return {**given, "inputs": TableBits()} if isinstance(given["inputs"], str) else given
