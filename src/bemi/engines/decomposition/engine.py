"""Runs the stages by decomposition: which strategies each has, in which order, and how they share its time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from bemi.engines import monolithic, portfolio
from bemi.engines.decomposition import two_neurons
from bemi.engines.decomposition.lists import max_margin as listed_margins
from bemi.engines.decomposition.lists import min_weight as listed_links
from bemi.engines.decomposition.lists import sat_margin as listed_rows
from bemi.engines.decomposition.max_margin import restarts
from bemi.engines.decomposition.max_margin import search as dichotomies
from bemi.engines.decomposition.min_weight import enumeration as smallest_neurons
from bemi.engines.decomposition.min_weight import with_labels, with_margins
from bemi.engines.decomposition.sat_margin import alternation, annealing, patterns, prices
from bemi.engines.decomposition.soft import links as soft_links
from bemi.engines.decomposition.soft import margins as soft_margins
from bemi.engines.monolithic import approximate_columns
from bemi.engines.portfolio import Finding, StageState, Strategy, always
from bemi.limits import Limits
from bemi.network import Network
from bemi.problem.problem import KEEP_LABELS, Keep, KeepLabels, KeepMargins, KeepObjective, Problem
from bemi.stages.result import Outcome, StageResult

SMALL_COLUMNS = 300
"""Programs up to this size are left to the solver, however little time is left."""

COLUMNS_PER_ROOT_SECOND = 100
"""With t seconds left, programs of Max-Margin and Min-Weight may have this many more columns for each of sqrt(t): a
solver's work grows much faster than its program."""

MEDIUM_COLUMNS, LARGE_COLUMNS = 1000, 3000
"""Beyond the first size a solver hardly improves on a local search of Sat-Margin; up to the second it is worth a try
where there is no bound by prices, or where links were only removed one by one."""

SOFT_COLUMNS = 100
"""The same for soft margins: their gap is small already, and a solver's claim is not a certificate."""


def run(
    stage: str,
    problem: Problem,
    *,
    start: Network,
    keep: Keep = KEEP_LABELS,
    limits: Limits,
    solver: str = "highs",
) -> StageResult:
    """Run one stage; same contract as :func:`bemi.engines.monolithic.run`."""
    goal = monolithic.stage_goal(stage, problem, keep)
    return portfolio.run(goal, RUNNERS[stage], start=start, keep=keep, limits=limits, solver=solver)


def _solver(largest: Callable[[Problem, StageState], int]) -> Strategy:
    """The monolithic model, for programs of at most so many columns or if there is no network yet."""

    def run(problem: Problem, state: StageState, limits: Limits) -> Finding:
        columns, left = approximate_columns(problem), state.clock.left
        most = largest(problem, state)
        if state.value is not None and columns > most:
            # A search that gives its own reason for ending early keeps it.
            silent = state.reason in (None, (Outcome.LIMIT, Outcome.LIMIT.sentence))
            if left is None or left < 1.0 or not silent:
                return Finding()
            why = f"the search ended; a solver is asked only up to {most} columns here, the program has {columns}"
            return Finding(outcome=Outcome.LIMIT, message=why)
        finding = monolithic.solve(problem, state, limits)
        if finding.outcome is Outcome.LIMIT and finding.message == Outcome.LIMIT.sentence:
            # Said by name: a solver counts wall time, whatever the clock of the stage counts.
            finding = replace(finding, message="the solver stopped at its time or node limit")
        tighter = finding.bound is not None and state.goal.better(state.bound, finding.bound)
        if state.gap < math.inf and not tighter and finding.outcome is not Outcome.LIMIT:
            return replace(finding, outcome=None)  # that the solver failed matters only if nothing else was proved
        return finding

    return Strategy("solver", 1.0, monolithic.not_trivially_solved, run)


def _within_the_time_left(problem: Problem, state: StageState) -> int:
    left = state.clock.left
    return SMALL_COLUMNS + (0 if left is None else int(COLUMNS_PER_ROOT_SECOND * math.sqrt(left)))


def _priced(problem: Problem, state: StageState) -> bool:
    """Whether there is a bound by prices, so all weights of a neuron can be searched."""
    return "prices" in state.findings and state.findings["prices"].bound is not None


def _unpriced(columns: int, at_most: float = math.inf) -> Callable[[Problem, StageState], bool]:
    """Whether there is no such bound, and the program has a size in these limits."""
    return lambda problem, state: not _priced(problem, state) and columns < approximate_columns(problem) <= at_most


SAT_MARGIN = (
    Strategy("patterns", 0.9, always, patterns.search),
    Strategy("one neuron", 0.9, two_neurons.agreement_applies, two_neurons.search_agreement),
    Strategy("prices", 0.3, lambda p, s: _searched(p) and prices.applicable(p), prices.search),
    Strategy("alternation", 0.8, _priced, alternation.search),
    Strategy("annealing", 0.5, _unpriced(SMALL_COLUMNS, MEDIUM_COLUMNS), annealing.search),
    Strategy("annealing", 0.9, _unpriced(MEDIUM_COLUMNS), annealing.search),
    Strategy("lists", 0.3, listed_rows.applies, listed_rows.search),
    _solver(lambda problem, state: MEDIUM_COLUMNS if _priced(problem, state) else LARGE_COLUMNS),
)
"""Most confident outputs: the bound that the last layer sets, then bounds and networks where one neuron can be searched
exactly, then a local search over all weights."""


def _searched(problem: Problem) -> bool:
    """Whether the program is too large to be left to the solver."""
    return approximate_columns(problem) > SMALL_COLUMNS


def _may_have_margins(problem: Problem) -> bool:
    """Whether no row is zero and the program is too large to be left to the solver."""
    return problem.margin_caps()[0] >= 1 and _searched(problem)


def _lists(problem: Problem, state: StageState) -> bool:
    """Whether lists apply; without a time limit a short search is the same as a long one."""
    return (state.clock.left is not None or not state.short) and listed_margins.applies(problem, state)


def _needs_starts(problem: Problem, state: StageState) -> bool:
    """Whether several neurons must split; between the short and the long search with lists, if there are both."""
    lists = listed_margins.applies(problem, state)
    if state.short != (lists and state.clock.left is not None):
        return False
    return (lists or _may_have_margins(problem)) and restarts.needed(problem, state)


MAX_MARGIN = (
    Strategy("two neurons", 0.0, two_neurons.applies, two_neurons.search, short=0.8),
    Strategy("lists", 0.9, _lists, listed_margins.search, short=0.1),
    Strategy("restarts", 0.3, _needs_starts, restarts.search, short=0.3),
    Strategy("dichotomies", 1.0, always, dichotomies.search),
    _solver(_within_the_time_left),
)
"""Largest margins: lists where they fit, short ones first and then networks for long ones to beat; elsewhere networks
from many starts where several neurons must split, since the search over dichotomies finds only poor ones there; then
that search, which also gives the bound."""


def _keeps(kind: type[Keep]) -> Callable[[Problem, StageState], bool]:
    return lambda problem, state: isinstance(state.keep, kind)


def _turns(problem: Problem, state: StageState) -> bool:
    """Whether margins are kept; before lists only if these are too long for a certificate, which turns may have."""
    return isinstance(state.keep, KeepMargins) and (not state.short or listed_links.uncertified(problem, state))


def _links_columns(problem: Problem, state: StageState) -> int:
    match state.keep:
        case KeepMargins():
            return _within_the_time_left(problem, state)
        case KeepObjective():
            return SOFT_COLUMNS
        case KeepLabels():
            # Networks of separators are hard to beat; one that only lost some links is not.
            stripped = state.reason is not None and state.reason[0] is Outcome.LOCAL
            return LARGE_COLUMNS if stripped else SMALL_COLUMNS


MIN_WEIGHT = (
    Strategy("lists", 0.8, listed_links.applies, listed_links.search),
    Strategy("turns", 1.0, _turns, with_margins.search, short=0.1),
    Strategy("enumeration", 0.5, smallest_neurons.applies, smallest_neurons.search),
    Strategy("soft links", 1.0, _keeps(KeepObjective), soft_links.search),
    Strategy("separators", 1.0, _keeps(KeepLabels), with_labels.search),
    _solver(_links_columns),
)
"""Fewest links, with strategies for each kind of what must be kept."""

SOFT_MARGIN = (
    Strategy("outputs", 1.0, always, soft_margins.search),
    _solver(lambda problem, state: SOFT_COLUMNS),
)
"""Soft margins: one output after the other."""

RUNNERS = {"sm": SAT_MARGIN, "mm": MAX_MARGIN, "mw": MIN_WEIGHT, "soft": SOFT_MARGIN}
"""The strategies of each stage, in order."""
