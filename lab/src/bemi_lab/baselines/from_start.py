"""The other systems from a network that fits all rows: it is improved by their own objectives, part by part.

Every function takes a problem, the network that was written down, limits and a solver, and returns reports in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from bemi.engines.monolithic import min_weight_goal
from bemi.limits import Limits
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.programs.encoding import Goal
from bemi.stages.result import StageResult
from bemi_lab.baselines import few_neurons, links, margins, objectives
from bemi_lab.baselines.batches import train_in_batches
from bemi_lab.baselines.dense import without_zeros
from bemi_lab.baselines.hybrids import CP, CP_OPTIONS, find
from bemi_lab.baselines.improvement import improved
from bemi_lab.baselines.neighbourhoods import improved_neurons
from bemi_lab.baselines.published import by_gradient, cp_margins, price_on_neurons
from bemi_lab.baselines.row_values import SAT_MARGIN, RowObjective
from bemi_lab.baselines.starts import Start

CODES = 3
"""Codes that are tried for larger margins, after the one of the start."""


def margins_of(
    objective: Callable[[Problem], Goal], problem: Problem, start: Start, limits: Limits, solver: str
) -> list[StageResult]:
    """Larger margins: neuron by neuron for the activations of the start, then of codes with wide dichotomies."""
    clock = limits.deadline()
    assert start.network is not None

    def enlarged(network: Network, share_of_time: float) -> Network:
        part = clock.share(share_of_time)

        def share(neurons: int) -> Limits:
            return limits.until(part.share(1 / neurons))

        return margins.largest_margins(problem, network, share, program=start.dichotomies.program)

    def made(network: Network) -> Iterator[Network]:
        yield enlarged(network, 1 / (CODES + 2))
        codes = margins.wider_codes(problem, start, clock, limits.seed)
        for number, other in enumerate(islice(codes, CODES)):
            yield enlarged(other, 1 / (CODES + 1 - number))

    native = CP_OPTIONS if solver == CP else {}
    return [improved(objective(problem), start.network, made(start.network), limits, clock, solver, **native)]


def margins_by_cp(problem: Problem, start: Start, limits: Limits, _: str) -> list[StageResult]:
    return margins_of(cp_margins, problem, start, limits, CP)


def links_of(problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    """Fewer links: of the start's neurons, then of short codes of neurons with few links."""
    clock = limits.deadline()
    assert start.network is not None

    def made(network: Network) -> Iterator[Network]:
        yield links.fewest_links(problem, network, clock.share(1 / 8), limits.seed)
        for other in links.thinner_codes(problem, start, clock.share(1 / 2), limits.seed):
            yield links.fewest_links(problem, other, clock.share(1 / 4), limits.seed)

    return [improved(min_weight_goal(problem), start.network, made(start.network), limits, clock, solver)]


def links_by_cp(problem: Problem, start: Start, limits: Limits, _: str) -> list[StageResult]:
    return links_of(problem, start, limits, CP)


def warm_started_of(problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    """HW with the start as the hint of its first step."""
    clock = limits.deadline()
    found = find(objectives.feasible(problem), limits, start.network)
    return [found, *margins_of(objectives.max_margin, problem, start, limits.until(clock), solver)]


def rows_of(objective: RowObjective, problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    """An objective that is a sum over rows, neuron by neuron."""
    clock = limits.deadline()
    assert start.network is not None
    made = improved_neurons(objective.values(problem), problem, start.network, clock, limits.seed)
    return [improved(objective.goal(problem), start.network, made, limits, clock, solver)]


def neurons_of(problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    """Sat-Margin with a price on neurons: smaller networks that are fully confident."""
    clock = limits.deadline()
    assert start.network is not None
    made = few_neurons.smaller_networks(problem, start, clock, limits.seed)
    return [improved(price_on_neurons(problem), start.network, made, limits, clock, solver)]


def fewest_neurons_of(problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    clock = limits.deadline()
    (first,) = rows_of(SAT_MARGIN, problem, start, limits.until(clock.share(1 / 2)), solver)
    assert first.network is not None
    assert isinstance(first.objective, int)
    goal = objectives.min_neurons(problem, confident=first.objective)
    made = few_neurons.smaller_networks(problem, start, clock, limits.seed)
    return [first, improved(goal, first.network, made, limits.until(clock), clock, solver)]


def batches_of(problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    return train_in_batches(problem, limits, solver, start.network)


def gradient_of(ternary: bool, problem: Problem, start: Start, limits: Limits, solver: str) -> list[StageResult]:
    """Gradient descent from the start; GD_b, which has no zeros, from a network of the same kind without them."""
    clock = limits.deadline()
    dense = None if ternary else without_zeros(problem, start.network)
    (report,) = by_gradient(ternary, problem, limits.until(clock), solver, start=dense or start.network)
    if dense is not None and report.network == dense:
        report = replace(report, message="the start with its zeros filled: it reaches the bound")
    return [report]
