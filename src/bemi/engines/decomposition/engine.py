"""Runs the stages by decomposition; the monolithic model may continue if a gap remains."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np

from bemi.engines import monolithic
from bemi.engines.decomposition.max_margin import search as maxmargin
from bemi.engines.decomposition.max_margin import widening
from bemi.engines.decomposition.max_margin.instance import Budget
from bemi.engines.decomposition.min_weight import separators
from bemi.engines.decomposition.min_weight import with_labels as nomargins
from bemi.engines.decomposition.min_weight import with_margins as minlinks
from bemi.engines.decomposition.neuron import shortlist
from bemi.engines.decomposition.neuron.linear_program import NeuronLP
from bemi.engines.decomposition.sat_margin import patterns
from bemi.engines.decomposition.sat_margin import walk as satmargin
from bemi.engines.decomposition.soft import links as softlinks
from bemi.engines.decomposition.soft import margins as softmargin
from bemi.engines.start import initial_network
from bemi.network import Network
from bemi.problem.keep import KEEP_LABELS, Keep, KeepLabels, KeepMargins, KeepObjective
from bemi.problem.problem import Problem
from bemi.programs.limits import Deadline, Limits
from bemi.stages.registry import get
from bemi.stages.resolution import choose_resolution
from bemi.stages.result import Outcome, StageResult

MONOLITHIC_COLUMNS = 300
"""Programs up to this size are handed to a solver if the decomposition leaves a gap."""

SOFT_COLUMNS = 100
"""The same for soft margins: their gap is small already, and a solver's claim is not a certificate."""

SOLVED_COLUMNS, WALK_SHARE = 1000, 0.9
"""Beyond this size a solver hardly improves on the local search of Sat-Margin, which then gets most of the time."""

REPAIR_SHARE = 0.6
"""Part of Max-Margin's time for finding a start with margins if Sat-Margin's network has none."""

WIDENING_SHARE = 0.4
"""Part of the remaining time for enlarging the margins of that start if several neurons must split."""

SHORT_NODES = 5
"""Node limit of local searches that are followed by the solver in any case."""

SAT_MARGIN_COLUMNS = 3000
"""Sat-Margin programs up to this size are handed to a solver if a local search leaves some outputs not confident."""


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
    """Sat-Margin: solved at once if the first network gets every output right; otherwise local search, then the solver.

    With several outputs, patterns for the codes come first: they often reach the bound that the last layer sets.  On a
    large program the solver would not improve the bound beyond the number of outputs, so it is not called.
    """
    stage = get("sm")
    clock = limits.deadline()
    columns = _columns(problem)
    shown = patterns.best_patterns(problem, start, seconds=limits.seconds, deadline=clock.share(WALK_SHARE))
    if shown.optimal:
        return shown.report(stage.name, problem, clock)
    start = shown.network
    if columns > MONOLITHIC_COLUMNS and stage.value(problem, start) != stage.trivial_bound(problem):
        walk = clock.share(WALK_SHARE if columns > SOLVED_COLUMNS else 0.5)
        start = satmargin.most_confident(
            problem, start, proposals=_proposals(limits), seed=limits.seed, deadline=walk, most=shown.bound
        )
    if columns > SAT_MARGIN_COLUMNS:
        value, bound = stage.value(problem, start), shown.bound
        optimal = value == bound
        reason = "is the number of outputs" if shown.certificate is None else "is what the last layer allows"
        return StageResult.of(
            *(stage.name, problem, start, value, bound),
            clock=clock,
            proof="certified",
            outcome=Outcome.OPTIMAL if optimal else Outcome.LOCAL,
            message="" if optimal else f"stopped after a local search; the bound {reason}",
            certificate=shown.certificate,
        )
    report = monolithic.run(stage.name, problem, start=start, limits=limits.until(clock), solver=solver)
    return shown.tightened(replace(report, seconds=clock.elapsed))


def max_margin(problem: Problem, *, start: Network, keep: Keep, limits: Limits, solver: str) -> StageResult:
    """Max-Margin by decomposition, from a start with margins if a short local search finds one.

    Sat-Margin allows sums of 0, and if many neurons must split, the search over dichotomies may find no network, or
    only poor ones: then the start's own neurons are improved first.
    """
    stage = get("mm")
    clock = limits.deadline()
    usable = problem.margin_caps()[0] >= 1 and _columns(problem) > MONOLITHIC_COLUMNS
    repaired = start
    if usable and stage.value(problem, start) is None:
        repair = clock.share(REPAIR_SHARE)
        repaired = satmargin.with_margins(
            problem, start, proposals=_proposals(limits), seed=limits.seed, deadline=repair
        )
    with_margins = usable and stage.value(problem, repaired) is not None
    if with_margins and widening.splits(problem, repaired) > problem.layers[-1]:
        budget = Budget(limits.nodes, clock.share(WIDENING_SHARE))
        repaired = widening.widened(problem, repaired, budget=budget, limits=limits.until(clock))
    result = maxmargin.run(stage, problem, start=repaired, limits=limits.until(clock))
    if not result.ran:
        result = replace(result, network=start, links=start.links)
    return _closed_by_solver(result, problem, keep, limits, clock, solver, MONOLITHIC_COLUMNS)


def min_weight(problem: Problem, *, start: Network, keep: Keep, limits: Limits, solver: str) -> StageResult:
    """Min-Weight, with a separate method for each kind of ``keep``."""
    stage = get("mw")
    clock = limits.deadline()
    match keep:
        case KeepMargins():
            result = minlinks.run(stage, problem, start=start, keep=keep, limits=limits)
            largest = MONOLITHIC_COLUMNS
        case KeepObjective():
            result = softlinks.run(stage, problem, start=start, keep=keep, limits=limits)
            largest = SOFT_COLUMNS
        case KeepLabels():
            tiny = _columns(problem) <= MONOLITHIC_COLUMNS
            # The solver closes tiny programs in no time.
            walks = replace(limits, nodes=min(SHORT_NODES, limits.nodes or SHORT_NODES)) if tiny else limits
            result = nomargins.run(stage, problem, start=start, limits=walks)
            # Networks of separators are hard to beat; one that only lost some links is not.
            largest = SAT_MARGIN_COLUMNS if result.outcome is Outcome.LOCAL else MONOLITHIC_COLUMNS
    return _closed_by_solver(result, problem, keep, limits, clock, solver, largest)


def soft_margin(problem: Problem, *, start: Network, keep: Keep, limits: Limits, solver: str) -> StageResult:
    """Soft margins by one linear program per output."""
    clock = limits.deadline()
    result = softmargin.run(get("ml2"), problem, start=start, limits=limits)
    return _closed_by_solver(result, problem, keep, limits, clock, solver, SOFT_COLUMNS)


RUNNERS = {"sm": sat_margin, "mm": max_margin, "mw": min_weight, "ml2": soft_margin}
"""The function for each stage."""


def _closed_by_solver(
    result: StageResult, problem: Problem, keep: Keep, limits: Limits, clock: Deadline, solver: str, largest: int
) -> StageResult:
    """The solver's improvement of a result with a gap, if nothing was found or the program has few columns."""
    closed = result.gap <= limits.gap or result.outcome is Outcome.INFEASIBLE
    if closed or (result.ran and _columns(problem) > largest):
        return replace(result, seconds=clock.elapsed)
    assert result.network is not None
    fallback = monolithic.run(
        result.stage, problem, start=result.network, keep=keep, limits=limits.until(clock), solver=solver
    )
    return replace(_joined(result, fallback), seconds=clock.elapsed)


def _proposals(limits: Limits) -> int:
    """Proposals of Sat-Margin's local search: from the node limit, else from the time limit, else a constant."""
    if limits.nodes is not None:
        return limits.nodes * satmargin.PROPOSALS_PER_NODE
    return satmargin.PROPOSALS if limits.seconds is None else 10**12


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


@cache
def prepare() -> None:
    """Load the compiled parts before a clock starts; after the first time they come from a cache on disk."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 30, (4, 6))
    problem = Problem(data, np.repeat([[1], [-1]], 2, axis=0), (2,), 2)
    limits = Limits(nodes=30)
    widest = maxmargin.run(get("mm"), problem, start=initial_network(problem), limits=limits)
    if widest.ran and widest.network is not None:
        margins = KeepMargins(tuple(widest.network.margins(problem.data, problem.codes)))
        minlinks.run(get("mw"), problem, start=widest.network, keep=margins, limits=limits)
    lister = shortlist.Lister(NeuronLP(data, 2), np.arange(len(data)), 50)
    lister.extend(0, 20)
    separators.compile_loops()
    satmargin.most_confident(problem, initial_network(problem), proposals=100)
    flat = replace(problem, hidden_layers=())
    for max_links in (None, 2):
        soft, network = choose_resolution(flat, 10.0, max_links=max_links)
        softmargin.run(get("ml2"), replace(flat, soft=soft), start=network, limits=limits)
