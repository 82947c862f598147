"""Runs the stages by decomposition, and hands over to the monolithic model what stays open."""

from __future__ import annotations

import time
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
from bemi.engines.decomposition.sat_margin import walk as satmargin
from bemi.engines.decomposition.soft import links as softlinks
from bemi.engines.decomposition.soft import margins as softmargin
from bemi.engines.resolution import settle
from bemi.engines.start import initial_network
from bemi.network import Network
from bemi.problem.problem import Keep, Problem
from bemi.programs.limits import Limits
from bemi.stages.result import INFEASIBLE, StageResult

MONOLITHIC_COLUMNS = 300
"""Programs up to this size are worth handing to a solver where the decomposition leaves a gap."""

SOFT_COLUMNS = 100
"""The same for soft margins: what their bound leaves open is small, and a solver's word is no certificate."""

SOLVED_COLUMNS, WALK_SHARE = 1000, 0.9
"""Beyond this size a solver hardly improves on the local search of Sat-Margin, which then gets so much of the time."""

REPAIR_SHARE = 0.6
"""Part of Max-Margin's time in which a start with margins is looked for, where Sat-Margin's network has none."""

WIDENING_SHARE = 0.4
"""Part of the time that is then left in which that start gets larger margins, where several neurons have to split."""

SHORT_NODES = 5
"""Node limit of local searches that the solver follows in any case."""

SAT_MARGIN_COLUMNS = 3000
"""Sat-Margin programs up to this size are handed to a solver where a local search leaves outputs unsure."""


def run(
    stage: str,
    problem: Problem,
    *,
    start: Network,
    keep: Keep = None,
    limits: Limits,
    solver: str = "highs",
) -> StageResult:
    """Run one stage; same contract as :func:`bemi.engines.monolithic.run`."""
    began = time.perf_counter()
    if stage == "sm":
        return _sat_margin(problem, start, limits, solver)
    if stage == "ml2":
        result = softmargin.run(problem, start=start, limits=limits)
    elif isinstance(keep, Fraction):
        result = softlinks.run(problem, start=start, ceiling=keep, limits=limits)
    elif stage == "mm":
        result = _max_margin(problem, start, limits)
    elif stage == "mw" and keep is not None:
        result = minlinks.run(problem, start=start, margins=list(keep), limits=limits)
    else:
        return _links_without_margins(problem, start, limits, solver)
    settled = result.gap <= limits.gap or result.message == INFEASIBLE
    largest = MONOLITHIC_COLUMNS if problem.soft is None else SOFT_COLUMNS
    if settled or (result.ran and _columns(problem) > largest):
        return result
    assert result.network is not None
    limits = _left(limits, began)
    fallback = monolithic.run(stage, problem, start=result.network, keep=keep, limits=limits, solver=solver)
    return replace(_joined(result, fallback), seconds=time.perf_counter() - began)


def _sat_margin(problem: Problem, start: Network, limits: Limits, solver: str) -> StageResult:
    """Solved at once where the first network gets every output right; else a local search, then the solver.

    On a large program the solver would not move the bound off the number of outputs, so it is not asked.
    """
    began = time.perf_counter()
    columns = _columns(problem)
    if columns > MONOLITHIC_COLUMNS and problem.value("sm", start) != problem.trivial_bound("sm"):
        share = WALK_SHARE if columns > SOLVED_COLUMNS else 0.5
        deadline = None if limits.seconds is None else began + share * limits.seconds
        start = satmargin.most_confident(
            problem, start, proposals=_proposals(limits), seed=limits.seed, deadline=deadline
        )
    if columns > SAT_MARGIN_COLUMNS:
        value, bound = problem.value("sm", start), problem.trivial_bound("sm")
        message = "" if value == bound else "stopped after a local search; the bound is the number of outputs"
        seconds = time.perf_counter() - began
        return StageResult("sm", start, value, bound, seconds, "certified", start.links, len(problem.data), message)
    limits = _left(limits, began)
    report = monolithic.run("sm", problem, start=start, limits=limits, solver=solver)
    return replace(report, seconds=time.perf_counter() - began)


def _left(limits: Limits, began: float) -> Limits:
    """The limits without the time that has gone by since ``began``."""
    if limits.seconds is None:
        return limits
    return replace(limits, seconds=max(0.0, limits.seconds - (time.perf_counter() - began)))


def _proposals(limits: Limits) -> int:
    """Proposals of Sat-Margin's local search: a node limit counts, else a time limit, else a constant."""
    if limits.nodes is not None:
        return limits.nodes * satmargin.PROPOSALS_PER_NODE
    return satmargin.PROPOSALS if limits.seconds is None else 10**12


def _max_margin(problem: Problem, start: Network, limits: Limits) -> StageResult:
    """Max-Margin by decomposition, from a start with margins where a short local search finds one.

    Sat-Margin allows sums of 0, and where many neurons have to split, the search over dichotomies may find no network
    of its own, or only poor ones: then the start's own neurons are improved first.
    """
    began = time.perf_counter()
    usable = problem.margin_caps()[0] >= 1 and _columns(problem) > MONOLITHIC_COLUMNS
    repaired = start
    if usable and problem.value("mm", start) is None:
        deadline = None if limits.seconds is None else began + REPAIR_SHARE * limits.seconds
        repaired = satmargin.with_margins(
            problem, start, proposals=_proposals(limits), seed=limits.seed, deadline=deadline
        )
    if usable and problem.value("mm", repaired) is not None and widening.splits(problem, repaired) > problem.layers[-1]:
        left = _left(limits, began)
        budget = Budget(left.nodes, None if left.seconds is None else WIDENING_SHARE * left.seconds)
        repaired = widening.widened(problem, repaired, budget=budget, limits=left)
    result = maxmargin.run(problem, start=repaired, limits=_left(limits, began))
    result = replace(result, seconds=time.perf_counter() - began)
    return result if result.ran else replace(result, network=start, links=start.links)


def _links_without_margins(problem: Problem, start: Network, limits: Limits, solver: str) -> StageResult:
    """Min-Weight where only the labels must stay right: small separators, then the solver on small programs."""
    began = time.perf_counter()
    tiny = _columns(problem) <= MONOLITHIC_COLUMNS
    # What is tiny the solver settles in no time.
    walks = replace(limits, nodes=min(SHORT_NODES, limits.nodes or SHORT_NODES)) if tiny else limits
    result = nomargins.run(problem, start=start, limits=walks)
    # Separators are hard to beat; a network that only lost some links is not.
    most = SAT_MARGIN_COLUMNS if result.message == nomargins.FOUND_LITTLE else MONOLITHIC_COLUMNS
    if result.ran and (result.gap <= limits.gap or _columns(problem) > most):
        return result
    assert result.network is not None
    limits = _left(limits, began)
    fallback = monolithic.run("mw", problem, start=result.network, limits=limits, solver=solver)
    return replace(_joined(result, fallback), seconds=time.perf_counter() - began)


def _columns(problem: Problem) -> int:
    """About how many columns the monolithic model has."""
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
    message = "" if ours.bound == theirs.objective else ours.message
    return replace(theirs, bound=ours.bound, proof=ours.proof, certificate=ours.certificate, message=message)


@cache
def prepare() -> None:
    """Have the compiled parts ready before a clock starts; they come from a cache on disk after the first time."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 30, (4, 6))
    problem = Problem(data, np.repeat([[1], [-1]], 2, axis=0), (2,), 2)
    limits = Limits(nodes=30)
    mm = maxmargin.run(problem, start=initial_network(problem), limits=limits)
    if mm.ran and mm.network is not None:
        margins = mm.network.margins(problem.data, problem.codes)
        minlinks.run(problem, start=mm.network, margins=margins, limits=limits)
    lister = shortlist.Lister(NeuronLP(data, 2), np.arange(len(data)), 50)
    lister.extend(0, 20)
    separators.compile_loops()
    satmargin.most_confident(problem, initial_network(problem), proposals=100)
    flat = replace(problem, hidden_layers=())
    soft, network = settle(flat, 10.0)
    softmargin.run(replace(flat, soft=soft), start=network, limits=limits)
