"""Larger margins for a feasible network: its first-layer neurons are re-optimised one by one.

With the other neurons and the upper layers fixed, a neuron must keep its sign only on the rows that would otherwise be
misclassified.  On every other row either sign is fine, as long as the sum stays away from zero.  A neuron that no row
needs becomes constant, which has the largest possible margin.  When no neuron improves any more, the upper layers are
solved again, and the process is repeated with the neurons in other orders.

Signs are chosen by linear programs, but integer weights decide: the network is always feasible, and its objective only
grows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.max_margin.nodes import Budget, OutOfBudget
from bemi.engines.decomposition.max_margin.search import distinct_rows
from bemi.engines.decomposition.max_margin.upper import widest_margins
from bemi.engines.decomposition.neuron.linear_program import NeuronBound, NeuronLP, Signs
from bemi.engines.decomposition.neuron.rounding import integer_weights
from bemi.exact import Integers
from bemi.limits import Limits
from bemi.network import Network, sign
from bemi.problem.problem import Problem, better, sum_of_margins

ORDERS = 30
"""The search ends after this many consecutive orders of the neurons without a better network."""

PROPOSALS = 50_000
"""Proposals of the local search for integer weights of each new dichotomy; the final network gets more later."""

_UPPER_SECONDS = 0.5  # for the upper layers, which normally take some hundredths
_EPS = 1e-6


def splits(problem: Problem, network: Network) -> int:
    """Number of different dichotomies in the first layer; opposite ones count once, constants do not count."""
    signs = sign(network.pre_activations(problem.data)[0])
    different = np.unique(signs * signs[:1], axis=1)
    return int((different < 0).any(axis=0).sum())


def widened(problem: Problem, start: Network, *, budget: Budget, limits: Limits) -> Network:
    """A network with at least the sum of margins of ``start``.

    Parameters
    ----------
    problem, start
        Rows for a network with a hidden layer, and a network with margins on them.
    budget
        When to stop; a node is one re-optimised neuron.
    limits
        The seed, and the limits for the solver of the upper layers.
    """
    climb = _Climb(problem, start, budget, limits)
    rng = np.random.default_rng(limits.seed)
    idle = 0
    while idle < ORDERS and not budget.spent:
        idle = 0 if climb.run(rng) else idle + 1
    return climb.best


class _Climb:
    """Climbs from one network; all climbs share the best network found and the integer weights of every dichotomy."""

    def __init__(self, problem: Problem, start: Network, budget: Budget, limits: Limits) -> None:
        self.problem, self.start, self.budget, self.limits = distinct_rows(problem), start, budget, limits
        self.lp = NeuronLP(self.problem.data, problem.weight_bound)
        self.best = start
        self._rounded: dict[bytes, Integers] = {}

    def _better(self, network: Network, other: Network) -> bool:
        values = sum_of_margins(self.problem, network), sum_of_margins(self.problem, other)
        return better(*values, maximised=True)

    def run(self, rng: np.random.Generator) -> bool:
        """Climb from the start, with the neurons in random order; returns whether that gave a new best network."""
        network, before = self.start, self.best
        try:
            climbing = True
            while climbing:
                climbing = False
                for neuron in rng.permutation(self.problem.layers[1]):
                    self.budget.spend()
                    changed = self._chosen_anew(network, int(neuron))
                    if self._better(changed, network):
                        network, climbing = changed, True
                if not climbing:
                    changed = self._solved_above(network)
                    if self._better(changed, network):
                        network, climbing = changed, True
        except OutOfBudget:
            pass
        if self._better(network, self.best):
            self.best = network
        return self.best is not before

    def _chosen_anew(self, network: Network, neuron: int) -> Network:
        """The network with another dichotomy for one neuron, or the same network if none has a larger margin."""
        sums = network.pre_activations(self.problem.data)[0]
        signs = sign(sums)
        needed = self._needed(network, signs, neuron)
        known = np.where(needed, signs[:, neuron], 0).astype(np.int8)
        column = self._dichotomy(known, int(np.abs(sums[:, neuron]).min()) + 1)
        if column is None:
            return network
        first = network.weights[0].copy()
        first[:, neuron] = self.lp.all_inputs(self._integers(column))
        return Network((first, *network.weights[1:]), network.weight_bound)

    def _needed(self, network: Network, signs: Integers, neuron: int) -> NDArray[np.bool_]:
        """Rows that would be misclassified, or get a sum of 0, if the neuron gave them the other sign."""
        turned = signs.copy()
        turned[:, neuron] *= -1
        *hidden, outputs = Network(network.weights[1:], network.weight_bound).pre_activations(turned)
        wrong = (outputs * self.problem.codes < 1).any(axis=1)
        return np.logical_or.reduce([wrong, *((sums == 0).any(axis=1) for sums in hidden)])

    def _dichotomy(self, signs: Signs, need: int) -> Signs | None:
        """Signs for all rows by a dive; None once the linear program allows no margin of ``need``, or time is up.

        The free row closest to zero gets the sign that leaves the larger bound, until the margin holds on all rows.
        """
        signs = signs.copy()
        if not signs.any():
            signs[int(np.argmin(self.lp.norms))] = 1
        found = self.lp.solve(signs, stop=need - 1)
        while found.exact and found.bound >= need and not self.budget.deadline.passed:
            free = np.flatnonzero(signs == 0)
            distance = np.abs(found.sums[free])
            if not free.size or distance.min() >= found.value - _EPS:
                signs[free] = np.where(found.sums[free] >= 0, 1, -1)
                return signs
            row = free[int(np.argmin(distance))]
            options: list[tuple[NeuronBound, int]] = []
            for side in (1, -1):
                signs[row] = side
                options.append((self.lp.solve(signs, start=found, stop=need - 1), side))
            found, signs[row] = max(options, key=lambda option: option[0].bound)
        return None

    def _integers(self, column: Signs) -> Integers:
        """Integer weights for a dichotomy; if none were found, they may not have the signs on all rows."""
        key = column.tobytes()
        if key not in self._rounded:
            relaxed = self.lp.solve(column)
            multipliers = np.zeros(len(column))
            for row, weight in relaxed.multipliers:
                multipliers[row] = weight
            self._rounded[key], _ = integer_weights(
                self.lp.data,
                column.astype(np.int64),
                self.lp.weight_bound,
                relaxed.weights,
                relaxed.value,
                multipliers,
                proposals=PROPOSALS,
                seed=self.limits.seed,
                deadline=self.budget.deadline,
            )
        return self._rounded[key]

    def _solved_above(self, network: Network) -> Network:
        """The network with the widest margins above the first layer."""
        limits = self.limits
        if limits.seconds is not None:
            limits = replace(limits, seconds=min(_UPPER_SECONDS, limits.seconds))
        upper = widest_margins(self.problem, sign(network.pre_activations(self.problem.data)[0]), limits)
        return network if upper is None else Network((network.weights[0], *upper.weights), network.weight_bound)
