"""The other systems behind the scikit-learn interface: one network on all classes, one output per class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from bemi import solvers
from bemi.checks import check_choice, check_finite, check_integer, check_seconds
from bemi.exact import Integers
from bemi.inputs.scaling import InputScaling
from bemi.limits import Limits
from bemi.network import Network, sign
from bemi.problem.problem import Problem, check_hidden_layers, check_weight_bound, one_hot, with_constant
from bemi.stages.result import Outcome, StageResult
from bemi_lab.baselines.starts import fitting_network
from bemi_lab.baselines.systems import CP, SYSTEMS, System


class NoNetwork(RuntimeError):
    """A system found no network in time."""


class BaselineClassifier(ClassifierMixin, BaseEstimator):
    """A network of another paper: integer weights and biases, sign activations, one output per class.

    ``system`` is a name in :data:`bemi_lab.baselines.SYSTEMS`; weights and biases are integers in
    {-weight_bound..weight_bound}.  ``solver`` is the MILP solver; constraint programs go to CP-SAT.  ``time_limit`` is
    in seconds for everything, ``node_limit`` in branch-and-bound nodes per program, conflicts of CP-SAT, or steps of
    gradient descent; None is no limit.

    With ``from_start``, training begins with a network that fits all rows, written down from dichotomies of classes
    (:mod:`bemi_lab.baselines.starts`), and improves it by the system's own objective.  If no such network can be
    written down, the system trains as published, and the report ``"start"`` says why.

    After ``fit``, ``start_`` is that network or None, ``network_`` the trained one, and ``reports_`` has the result of
    every step by name.  The last input is a constant, and the last neuron of every hidden layer has no incoming links,
    so that it gives +1: their outgoing links are the biases.

    Examples
    --------
    >>> from bemi_lab import baselines
    >>> X, y = [[0, 5, 3], [1, 4, 2], [4, 0, 1], [5, 1, 2]], ["cat", "cat", "dog", "dog"]
    >>> clf = baselines.BaselineClassifier("min-hinge", hidden_layers=(2,), time_limit=None)
    """

    def __init__(
        self,
        system: str = "ha",
        *,
        hidden_layers: Any = (16, 16),
        weight_bound: int = 1,
        solver: str = "highs",
        time_limit: float | None = 60.0,
        node_limit: int | None = None,
        random_state: Any = None,
        from_start: bool = False,
    ) -> None:
        self.system = system
        self.hidden_layers = hidden_layers
        self.weight_bound = weight_bound
        self.solver = solver
        self.time_limit = time_limit
        self.node_limit = node_limit
        self.random_state = random_state
        self.from_start = from_start

    def fit(self, X: ArrayLike, y: ArrayLike) -> BaselineClassifier:
        """Train the network; raises :class:`NoNetwork` if the system finds none in time.

        Examples
        --------
        >>> clf.fit(X, y).score(X, y)
        1.0
        """
        self.__dict__.pop("network_", None)
        self.start_: Network | None = None
        system = self._check()
        X, y = validate_data(self, X, y, ensure_all_finite=False)
        check_finite(X, getattr(self, "feature_names_in_", None))
        check_classification_targets(y)
        self.classes_, targets = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("training needs at least two classes; the labels have only one class")
        mode, grid = ("auto", InputScaling.GRID) if system.grid is None else ("common", system.grid)
        self.input_scaling_ = InputScaling.fit(X, mode, grid)
        codes = one_hot(targets, len(self.classes_))
        data = self.input_scaling_(X)
        if system.ignores_constant_inputs:
            # Links from inputs that are always zero are zero.
            data = np.where((data == data[0]).all(axis=0), 0, data)
        problem = Problem(data, codes, tuple(self.hidden_layers), int(self.weight_bound))
        self._unit = system.grid or 1
        seed = int(check_random_state(self.random_state).randint(2**31 - 1)) if self.random_state is not None else 0
        limits = Limits(seconds=self.time_limit, nodes=self.node_limit, seed=seed)
        reports = self._trained(system, problem.with_biases(self._unit), limits)
        self.reports_ = {report.stage: report for report in reports}
        last = reports[-1]
        if last.network is None:
            if last.outcome is Outcome.INFEASIBLE:
                raise NoNetwork(f"{system.title}: {last.message}; remove contradictory rows or add neurons")
            limit = "" if self.time_limit is None else f" in {self.time_limit:g} s"
            raise NoNetwork(f"{system.title}{limit}: {last.message}; give it more time, fewer rows or fewer neurons")
        self.network_ = last.network
        return self

    def _trained(self, system: System, problem: Problem, limits: Limits) -> list[StageResult]:
        """Reports of the system, alone or from a network that is written down first."""
        if not self.from_start:
            return system.train(problem, limits, self.solver)
        clock = limits.deadline()
        start = fitting_network(problem, clock, detection=system.detection, seed=limits.seed)
        self.start_ = start.network
        if start.network is None:
            given = StageResult.unchanged(
                "start", problem, None, clock=clock, outcome=Outcome.NOT_FOUND, message=start.message
            )
            return [given, *system.train(problem, limits.until(clock), self.solver)]
        value = system.value(problem, start.network)
        given = StageResult.of(
            *("start", problem, start.network, value, None),
            clock=clock,
            proof="none",
            outcome=Outcome.LOCAL,
            message=start.message,
        )
        return [given, *system.train(problem, limits.until(clock), self.solver, start)]

    def _check(self) -> System:
        if self.system not in tuple(SYSTEMS):  # of any type, hashable or not
            raise ValueError(f"unknown system {self.system!r}; known: {', '.join(SYSTEMS)}")
        system = SYSTEMS[self.system]
        check_hidden_layers(self.hidden_layers)
        check_weight_bound(self.weight_bound)
        if system.only_bits and self.weight_bound != 1:
            raise ValueError(f"{system.title} has weights in {{-1, 0, 1}}; use weight_bound=1, not {self.weight_bound}")
        check_seconds("time_limit", self.time_limit)
        check_integer("node_limit", self.node_limit, 1, optional=True)
        check_choice("from_start", self.from_start, (False, True))
        if self.from_start and not system.takes_start:
            raise ValueError(f"{system.title} finds its own start; use from_start=False")
        solvers.get(self.solver)
        if system.needs_cp:
            solvers.get(CP)
        return system

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def sums(self, X: ArrayLike) -> Integers:
        """Pre-activations of the outputs, shape (rows, classes).

        Examples
        --------
        >>> clf.sums(X).shape
        (4, 2)
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, ensure_all_finite=False)
        check_finite(X, getattr(self, "feature_names_in_", None))
        return self.network_.pre_activations(with_constant(self.input_scaling_(X), self._unit))[-1]

    def outputs(self, X: ArrayLike) -> Integers:
        """Outputs in {-1, +1}, shape (rows, classes): a row is *all good* if its class has the only +1.

        Examples
        --------
        >>> clf.outputs(X[:1]).tolist()
        [[1, -1]]
        """
        return sign(self.sums(X))

    def predict(self, X: ArrayLike) -> NDArray:
        """The class with the largest sum; ties go to the first.

        Examples
        --------
        >>> clf.predict([[0, 4, 4]]).tolist()
        ['cat']
        """
        sums = self.sums(X)
        return self.classes_[sums.argmax(axis=1)]
