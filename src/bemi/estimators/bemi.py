"""The paper's classifier: networks with hidden layers, trained by three programs in lexicographic order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bemi.estimators.base import Classifier
from bemi.stages import PAPER_STAGES
from bemi.training.plan import Task
from bemi.training.training_set import Given


class BeMiClassifier(Classifier):
    """Ensemble of few-bit networks with hidden layers, trained for the objectives of the paper, one after the other.

    Each network solves three mixed-integer programs in order: Sat-Margin, most training rows confidently right;
    Max-Margin, the largest margins; Min-Weight, the fewest links.  There is one network for every set of
    ``subset_size`` classes, and the label is decided by majority vote.

    {parameters}

    Attributes
    ----------
    ensemble_
        The fitted model; see :class:`bemi.estimators.base.Classifier` for all fitted attributes.
    networks_, reports_
        ``{tuple of classes: Network}`` and ``{tuple of classes: {stage: StageResult}}``.

    Examples
    --------
    >>> from bemi import BeMiClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BeMiClassifier(hidden_layers=()).fit(X[::5], y[::5])
    >>> clf.predict(X[:2])
    array([0, 0])
    >>> list(clf.reports_[0, 1])
    ['sm', 'mm', 'mw']
    """

    NAME = "bemi"
    PROBABILISTIC = False

    def __init__(
        self,
        hidden_layers: Sequence[int] = (4, 4),
        weight_bound: int = 1,
        stages: Sequence[str] = PAPER_STAGES,
        *,
        inputs: Any = None,
        input_scaling: str | None = "auto",
        copies: Any = None,
        subset_size: int = 2,
        subsets: int | Sequence[Sequence] | None = None,
        max_per_class: int | None = None,
        ties: str = "margin",
        engine: str = "decomposition",
        solver: str = "highs",
        time_limit: float | Sequence[float] | None = 10.0,
        total_time_limit: float | None = None,
        node_limit: int | None = None,
        gap: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        run_dir: str | Path | None = None,
    ) -> None:
        self.hidden_layers = hidden_layers
        self.weight_bound = weight_bound
        self.stages = stages
        self.inputs = inputs
        self.input_scaling = input_scaling
        self.copies = copies
        self.subset_size = subset_size
        self.subsets = subsets
        self.max_per_class = max_per_class
        self.ties = ties
        self.engine = engine
        self.solver = solver
        self.time_limit = time_limit
        self.total_time_limit = total_time_limit
        self.node_limit = node_limit
        self.gap = gap
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.run_dir = run_dir

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Train one network per set of classes.

        Parameters
        ----------
        X
            Features, shape (rows, features).
        y
            Labels: numbers or strings.

        Examples
        --------
        >>> clf.fit(X[::5], y[::5]).classes_
        array([0, 1, 2])
        """
        return self._fit(Given(X, y))

    def fit_shard(self, X: ArrayLike, y: ArrayLike, shard: int, shards: int) -> int:
        """Train one of several equal parts of the networks into ``run_dir``, and return how many had to be trained.

        For machines that share only a folder: once all parts are done, :meth:`fit` finds every network there.  The
        classifier itself does not change.

        Parameters
        ----------
        X, y
            As in :meth:`fit`, the same for all parts.
        shard, shards
            Which part, counted from 1, and the number of parts.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> from sklearn.base import clone
        >>> clone(clf).set_params(run_dir=mkdtemp()).fit_shard(X[::10], y[::10], 1, 3)
        1
        """
        return self._fit_shard(Given(X, y), shard, shards)

    def training_tasks(self, X: ArrayLike, y: ArrayLike) -> dict[tuple, Task]:
        """What :meth:`fit` would train on these data, by class subset; nothing is trained or changed.

        If the tasks run elsewhere and write to the journal of ``run_dir``, ``fit`` has nothing left to train.

        Examples
        --------
        >>> list(clf.training_tasks(X[::10], y[::10]))
        [(0, 1), (0, 2), (1, 2)]
        """
        return self._training_tasks(Given(X, y))
