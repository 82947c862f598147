"""Runs the stages by decomposition, and hands over to the monolithic model what stays open."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np

from bemi.engines import monolithic
from bemi.engines.decomposition import maxmargin, minlinks, satmargin
from bemi.engines.result import INFEASIBLE, StageResult
from bemi.engines.start import initial_network
from bemi.network import Integers, Network
from bemi.problem import Problem
from bemi.programs.program import Limits

MONOLITHIC_COLUMNS = 300
"""Programs up to this size are worth handing to a solver where the decomposition leaves a gap."""

SAT_MARGIN_COLUMNS = 3000
"""Sat-Margin programs up to this size are handed to a solver where a local search leaves outputs unsure."""


def run(
    stage: str,
    problem: Problem,
    *,
    start: Network,
    margins: Sequence[Integers] | None = None,
    limits: Limits,
    solver: str = "highs",
) -> StageResult:
    """Run one stage; same contract as :func:`bemi.engines.monolithic.run`."""
    began = time.perf_counter()
    if stage == "sm":
        return _sat_margin(problem, start, limits, solver)
    if stage == "mm":
        result = maxmargin.run(problem, start=start, limits=limits)
    elif stage == "mw" and margins is not None:
        result = minlinks.run(problem, start=start, margins=list(margins), limits=limits)
    else:
        return _links_without_margins(problem, start, limits, solver)
    settled = result.gap <= limits.gap or result.message == INFEASIBLE
    if settled or (result.ran and _columns(problem) > MONOLITHIC_COLUMNS):
        return result
    assert result.network is not None
    if limits.seconds is not None:
        limits = replace(limits, seconds=max(0.0, limits.seconds - (time.perf_counter() - began)))
    fallback = monolithic.run(stage, problem, start=result.network, margins=margins, limits=limits, solver=solver)
    return replace(_joined(result, fallback), seconds=time.perf_counter() - began)


def _sat_margin(problem: Problem, start: Network, limits: Limits, solver: str) -> StageResult:
    """Solved at once where the first network gets every output right; else a local search, then the solver.

    On a large program the solver would not move the bound off the number of outputs, so it is not asked.
    """
    began = time.perf_counter()
    columns = _columns(problem)
    if columns > MONOLITHIC_COLUMNS and problem.value("sm", start) != problem.trivial_bound("sm"):
        proposals = satmargin.PROPOSALS if limits.nodes is None else limits.nodes * satmargin.PROPOSALS_PER_NODE
        deadline = None if limits.seconds is None else began + 0.5 * limits.seconds
        start = satmargin.most_confident(problem, start, proposals=proposals, seed=limits.seed, deadline=deadline)
    if columns > SAT_MARGIN_COLUMNS:
        value, bound = problem.value("sm", start), problem.trivial_bound("sm")
        message = "" if value == bound else "stopped after a local search; the bound is the number of outputs"
        seconds = time.perf_counter() - began
        return StageResult("sm", start, value, bound, seconds, "certified", start.links, len(problem.data), message)
    if limits.seconds is not None:
        limits = replace(limits, seconds=max(0.0, limits.seconds - (time.perf_counter() - began)))
    report = monolithic.run("sm", problem, start=start, limits=limits, solver=solver)
    return replace(report, seconds=time.perf_counter() - began)


def _links_without_margins(problem: Problem, start: Network, limits: Limits, solver: str) -> StageResult:
    """Min-Weight where only the labels must stay right: remove links one by one, then ask the solver for better."""
    began = time.perf_counter()
    if problem.value("mw", start) is not None:
        start = _stripped(problem, start, None if limits.seconds is None else began + 0.5 * limits.seconds)
        # A time limit bounds what a large program may cost; a node limit does not.
        if limits.seconds is None and _columns(problem) > SAT_MARGIN_COLUMNS:
            message = "stopped after removing links one by one"
            seconds = time.perf_counter() - began
            rows = len(problem.data)
            return StageResult("mw", start, start.links, 0, seconds, "certified", start.links, rows, message)
    if limits.seconds is not None:
        limits = replace(limits, seconds=max(0.0, limits.seconds - (time.perf_counter() - began)))
    report = monolithic.run("mw", problem, start=start, limits=limits, solver=solver)
    return replace(report, seconds=time.perf_counter() - began)


def _stripped(problem: Problem, network: Network, deadline: float | None) -> Network:
    """The network without the links that no row needs, last layer first."""
    weights = [w.copy() for w in network.weights]
    for layer in reversed(range(len(weights))):
        for i, j in np.argwhere(weights[layer]):
            if deadline is not None and time.perf_counter() > deadline:
                return Network(tuple(weights), network.weight_bound)
            kept, weights[layer][i, j] = weights[layer][i, j], 0
            if not np.array_equal(Network(tuple(weights), network.weight_bound).forward(problem.data), problem.codes):
                weights[layer][i, j] = kept
    return Network(tuple(weights), network.weight_bound)


def _columns(problem: Problem) -> int:
    """About how many columns the monolithic model has."""
    rows, sizes = len(problem.data), problem.layers[1:]
    return len(problem.live) * sizes[0] + rows * sum(sizes) + (rows + 1) * sum(a * b for a, b in pairwise(sizes))


def _joined(ours: StageResult, theirs: StageResult) -> StageResult:
    """The solver's network, which is at least as good, with the tighter of the two bounds."""
    if not theirs.ran or ours.bound is None:
        return theirs if theirs.ran or not ours.ran else ours
    assert theirs.objective is not None
    assert theirs.bound is not None
    if abs(theirs.bound - theirs.objective) < abs(ours.bound - theirs.objective):
        return theirs
    message = "" if ours.bound == theirs.objective else ours.message
    return replace(theirs, bound=ours.bound, proof=ours.proof, certificate=ours.certificate, message=message)


@cache
def prepare() -> None:
    """Have the compiled parts ready before a clock starts; they come from a cache on disk after the first time."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 30, (8, 12))
    problem = Problem(data, np.repeat([[1], [-1]], 4, axis=0), (2,), 2)
    limits = Limits(nodes=30)
    mm = maxmargin.run(problem, start=initial_network(problem), limits=limits)
    if mm.ran and mm.network is not None:
        margins = mm.network.margins(problem.data, problem.codes)
        minlinks.run(problem, start=mm.network, margins=margins, limits=limits)
