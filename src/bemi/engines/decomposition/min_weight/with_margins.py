"""Min-Weight by decomposition: each first-layer neuron separately, and a bound that holds over all sign patterns.

For given first-layer signs, each neuron is reduced separately and the upper layers are a tiny program
(:mod:`bemi.engines.decomposition.min_weight.reduction`).  The bound holds for every network that has the margins, with
whatever signs (:mod:`bemi.engines.decomposition.min_weight.pattern_tree`).  Where it ends with a pattern that is
cheaper than the network's, that pattern is tried.  Search and bound take turns, with more effort each time.
"""

from __future__ import annotations

import math

from bemi.engines.decomposition.min_weight.pattern_tree import PatternTree
from bemi.engines.decomposition.min_weight.reduction import Reduction
from bemi.engines.portfolio import Finding, StageState
from bemi.limits import Deadline, Limits
from bemi.problem.invariants import KeepMargins
from bemi.problem.problem import Problem
from bemi.stages.result import Outcome

NODES = 200
"""Programs for links in the first turn."""

TURNS = 3
"""Turns if there is no limit."""

LEAST_PROGRESS = 0.1
"""Part of what is missing that a turn must contribute, or else it was idle."""

CLOSE = 10.0
"""Once the gap is at most this many times the requested one, no more turns are taken: the next percent takes several
times as long as all before it.  Whoever wants that asks for a smaller gap."""

WIDE_GAP = 0.1
"""Gap up to which one idle turn is enough to give up; otherwise three."""

LINKS_SHARE = 0.6
"""Part of a time limit that the first search for fewer links may use; the rest is for the bound."""

BOUND_SHARE, SEARCH_SHARE = 0.5, 0.3
"""Parts of the time that is left for each turn of the bound, and for each later search."""


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
    while True:
        missing = reduction.links - tree.bound
        if enough() > tree.bound and missing <= CLOSE * limits.gap * reduction.links:
            return f"stopped within {CLOSE:g} times the requested gap; a smaller gap makes it go on"
        before = (reduction.links, tree.bound)
        tree.extend(enough(), int(min(nodes, max(1, stop - tree.used))), clock.share(BOUND_SHARE))
        weakest = tree.weakest
        if weakest is not None and tree.bound < enough():
            reduction.try_patterns(weakest, clock)
        if tree.bound >= enough():
            return ""
        if clock.passed or tree.used >= stop:
            return Outcome.LIMIT.sentence
        turn += 1
        if limits.nodes is None and limits.seconds is None and turn >= TURNS:
            return Outcome.LIMIT.sentence
        idle = idle + 1 if _stalled(before, (reduction.links, tree.bound), enough()) else 0
        patient = reduction.links - tree.bound > WIDE_GAP * reduction.links
        if limits.seconds is not None and idle >= (3 if patient else 1):
            return "stopped because the links and their bound hardly improved any more"
        if tree.bound > before[1]:
            nodes *= 2
        reduction.reduce(clock.share(SEARCH_SHARE), effort=3**turn)


def _stalled(before: tuple[int, int], now: tuple[int, int], enough: int) -> bool:
    """Whether a turn brought links and bound closer by less than a part of what is missing."""
    closer = (before[0] - before[1]) - (now[0] - now[1])
    return closer < max(1.0, LEAST_PROGRESS * (enough - now[1]))
