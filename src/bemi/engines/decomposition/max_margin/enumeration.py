"""Max-Margin with few inputs: list every first-layer neuron there is, then try their combinations.

With (2 P + 1)^n_0 small, all weight vectors of a neuron fit into an array.  Those without a sum of 0 give a few
dichotomies of the rows, each with a largest margin.  A first layer is a choice of n_1 of them, with repeats and up to
flips, since a flipped neuron with flipped outgoing weights changes nothing.  Choices are tried in the order of their
margins; a choice is skipped if its margins and the most that the layers above can add do not beat the best network, or
if it cannot give the codes:

- rows with different codes must be separated by some neuron, and
- rows with equal codes must not be separated by all neurons, since without biases and sums of 0 opposite signs in one
  layer are opposite signs in the next.

What is left goes to the solver of the layers above.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bemi.engines import monolithic
from bemi.engines.decomposition.max_margin.search import distinct_rows
from bemi.engines.decomposition.max_margin.upper import upper_problem
from bemi.engines.portfolio import Finding, StageState
from bemi.engines.start import initial_network
from bemi.exact import Integers, exact_product
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import Problem, better, sum_of_margins
from bemi.stages.result import Outcome, StageResult

MOST_SUMS = 1 << 22
"""Weight vectors times rows that are computed at most."""

MOST_CHOICES = 200_000
"""Choices of a first layer that are looked at at most: seconds."""


def applies(problem: Problem, state: StageState) -> bool:
    """Whether all neurons of the first layer fit into an array."""
    neurons = (2 * problem.weight_bound + 1) ** len(problem.live)
    return bool(problem.hidden_layers) and neurons * len(problem.data) <= MOST_SUMS


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: the best choice of neurons; nothing if there are too many choices.

    The bound relies on the solver of the layers above, so it is not certified.
    """
    choices = _Choices(problem, limits, limits.deadline())
    if choices.count > MOST_CHOICES:
        return Finding()
    if state.network is not None:
        choices.offer(state.network, state.value)
    choices.run()
    if choices.value is None:
        return Finding(outcome=Outcome.INFEASIBLE if choices.open is None else Outcome.NOT_FOUND)
    bound = max(choices.value, choices.open or 0)
    return Finding(choices.network, bound=bound, support="solver", outcome=Outcome.LIMIT)


@dataclass(frozen=True, eq=False)
class Dichotomies:
    """All dichotomies that some neuron gives without a sum of 0, up to flips, the largest margins first.

    Attributes
    ----------
    signs
        One column per dichotomy, + on the first row.
    margins, weights
        The largest margin of each, and a column of weights that has it.
    """

    signs: Integers
    margins: Integers
    weights: Integers

    @classmethod
    def of(cls, data: Integers, weight_bound: int) -> Dichotomies:
        """List them by trying every weight vector."""
        live = np.flatnonzero((data != 0).any(axis=0))
        sizes = (2 * weight_bound + 1,) * len(live)
        vectors = np.indices(sizes).reshape(len(live), math.prod(sizes)) - weight_bound
        sums = exact_product(data[:, live], vectors)
        usable = (sums[0] > 0) & (sums != 0).all(axis=0)  # the others are flips of these
        sums, vectors = sums[:, usable], vectors[:, usable]
        margins = np.abs(sums).min(axis=0)
        order = np.argsort(-margins, kind="stable")
        signs, first = np.unique(np.sign(sums[:, order]), axis=1, return_index=True)
        best = order[first]
        ranked = np.argsort(-margins[best], kind="stable")
        weights = np.zeros((data.shape[1], len(best)), dtype=np.int64)
        weights[live] = vectors[:, best]
        return cls(signs[:, ranked], margins[best][ranked], weights[:, ranked])


class _Choices:
    """The search over choices of n_1 dichotomies.

    Attributes
    ----------
    network, value
        The best network and its sum of margins, if there is one.
    open
        What networks of the choices that were not solved may reach; None if there are none.
    """

    def __init__(self, problem: Problem, limits: Limits, deadline: Deadline) -> None:
        self.problem, self.limits, self.deadline = distinct_rows(problem), limits, deadline
        self.listed = Dichotomies.of(self.problem.data, problem.weight_bound)
        self.size = problem.layers[1]
        caps = problem.margin_caps()
        self.above = sum(n * cap for n, cap in zip(problem.layers[2:], caps[1:], strict=True))
        self.network: Network | None = None
        self.value: int | None = None
        self.open: int | None = None
        self._known: dict[bytes, StageResult] = {}
        codes = self.problem.codes
        pairs = np.array(np.triu_indices(len(codes), 1))
        self._equal = (codes[pairs[0]] == codes[pairs[1]]).all(axis=1)
        # By pair of rows and dichotomy: whether it separates them.
        self._separates: NDArray[np.bool_] = self.listed.signs[pairs[0]] != self.listed.signs[pairs[1]]

    @property
    def count(self) -> int:
        """Number of choices."""
        return math.comb(len(self.listed.margins) + self.size - 1, self.size)

    def offer(self, network: Network, value: int | None) -> None:
        """A network to beat."""
        if better(value, self.value, maximised=True):
            self.network, self.value = network, value

    def run(self) -> None:
        """Solve all choices that may be better than the best network."""
        for chosen, bound in self._choices((), 0):
            if self._can_give_codes(chosen) and not self._solved(chosen):
                self.open = max(bound, self.open or 0)
            if self.deadline.passed:
                # Margins fall along the list, so no choice beats n_1 times the first.
                self.open = self.size * int(self.listed.margins[0]) + self.above
                return

    def _choices(self, chosen: tuple[int, ...], margins: int) -> Iterator[tuple[tuple[int, ...], int]]:
        """Choices in ascending order of dichotomies that may beat the best network, and bounds on their objectives."""
        left = self.size - len(chosen)
        if not left:
            yield chosen, margins + self.above
            return
        for d in range(chosen[-1] if chosen else 0, len(self.listed.margins)):
            margin = int(self.listed.margins[d])
            if self.value is not None and margins + left * margin + self.above <= self.value:
                return
            yield from self._choices((*chosen, d), margins + margin)

    def _can_give_codes(self, chosen: tuple[int, ...]) -> bool:
        separating = self._separates[:, list(chosen)].sum(axis=1)
        return not (separating[~self._equal] == 0).any() and not (separating[self._equal] == self.size).any()

    def _solved(self, chosen: tuple[int, ...]) -> bool:
        """Solve the layers above a choice, once for all choices with the same signs; returns whether that is exact."""
        signs = self.listed.signs[:, list(chosen)]
        upper = upper_problem(self.problem, signs)
        key = np.concatenate([upper.data, upper.codes], axis=1).tobytes()
        if key not in self._known:
            limits = replace(self.limits, gap=0.0).until(self.deadline)
            self._known[key] = monolithic.max_margin(upper, start=initial_network(upper), limits=limits)
        found = self._known[key]
        if found.ran:
            assert found.network is not None
            first = self.listed.weights[:, list(chosen)]
            network = Network((first, *found.network.weights), self.problem.weight_bound)
            self.offer(network, sum_of_margins(self.problem, network))
        return found.outcome in (Outcome.OPTIMAL, Outcome.INFEASIBLE)
