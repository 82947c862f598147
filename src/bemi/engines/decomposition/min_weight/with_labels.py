"""Min-Weight if only the labels must stay right (the ablation SM+MW): small separators, passed upwards.

Without margins, a neuron without links is a constant that costs nothing, and a sign passes from layer to layer over a
single link.  So the network is, for each output, the cheapest separator of its two classes of rows
(:mod:`bemi.engines.decomposition.min_weight.separators`) and one link per further layer.  With three codes, one output
can also be derived from the two others' classes: a row is in the middle class if it is in neither of the others.

The bound counts neurons that cannot be constant, and tries out what neurons with few links can tell apart; R53 to R56
in docs/certificates.md define the proof, and ``bemi.certificate.separators`` derives the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.min_weight import separators
from bemi.engines.decomposition.min_weight.separators import MOST_NEURONS, Separator, Task
from bemi.engines.monolithic import approximate_columns
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network, sign
from bemi.problem.problem import Problem
from bemi.stages.result import Outcome

Mask = NDArray[np.bool_]

PROPOSALS_PER_NODE = 20_000
"""Proposals of the walks for each node of a node limit."""

PAIR_WORK, TRIPLE_WORK = 2 * 10**8, 10**6
"""Maximum pairs of inputs times weights for enumerating all pairs, and all triples; each takes at most a second."""

LISTED_WORK = 2 * 10**7
"""Maximum neurons times rows for enumerating neurons with three and more links as part of a proof."""

MOST_LEAST = 5
"""Up to so many links of one neuron the proof counts."""

LARGEST_PAIR_BOUND = 500
"""Largest P for which all pairs of weights are enumerated; the checker has the same limit."""

TINY_COLUMNS, SHORT_NODES = 300, 5
"""Programs up to this size are closed by the solver in no time, so the walks before it get at most these nodes."""

BLIND_SHARE = 0.4
"""Part of a time limit for walks if no neuron of the first network separates: there may be no separator at all."""


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: a network of separators; nothing if no network with all rows right is known.

    The outcome is local if separators did not help and links were only removed one by one.
    """
    clock, start = limits.deadline(), state.given
    assert start is not None
    if approximate_columns(problem) <= TINY_COLUMNS:
        limits = replace(limits, nodes=min(SHORT_NODES, limits.nodes or SHORT_NODES))
    separating = _Search(problem, start, limits, clock)
    network = separating.network()
    outcome, message = Outcome.LIMIT, Outcome.LIMIT.sentence
    if problem.all_right(start) and (network is None or start.links < network.links):
        network = _stripped(problem, start, clock)
        outcome, message = Outcome.LOCAL, "stopped after removing links one by one"
    if network is None:
        return Finding(outcome=Outcome.NOT_FOUND, message="found no network")
    bound = separating.bound()
    proof = {"kind": "small-supports", "support": separating.support}
    return Finding(network, bound=bound, proof=proof, outcome=outcome, message=message)


@dataclass(frozen=True)
class _Plan:
    """Which classes of rows are separated, and how outputs follow: signals and their signs, added up.

    An output without signals is always +; one with the signal None is always -.
    """

    signals: tuple[Mask, ...]
    outputs: tuple[tuple[tuple[int | None, int], ...], ...]


class _Search:
    """The cheapest network made of separators; each task is solved once."""

    def __init__(self, problem: Problem, start: Network, limits: Limits, deadline: Deadline) -> None:
        self.problem, self.start, self.limits, self.deadline = problem, start, limits, deadline
        self.blind_deadline = deadline.share(BLIND_SHARE)
        self.layers = len(problem.layers) - 1
        self.live = problem.live
        self.data = problem.data[:, self.live]
        self.support = 1
        self._small: dict[bytes, tuple[Separator | None, int]] = {}

    def network(self) -> Network | None:
        plans = [_direct(self.problem.codes, self.layers), *_by_exclusion(self.problem.codes, self.layers)]
        best: Network | None = None
        for plan in plans:
            network = self._realised(plan, best)
            if network is not None and not self.problem.all_right(network):
                raise AssertionError("a network of separators does not give the labels")
            if network is not None and (best is None or network.links < best.links):
                best = network
        return best

    def bound(self) -> int:
        """The number of links that every network needs; ``support`` records what was enumerated for it."""
        codes = self.problem.codes
        negative: Mask = np.logical_or.reduce(codes < 0, axis=0)
        if self.layers == 1:
            needed = [self._least(codes[:, j] > 0) if negative[j] else 0 for j in range(codes.shape[1])]
            self.support = max([1, *needed])
            return sum(needed)
        count = len(np.unique(codes, axis=0))
        neurons = (count - 1).bit_length()
        bound = int(negative.sum()) + (self.layers - 1) * neurons
        least = [self._least(plus) for plus in _direct(codes, self.layers).signals]
        if count == 2:
            self.support = least[0]
            return bound + least[0] - 1
        self.support = min(2, max([1, *least]))
        return bound + sum(s > 1 for s in least)

    def _least(self, plus: Mask) -> int:
        """The fewest links of a neuron that separates these rows, or one more than two joined ones have together."""
        return self._smallest(plus)[1]

    def _smallest(self, plus: Mask) -> tuple[Separator | None, int]:
        """A neuron with fewest links, if it has few, and a lower bound as :meth:`_least` returns it.

        Three joined neurons have a link each and are joined by three, as many as one neuron with ``MOST_LEAST`` links
        and one more.
        """
        key = plus.tobytes()
        if key not in self._small:
            task, least = self._task(plus, 1), 1
            found: Separator | None = None
            while least < MOST_LEAST and self._can_be_listed(least):
                found = separators.with_links(task, least)
                if found is not None or (self.layers > 1 and least > 2 and separators.joined(task, least - 1)):
                    break
                least += 1
            self._small[key] = found, least
        return self._small[key]

    def _can_be_listed(self, links: int) -> bool:
        """Whether all neurons with so many links can be tried, by the checker too."""
        neurons = math.comb(len(self.live), links) * (2 * self.problem.weight_bound) ** links
        if links > 2:
            return neurons * len(self.data) <= LISTED_WORK
        return links == 1 or (self.problem.weight_bound <= LARGEST_PAIR_BOUND and neurons <= PAIR_WORK)

    def _pairs_of_links(self) -> int:
        return len(self.live) ** 2 // 2 * (2 * self.problem.weight_bound) ** 2

    def _task(self, plus: Mask, neurons: int) -> Task:
        # Two joined signs can be turned only if a further layer does it.
        may_turn = (self.layers > 1, self.layers > 2)
        return Task(self.data, plus, self.problem.weight_bound, neurons, may_turn)

    def _realised(self, plan: _Plan, best: Network | None) -> Network | None:
        """The cheapest network found for a plan; None if the layers are too narrow, or it cannot beat the best."""
        sizes = self.problem.layers[1:]
        free = len(plan.signals) < min(sizes[:-1], default=len(plan.signals))
        if any(len(plan.signals) > size for size in sizes[:-1]):
            return None
        if not free and any(signal is None for terms in plan.outputs for signal, _ in terms):
            return None
        at_least = sum(self._least(plus) + max(0, self.layers - 2) for plus in plan.signals)
        at_least += sum(map(len, plan.outputs)) if self.layers > 1 else 0
        if best is not None and at_least >= best.links:
            return None
        spare = sizes[0] - len(plan.signals) - any(signal is None for terms in plan.outputs for signal, _ in terms)
        chosen = []
        for index, plus in enumerate(plan.signals):
            neurons = min(MOST_NEURONS, 1 + spare) if self._may_join(plan, index) else 1
            separator = self._separator(plus, neurons)
            if separator is None:
                return None
            spare -= separator.neurons - 1
            chosen.append(separator)
        return self._assembled(plan, chosen)

    def _may_join(self, plan: _Plan, index: int) -> bool:
        """Whether several neurons may make up a signal.

        Without a second hidden layer the outputs themselves join them, so each must be exactly this signal.
        """
        if self.layers != 2:
            return self.layers > 2
        return all(terms == ((index, 1),) for terms in plan.outputs if any(s == index for s, _ in terms))

    def _separator(self, plus: Mask, neurons: int) -> Separator | None:
        found, least = self._smallest(plus)
        if found is not None or not len(self.live):
            return found
        task = self._task(plus, neurons)
        limits = self.limits
        proposals = separators.PROPOSALS if limits.nodes is None else limits.nodes * PROPOSALS_PER_NODE
        known = self._at_start(task)
        deadline = self.blind_deadline if known is None else self.deadline
        # A short walk usually finds three links; enumerating them shows when there are none.
        cost = least + 1
        if known is None or known.cost > cost:
            short = min(proposals, 200_000)
            found = separators.walked(task, None, cost, most=cost, proposals=short, seed=limits.seed, deadline=deadline)
            if found is None and least == 3 and self._pairs_of_links() <= TRIPLE_WORK:
                found = separators.with_links(task, 3, deadline)
            if found is not None:
                return found
        return separators.walked(task, known, cost, proposals=proposals, seed=limits.seed, deadline=deadline)

    def _at_start(self, task: Task) -> Separator | None:
        """The best separating neuron of the start network, without the links that no row needs."""
        signs = sign(self.data @ self.start.weights[0][self.live]) > 0
        found = []
        for j in range(signs.shape[1]):
            for turned in (False, True)[: 1 + task.may_turn[0]]:
                if (signs[:, j] == task.plus ^ turned).all():
                    weights = self.start.weights[0][self.live, j]
                    found.append(separators.stripped(task, weights, turned, self.limits.seed))
        return min(found, key=lambda separator: separator.cost, default=None)

    def _assembled(self, plan: _Plan, chosen: list[Separator]) -> Network:
        """Separators side by side, one neuron per signal in every further layer, then the outputs."""
        weights = [np.zeros(shape, dtype=np.int64) for shape in pairwise(self.problem.layers)]
        if self.layers == 1:
            for output, terms in enumerate(plan.outputs):
                for signal, _ in terms:
                    assert signal is not None
                    weights[0][self.live, output] = chosen[signal].weights[:, 0]
            return Network(tuple(weights), self.problem.weight_bound)
        used = 0
        carriers: list[Integers] = []  # per signal, its weights into the layer that sees it
        for signal, separator in enumerate(chosen):
            neurons = np.arange(used, used + separator.neurons)
            used += separator.neurons
            weights[0][np.ix_(self.live, neurons)] = separator.weights
            turn = -1 if separator.turned else 1
            into = np.zeros(self.problem.layers[1], dtype=np.int64)
            into[neurons] = separator.turns
            for layer in range(1, self.layers - 1):
                weights[layer][:, signal] = into
                into = np.zeros(self.problem.layers[layer + 1], dtype=np.int64)
                into[signal] = 1
            carriers.append(turn * into)
        idle = used if self.layers == 2 else len(chosen)
        for output, terms in enumerate(plan.outputs):
            for index, factor in terms:
                if index is None:
                    weights[-1][idle, output] = -1
                else:
                    weights[-1][:, output] += factor * carriers[index]
        return Network(tuple(weights), self.problem.weight_bound)


def _direct(codes: Integers, layers: int) -> _Plan:
    """Each output by itself; with a hidden layer, outputs that are equal up to a turn share a signal."""
    signals: list[Mask] = []
    outputs: list[tuple[tuple[int | None, int], ...]] = []
    for column in codes.T:
        plus = column > 0
        if plus.all():
            outputs.append(())
        elif layers > 1 and not plus.any():
            outputs.append(((None, -1),))
        else:
            for index, known in enumerate(signals):
                if layers > 1 and ((known == plus).all() or (known != plus).all()):
                    outputs.append(((index, 1 if known[0] == plus[0] else -1),))
                    break
            else:
                outputs.append(((len(signals), 1),))
                signals.append(plus)
    return _Plan(tuple(signals), tuple(outputs))


def _by_exclusion(codes: Integers, layers: int) -> list[_Plan]:
    """Two outputs with three codes: one output from two signals that are each - on one class.

    Then ``-s - s'`` is -2 on the class where both signals are + and 0 on the others: the output is - on that class.
    """
    classes = _classes(codes)
    if layers == 1 or len(classes) != 3 or codes.shape[1] != 2:
        return []
    plans = []
    for output in (0, 1):
        others = [~mask for mask in classes if not np.array_equal(mask, codes[:, output] < 0)]
        other = codes[:, 1 - output] > 0
        mine = [k for k, signal in enumerate(others) if (signal == other).all() or (signal != other).all()]
        if len(others) != 2 or len(mine) != 1:
            continue
        kept: tuple[tuple[int | None, int], ...] = ((mine[0], 1 if others[mine[0]][0] == other[0] else -1),)
        derived: tuple[tuple[int | None, int], ...] = ((0, -1), (1, -1))
        plans.append(_Plan(tuple(others), (derived, kept) if output == 0 else (kept, derived)))
    return plans


def _classes(codes: Integers) -> list[Mask]:
    return [(codes == code).all(axis=1) for code in np.unique(codes, axis=0)]


def _stripped(problem: Problem, network: Network, deadline: Deadline) -> Network:
    """The network without the links that no row needs, last layer first."""
    weights = [w.copy() for w in network.weights]
    for layer in reversed(range(len(weights))):
        for i, j in np.argwhere(weights[layer]):
            if deadline.passed:
                return Network(tuple(weights), network.weight_bound)
            kept, weights[layer][i, j] = weights[layer][i, j], 0
            if not problem.all_right(Network(tuple(weights), network.weight_bound)):
                weights[layer][i, j] = kept
    return Network(tuple(weights), network.weight_bound)
