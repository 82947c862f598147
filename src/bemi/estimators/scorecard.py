"""The classifier you can add up by hand: points for a few lines of a table, with a certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from bemi.ensemble.ensemble import Ensemble
from bemi.estimators.few_bit import SoftMarginClassifier
from bemi.estimators.kinds import Kind, cards
from bemi.report.scorecard import Scorecard, why_no_card
from bemi.stages import SOFT_STAGES
from bemi.training.pipeline import Training
from bemi.training.plan import Plan, Settings


class ScorecardClassifier(SoftMarginClassifier):
    """Scorecards: integer points for a few yes-or-no questions about a row, added up by hand.

    One card per pair of classes.  The number of lines is a hard limit, and the certificate says how far any other card
    with as many lines could be from this one's objective.  How many thresholds a column may have and the penalty C are
    chosen by cross-validation of cards, unless they are given; ``choice_`` tells what was chosen and why.
    :meth:`scorecard` shows the card.

    {parameters}

    Attributes
    ----------
    choice_
        What was chosen, why, and what accuracy to expect: a :class:`bemi.training.choice.Choice`; None in a
        classifier read from a file.
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
    AUTOMATIC = ("inputs", "C")

    def __init__(
        self,
        max_lines: int | None = 10,
        *,
        monotone: Mapping[Any, int] | None = None,
        inputs: Any = "auto",
        weight_bound: int = 5,
        C: float | str = "auto",
        hinges: int = 2,
        class_weight: str | Mapping[Any, float] | None = None,
        reject: float | None = None,
        time_limit: float | Sequence[float] | None = 10.0,
        total_time_limit: float | None = None,
        node_limit: int | None = None,
        gap: float | None = None,
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
        self.reject = reject
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

    def _kind(self, X: Any) -> Kind:
        return cards()

    def _revised(self, chosen: Settings, plan: Plan, trainings: Mapping[tuple, Training]) -> Settings | None:
        """Settings without levels that share their points, as long as that saves lines."""
        ensemble = self._uncalibrated(chosen, plan, trainings)
        if why_no_card(ensemble) is not None or not (spare := Scorecard.of(ensemble).spare_lines()):
            return None
        inputs = clone(chosen["inputs"])
        return {**chosen, "inputs": inputs.set_params(without=(*inputs.without, *spare))}

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """The number on the card, for two classes: the total of each row, shape (rows,).

        Positive totals are predicted as ``classes_[1]``, others, zero included, as ``classes_[0]``.  More classes:
        shape (rows, classes); votes, plus terms too small to outweigh a vote.  Without bits of a table there is no
        card, and the values are the network's scores.

        Examples
        --------
        >>> len(clf.decision_function(X[:3]))
        3
        """
        decisions = super().decision_function(X)
        if decisions.ndim > 1 or why_no_card(self.ensemble_) is not None:
            return decisions
        (card,) = self.scorecard().cards
        return (decisions - card.offset) / card.unit
