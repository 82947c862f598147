"""Runs the stages by decomposition; the monolithic model may continue if a gap remains."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from bemi.engines import monolithic
from bemi.engines.decomposition.max_margin import enumerate_neurons as listing
from bemi.engines.decomposition.max_margin import few_splits, majority, widening
from bemi.engines.decomposition.max_margin import search as maxmargin
from bemi.engines.decomposition.max_margin.instance import Budget
from bemi.engines.decomposition.min_weight import enumerate_neurons as listed
from bemi.engines.decomposition.min_weight import with_labels as nomargins
from bemi.engines.decomposition.min_weight import with_margins as minlinks
from bemi.engines.decomposition.sat_margin import annealing as walk
from bemi.engines.decomposition.sat_margin import stage as satmargin
from bemi.engines.decomposition.soft import links as softlinks
from bemi.engines.decomposition.soft import margins as softmargin
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import KEEP_LABELS, Keep, KeepLabels, KeepMargins, KeepObjective, Problem
from bemi.stages.registry import get
from bemi.stages.result import Outcome, StageResult

MONOLITHIC_COLUMNS = 300
"""Programs up to this size are handed to a solver if the decomposition leaves a gap, however little time is left."""

COLUMNS_PER_ROOT_SECOND = 100
"""With t seconds left, programs of Max-Margin and Min-Weight may have this many more columns for each of sqrt(t): a
solver's work grows much faster than its program."""

SOFT_COLUMNS = 100
"""The same for soft margins: their gap is small already, and a solver's claim is not a certificate."""

SPLITS_SHARE = 0.6
"""Part of Max-Margin's time for networks with two neurons that split."""

MAJORITY_SHARE = 0.3
"""Part of the remaining time for networks with three or five neurons that split, of which most are right."""

LISTED_SHARE = 0.5
"""Part of Min-Weight's time for neurons that can be listed."""

REPAIR_SHARE = 0.6
"""Part of Max-Margin's time for finding a start with margins if Sat-Margin's network has none."""

WIDENING_SHARE = 0.4
"""Part of the remaining time for enlarging the margins of that start if several neurons must split."""

SHORT_NODES = 5
"""Node limit of local searches that are followed by the solver in any case."""


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
    return RUNNERS[stage](problem, start=start, keep=keep, limits=limits, solver=solver)


def sat_margin(problem: Problem, *, start: Network, keep: Keep, limits: Limits, solver: str) -> StageResult:
    """Sat-Margin by patterns, prices and local search."""
    return satmargin.run(get("sm"), problem, start=start, limits=limits, solver=solver, columns=_columns(problem))


def max_margin(problem: Problem, *, start: Network, keep: Keep, limits: Limits, solver: str) -> StageResult:
    """Max-Margin by decomposition, from a start with margins if a short local search finds one.

    Sat-Margin allows sums of 0, and if many neurons must split, the search over dichotomies may find no network, or
    only poor ones: then the start's own neurons are improved first.
    """
    stage = get("mm")
    clock = limits.deadline()
    usable = problem.margin_caps()[0] >= 1 and _columns(problem) > MONOLITHIC_COLUMNS
    # If one neuron suffices, Sat-Margin's network shows it.
    shallow = usable and few_splits.applicable(problem) and widening.splits(problem, start) > 1
    splits = few_splits.FewSplits()
    if shallow:
        splits = few_splits.two_splits(problem, clock.share(SPLITS_SHARE), limits.seed)
    settled = splits.settled(stage, problem, limits, clock)
    if settled is not None:
        return settled
    repaired = splits.network or start
    if shallow and splits.network is None:
        repaired = _with_majority(problem, start, limits, clock)
    if usable and stage.value(problem, repaired) is None:
        repair = clock.share(REPAIR_SHARE)
        repaired = walk.with_margins(
            problem, start, proposals=walk.proposals_within(limits), seed=limits.seed, deadline=repair
        )
        if shallow:
            repaired = _with_majority(problem, repaired, limits, clock)
    with_margins = usable and stage.value(problem, repaired) is not None
    if with_margins and widening.splits(problem, repaired) > problem.layers[-1]:
        budget = Budget(limits.nodes, clock.share(WIDENING_SHARE))
        repaired = widening.widened(problem, repaired, budget=budget, limits=limits.until(clock))
    result = maxmargin.run(stage, problem, start=repaired, limits=limits.until(clock))
    if not result.ran:
        result = replace(result, network=start, links=start.links)
    if result.gap > limits.gap and result.outcome is not Outcome.INFEASIBLE:
        assert result.network is not None
        tried = listing.run(stage, problem, start=result.network, limits=limits.until(clock))
        if tried is not None:
            result = tried if tried.outcome is Outcome.INFEASIBLE else _joined(result, tried)
    result = splits.improve(result, limits)
    return _closed_by_solver(result, problem, keep, limits, clock, solver, _solvable_columns(clock))


def _with_majority(problem: Problem, start: Network, limits: Limits, clock: Deadline) -> Network:
    """A network with margins of which most splitting neurons are right on every row, or the start if none is found."""
    deadline = clock.share(MAJORITY_SHARE)
    for patience in (0, majority.PATIENCE):
        found = majority.majority(
            problem, start, patience=patience, first_found=patience > 0, seed=limits.seed, deadline=deadline
        )
        if found is not None:
            return found
    return start


def min_weight(problem: Problem, *, start: Network, keep: Keep, limits: Limits, solver: str) -> StageResult:
    """Min-Weight, with a separate method for each kind of ``keep``."""
    stage = get("mw")
    clock = limits.deadline()
    match keep:
        case KeepMargins():
            result = minlinks.run(stage, problem, start=start, keep=keep, limits=limits)
            if result.ran and result.gap > limits.gap:
                result = _with_listed_links(result, problem, keep, limits, clock)
            largest = _solvable_columns(clock)
        case KeepObjective():
            result = softlinks.run(stage, problem, start=start, keep=keep, limits=limits)
            largest = SOFT_COLUMNS
        case KeepLabels():
            tiny = _columns(problem) <= MONOLITHIC_COLUMNS
            # The solver closes tiny programs in no time.
            walks = replace(limits, nodes=min(SHORT_NODES, limits.nodes or SHORT_NODES)) if tiny else limits
            result = nomargins.run(stage, problem, start=start, limits=walks)
            # Networks of separators are hard to beat; one that only lost some links is not.
            largest = satmargin.LARGEST_COLUMNS if result.outcome is Outcome.LOCAL else MONOLITHIC_COLUMNS
    return _closed_by_solver(result, problem, keep, limits, clock, solver, largest)


def _with_listed_links(
    result: StageResult, problem: Problem, keep: KeepMargins, limits: Limits, clock: Deadline
) -> StageResult:
    """A result of Min-Weight with fewer links or a better bound, where neurons can be listed."""
    stage = get("mw")
    assert result.network is not None
    few = listed.listed_links(problem, result.network, keep, clock.share(LISTED_SHARE))
    if few.network is not None and stage.better(stage.value(problem, few.network, keep), result.objective):
        result = minlinks.run(stage, problem, start=few.network, keep=keep, limits=limits.until(clock))
    return few.improve(result, limits)


def soft_margin(problem: Problem, *, start: Network, keep: Keep, limits: Limits, solver: str) -> StageResult:
    """Soft margins by one linear program per output."""
    clock = limits.deadline()
    result = softmargin.run(get("soft"), problem, start=start, limits=limits)
    return _closed_by_solver(result, problem, keep, limits, clock, solver, SOFT_COLUMNS)


RUNNERS = {"sm": sat_margin, "mm": max_margin, "mw": min_weight, "soft": soft_margin}
"""The function for each stage."""


def _closed_by_solver(
    result: StageResult, problem: Problem, keep: Keep, limits: Limits, clock: Deadline, solver: str, largest: int
) -> StageResult:
    """The solver's improvement of a result with a gap, if nothing was found or it has the time for so many columns."""
    columns, left = _columns(problem), clock.left
    if result.gap <= limits.gap or result.outcome is Outcome.INFEASIBLE:
        return replace(result, seconds=clock.elapsed)
    if result.ran and columns > largest:
        # A search that gives its own reason for ending early keeps it.
        if left is not None and left >= 1.0 and result.message == Outcome.LIMIT.sentence:
            why = f"the search ended; a program of {columns} columns is too large for a solver in {left:.0f} s"
            result = replace(result, message=why)
        return replace(result, seconds=clock.elapsed)
    assert result.network is not None
    fallback = monolithic.run(
        result.stage, problem, start=result.network, keep=keep, limits=limits.until(clock), solver=solver
    )
    return replace(_joined(result, fallback), seconds=clock.elapsed)


def _solvable_columns(clock: Deadline) -> int:
    """Columns of the largest program for which a solver may help in the time left."""
    left = clock.left
    return MONOLITHIC_COLUMNS + (0 if left is None else int(COLUMNS_PER_ROOT_SECOND * math.sqrt(left)))


def _columns(problem: Problem) -> int:
    """Approximate number of columns of the monolithic model."""
    rows, sizes = len(problem.data), problem.layers[1:]
    if problem.soft is not None:
        return (len(problem.live) * (2 * problem.weight_bound + 1) + rows) * sizes[0]
    return len(problem.live) * sizes[0] + rows * sum(sizes) + (rows + 1) * sum(a * b for a, b in pairwise(sizes))


def _joined(ours: StageResult, theirs: StageResult) -> StageResult:
    """The solver's network, which is at least as good, with the tighter of the two bounds."""
    if not theirs.ran or ours.bound is None:
        return theirs if theirs.ran or not ours.ran else ours
    assert theirs.objective is not None
    assert theirs.bound is not None
    reached = Fraction(theirs.objective)
    if abs(theirs.bound - reached) < abs(ours.bound - reached):
        return theirs
    optimal = ours.bound == theirs.objective
    return replace(
        theirs,
        bound=ours.bound,
        proof=ours.proof,
        certificate=ours.certificate,
        outcome=Outcome.OPTIMAL if optimal else ours.outcome,
        message="" if optimal else ours.message,
    )
