"""Min-Weight by decomposition: each first-layer neuron separately, and a bound that holds over all sign patterns.

For given first-layer signs, each neuron is reduced separately and the upper layers are a tiny program.  The bound holds
for every network that has the margins, with whatever signs
(:mod:`bemi.engines.decomposition.min_weight.pattern_tree`).  Where it ends with a pattern that is cheaper than the
network's, that pattern is tried.  Search and bound take turns, with more effort each time.

For given signs a neuron's links do not depend on the other neurons.  So weights are kept by sign pattern and required
margin, and a network consists of the best weights known for its patterns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bemi.engines import monolithic
from bemi.engines.decomposition.max_margin.upper import fewest_links, upper_problem
from bemi.engines.decomposition.min_weight.pattern_tree import Node, PatternTree
from bemi.engines.decomposition.min_weight.relations import links_needed
from bemi.engines.decomposition.neuron.few_links import LEAST_PROPOSALS, PROPOSALS_PER_WEIGHT, LinksBound, LinkSearch
from bemi.engines.decomposition.neuron.rounding import integer_weights
from bemi.engines.portfolio import Finding, StageState
from bemi.engines.start import initial_network
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network, sign
from bemi.problem.problem import KeepMargins, Problem
from bemi.stages.result import Outcome

NODES = 200
"""Programs for links in the first turn."""

TURNS = 3
"""Turns if there is no limit."""

LEAST_PROGRESS = 0.1
"""Part of what is missing that a turn must contribute, or else it was idle."""

WIDE_GAP = 0.1
"""Gap up to which two idle turns are enough to give up, otherwise three; beyond it more time is the bound's."""

LINKS_SHARE = 0.6
"""Part of a time limit that the first search for fewer links may use; the rest is for the bound."""

BOUND_SHARE, WIDE_SHARE, SEARCH_SHARE = 0.5, 0.8, 0.3
"""Parts of the time that is left for each turn of the bound, with a wide gap, and for each later search."""


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: fewer links for the best network, and a bound, in turn.

    Without limits the work is bounded by constants and independent of the clock.
    """
    start, keep = state.network, state.keep
    assert isinstance(keep, KeepMargins)
    if start is None:
        return Finding(outcome=Outcome.NO_START)
    clock = limits.deadline()
    tree = PatternTree(problem, list(keep.margins))
    reduction = Reduction(problem, start, keep, tree, limits)
    reduction.use_cheaper_patterns()
    reduction.reduce(clock.share(LINKS_SHARE))
    if reduction.links > start.links:
        reduction.network = start
    message = _take_turns(reduction, tree, limits, clock)
    proof = tree.proof()
    outcome = Outcome.LIMIT if message == Outcome.LIMIT.sentence else Outcome.LOCAL
    bound = min(reduction.links, proof["bound"])
    return Finding(reduction.network, bound=bound, proof=proof, outcome=outcome, message=message)


def _take_turns(reduction: Reduction, tree: PatternTree, limits: Limits, clock: Deadline) -> str:
    """Improve bound and links in turn until they are close enough; returns what stopped it otherwise."""

    def enough() -> int:
        return math.ceil(reduction.links - limits.gap * max(1, reduction.links))

    nodes = NODES if limits.nodes is None else limits.nodes
    stop = math.inf if limits.nodes is None else tree.used + limits.nodes
    tree.begin(reduction.links, enough(), nodes, clock)
    turn = idle = 0
    while tree.bound < enough():
        before = (reduction.links, tree.bound)
        wide = reduction.links - tree.bound > WIDE_GAP * reduction.links
        share = clock.share(WIDE_SHARE if wide else BOUND_SHARE)
        tree.extend(enough(), int(min(nodes, max(1, stop - tree.used))), share)
        weakest = tree.weakest
        if weakest is not None and tree.bound < enough():
            reduction.try_patterns(weakest, clock)
        if tree.bound >= enough():
            break
        if clock.passed or tree.used >= stop:
            return Outcome.LIMIT.sentence
        turn += 1
        if limits.nodes is None and limits.seconds is None and turn >= TURNS:
            return Outcome.LIMIT.sentence
        idle = idle + 1 if _stalled(before, (reduction.links, tree.bound), enough()) else 0
        patient = reduction.links - tree.bound > WIDE_GAP * reduction.links
        if limits.seconds is not None and idle >= (3 if patient else 2):
            return "stopped because the links and their bound hardly improved any more"
        if tree.bound > before[1]:
            nodes *= 2
        reduction.reduce(clock.share(SEARCH_SHARE), effort=3**turn)
    return ""


def _stalled(before: tuple[int, int], now: tuple[int, int], enough: int) -> bool:
    """Whether a turn brought links and bound closer by less than a part of what is missing."""
    closer = (before[0] - before[1]) - (now[0] - now[1])
    return closer < max(1.0, LEAST_PROGRESS * (enough - now[1]))


PROPOSALS_PER_NODE = 20_000
"""How a node limit translates into the local search's proposals."""

UPPER_NODES = 1000
"""Nodes of the upper layers' program if there is no limit."""


@dataclass
class _Pattern:
    """One neuron: its signs, of which the first is +, and the fewest links known for them."""

    signs: Integers
    margin: int
    relaxed: LinksBound | None
    weights: Integers | None = None
    search: LinkSearch | None = None

    def offer(self, data: Integers, weights: Integers) -> None:
        """Take weights that keep the margin if they have fewer links."""
        if self.weights is not None and np.count_nonzero(weights) >= np.count_nonzero(self.weights):
            return
        if (self.signs * (data @ weights)).min() >= self.margin:
            self.weights = weights
            if self.search is not None:
                self.search.offer(weights)


class Reduction:
    """The network with the fewest links so far.

    Parameters
    ----------
    problem, start, keep
        The rows of T-hat, a network that has the margins, and these margins.
    tree
        The bound's tree, for its linear programs.
    limits
        Node limit and seed.
    """

    def __init__(self, problem: Problem, start: Network, keep: KeepMargins, tree: PatternTree, limits: Limits) -> None:
        self._problem, self._keep, self._tree, self._limits = problem, keep, tree, limits
        self._margins = list(keep.margins)
        self._patterns: dict[tuple[bytes, int], _Pattern] = {}
        self._tried: set[bytes] = set()
        self.network = start

    @property
    def links(self) -> int:
        return self.network.links

    # -- one neuron ----------------------------------------------------------------------------------------------------

    def _pattern(self, signs: Integers, margin: int) -> _Pattern:
        signs = np.ascontiguousarray(signs * signs[0])
        key = (signs.tobytes(), margin)
        if key not in self._patterns:
            relaxed = self._tree.relaxation(signs.astype(np.int8), margin)
            self._patterns[key] = _Pattern(signs, margin, relaxed)
        return self._patterns[key]

    def _search(self, pattern: _Pattern, effort: int, deadline: Deadline) -> None:
        """Look for fewer links, with so many times the usual effort."""
        limits, relaxed = self._limits, pattern.relaxed
        if pattern.weights is None or relaxed is None:
            return
        if limits.nodes is None:
            proposals = max(LEAST_PROPOSALS, len(pattern.weights) * PROPOSALS_PER_WEIGHT)
        else:
            proposals = limits.nodes * PROPOSALS_PER_NODE
        if pattern.search is None:
            pattern.search = LinkSearch(
                *(self._tree.data, pattern.signs, self._tree.weight_bound, pattern.margin, relaxed, pattern.weights),
                seed=limits.seed,
                relax=partial(self._tree.links.solve, pattern.signs.astype(np.int8)),
            )
        pattern.search.extend(effort * proposals, relaxed.bound, deadline)
        pattern.offer(self._tree.data, pattern.search.weights)

    # -- the network ---------------------------------------------------------------------------------------------------

    def _columns(self) -> list[tuple[int, _Pattern]]:
        """The neurons with margins, and their patterns; large margins first: they have the most links to lose."""
        data, live, hidden = self._tree.data, self._tree.lp.live, bool(self._problem.hidden_layers)
        first = self.network.weights[0][live]
        sums = data @ first
        found = []
        for j in np.argsort(-self._margins[0], kind="stable").tolist():
            margin = int(self._margins[0][j])
            signs = sign(sums[:, j]) if hidden else self._tree.codes[:, j]
            if hidden:
                margin = max(1, margin)  # the sign must stay
            if margin < 1 or (signs * sums[:, j]).min() < margin:
                continue
            pattern = self._pattern(signs, margin)
            pattern.offer(data, first[:, j] * signs[0])
            found.append((j, pattern))
        return found

    def reduce(self, deadline: Deadline, effort: int = 1) -> None:
        """Fewer links in every neuron with the present signs, then in the layers above."""
        live = self._tree.lp.live
        first = np.zeros_like(self.network.weights[0])  # inputs that are zero in every row do not matter
        first[live] = self.network.weights[0][live]
        if not self._problem.hidden_layers:
            first[:, self._margins[0] <= 0] = 0
        done: list[_Pattern] = []
        for j, pattern in self._columns():
            if not any(pattern is other for other in done) and not deadline.passed:
                self._search(pattern, effort, deadline)
                done.append(pattern)
            if pattern.weights is not None and np.count_nonzero(pattern.weights) < np.count_nonzero(first[:, j]):
                turn = sign(self._tree.data[0] @ first[live, j])
                first[live, j] = turn * pattern.weights
        self._offer(
            self._with_fewer_above(Network((first, *self.network.weights[1:]), self.network.weight_bound), deadline)
        )

    def _offer(self, network: Network) -> bool:
        if network.links < self.network.links and self._keep.holds(self._problem, network):
            self.network = network
            return True
        return False

    def _with_fewer_above(self, network: Network, deadline: Deadline) -> Network:
        problem, above = self._problem, self._margins[1:]
        # The program assumes a margin in every layer.
        if not problem.hidden_layers or not all((m >= 1).all() for m in above):
            return network
        needed = sum(links_needed(m, problem.weight_bound) for layer in above for m in layer)
        if sum(np.count_nonzero(w) for w in network.weights[1:]) <= needed:
            return network
        upper = fewest_links(problem, network, above, self._upper_limits(deadline))
        return Network((network.weights[0], *upper.weights), problem.weight_bound)

    def _upper_limits(self, deadline: Deadline) -> Limits:
        nodes = UPPER_NODES if self._limits.nodes is None else self._limits.nodes
        return replace(self._limits, nodes=nodes).until(deadline.at_least(0.05))

    # -- other signs ---------------------------------------------------------------------------------------------------

    def use_cheaper_patterns(self) -> None:
        """Use other signs in first-layer neurons if all margins hold and the number of links may fall.

        The signs come from the other neurons, and from the neuron that is constant if the data are not negative.
        """
        network, tree = self.network, self._tree
        if not self._problem.hidden_layers:
            return
        columns = np.concatenate([network.weights[0], np.full((network.layers[0], 1), network.weight_bound)], axis=1)
        sums = self._problem.data[tree.index] @ columns
        signs = sign(sums) * sign(sums[:1])
        _, distinct = np.unique(signs, axis=1, return_index=True)
        for j, margin in enumerate(self._margins[0].tolist()):
            options = [network]
            patterns = [j]
            for q in sorted(distinct.tolist()):
                if (signs[:, q] == signs[:, j]).all() or np.abs(sums[:, q]).min() < max(1, margin):
                    continue
                for s in (1, -1):
                    first = network.weights[0].copy()
                    first[:, j] = s * columns[:, q]
                    candidate = Network((first, *network.weights[1:]), network.weight_bound)
                    if self._keep.holds(self._problem, candidate):
                        options.append(candidate)
                        patterns.append(q)
                        break
            if len(options) > 1 and margin >= 1:
                relaxed = [tree.relaxation(signs[:, q].astype(np.int8), margin) for q in patterns]
                costs = [math.inf if r is None else r.bound for r in relaxed]
                best = costs.index(min(costs))
                network = options[best]
                signs[:, j], sums[:, j] = signs[:, patterns[best]], sums[:, patterns[best]]
        self.network = network

    def try_patterns(self, node: Node, deadline: Deadline) -> bool:
        """Build a network with the signs of a final node of the tree; whether it has fewer links."""
        tree, problem = self._tree, self._problem
        above = self._margins[1:]
        if not problem.hidden_layers or not all((m >= 1).all() for m in self._margins):
            return False
        signs = np.stack(list(tree.patterns(node)), axis=1)
        solutions = [tree.solution(node, j) for j in range(len(self._margins[0]))]
        name = signs.tobytes() + bytes(solution is not None for solution in solutions)
        if name in self._tried:
            return False
        self._tried.add(name)
        columns = np.zeros((len(tree.lp.live), len(self._margins[0])), dtype=np.int64)
        for j, margin in enumerate(self._margins[0].tolist()):
            pattern = self._pattern(signs[:, j], margin)
            solution = solutions[j]
            if solution is not None:
                pattern.offer(tree.data, solution * int(sign(tree.data[0] @ solution)))
            if pattern.weights is None:
                self._find_weights(pattern, deadline)
                self._search(pattern, 1, deadline)
            if pattern.weights is None:
                return False
            columns[:, j] = pattern.weights
        first = np.zeros_like(self.network.weights[0])
        first[tree.lp.live] = columns
        upper = upper_problem(problem, sign(problem.data @ first))
        report = monolithic.min_weight(
            upper,
            start=initial_network(upper),
            keep=KeepMargins(tuple(above)),
            limits=replace(self._upper_limits(deadline), gap=0.0),
        )
        if not report.ran or report.network is None:
            return False
        return self._offer(Network((first, *report.network.weights), problem.weight_bound))

    def _find_weights(self, pattern: _Pattern, deadline: Deadline) -> None:
        """Integer weights with the margin, if they are found."""
        tree = self._tree
        known = tree.lp.solve(pattern.signs.astype(np.int8))
        prices = np.zeros(len(tree.data))
        for k, v in known.multipliers:
            prices[k] = v
        weights, _ = integer_weights(
            tree.data,
            pattern.signs,
            tree.weight_bound,
            known.weights,
            known.value,
            prices / max(1.0, prices.sum()),
            seed=self._limits.seed,
            deadline=deadline,
            enough=pattern.margin,
        )
        pattern.offer(tree.data, weights)
