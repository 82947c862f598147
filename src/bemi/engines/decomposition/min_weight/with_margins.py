"""Min-Weight by decomposition: each first-layer neuron separately, and a bound that holds over all sign patterns.

For given first-layer signs, each neuron is reduced separately (:mod:`bemi.engines.decomposition.neuron.few_links`) and
the upper layers are a tiny program.  The bound holds for every network that has the margins, with whatever signs
(:mod:`bemi.engines.decomposition.min_weight.pattern_tree`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bemi.engines.decomposition.max_margin.upper import fewest_links
from bemi.engines.decomposition.min_weight.pattern_tree import NODES, PatternTree
from bemi.engines.decomposition.min_weight.relations import links_needed
from bemi.engines.decomposition.neuron.few_links import PROPOSALS_PER_WEIGHT, fewer_links
from bemi.network import Network, sign
from bemi.problem.keep import KeepMargins
from bemi.problem.problem import Problem
from bemi.products import Integers
from bemi.programs.limits import Deadline, Limits
from bemi.stages.result import Outcome, StageResult
from bemi.stages.stage import Stage

PROPOSALS_PER_NODE = 20_000
"""How a node limit translates into the local search's proposals."""

UPPER_NODES = 1000
"""Nodes of the upper layers' program if there is no limit."""

LINKS_SHARE = 0.6
"""Part of a time limit that the search for fewer links may use; the rest is for the bound."""


def run(stage: Stage, problem: Problem, *, start: Network, keep: KeepMargins, limits: Limits) -> StageResult:
    """Run Min-Weight with margins.

    Parameters
    ----------
    stage
        Min-Weight.
    problem
        The rows of T-hat.
    start
        A network that has the margins.
    keep
        Margin that every neuron must have, per layer.
    limits
        When to stop; without limits the work is bounded by constants and independent of the clock.
    """
    clock = limits.deadline()
    links_deadline = clock.share(LINKS_SHARE)
    value = stage.value(problem, start, keep)
    if value is None:
        return StageResult.unchanged(stage.name, problem, start, clock=clock, outcome=Outcome.NO_START)
    margins = list(keep.margins)
    tree = PatternTree(problem, margins)
    network = _reduced(problem, start, margins, limits, tree, links_deadline)
    reached = stage.value(problem, network, keep)
    if reached is None or reached > value:
        network, reached = start, value
    nodes = NODES if limits.nodes is None else limits.nodes
    enough = math.ceil(reached - limits.gap * max(1, reached))
    proof = tree.prove(reached, enough, nodes, clock)
    return StageResult.of(
        *(stage.name, problem, network, reached, proof["bound"]),
        clock=clock,
        proof="certified",
        outcome=Outcome.of(reached, proof["bound"], limits.gap, Outcome.LIMIT),
        message="",
        certificate=proof,
    )


def _reduced(
    problem: Problem, start: Network, margins: list[Integers], limits: Limits, tree: PatternTree, deadline: Deadline
) -> Network:
    """The network with fewer links in every neuron."""
    if problem.hidden_layers:
        start = _cheaper_patterns(problem, start, margins, tree)
    data, live = tree.data, tree.lp.live
    first = np.zeros_like(start.weights[0])  # inputs that are zero in every row do not matter
    first[live] = start.weights[0][live]
    signs = tree.codes if not problem.hidden_layers else sign(start.pre_activations(problem.data[tree.index])[0])
    solved: dict[tuple[bytes, int], tuple[Integers, float]] = {}
    # Large margins first: constant neurons are easy and have the most links to lose.
    for j in np.argsort(-margins[0], kind="stable").tolist():
        margin = int(margins[0][j])
        column, before = signs[:, j], first[live, j]
        if problem.hidden_layers:
            margin = max(1, margin)  # the sign must stay
            if (column * (data @ before)).min() < margin:
                continue
            column, before = column * column[0], before * column[0]
        key = (column.tobytes(), margin)
        if key not in solved and not deadline.passed:
            solved[key] = _reduced_neuron(tree, column, margin, before, limits, deadline)
        after, tree.own_bounds[j] = solved.get(key, (before, math.inf))
        if np.count_nonzero(after) < np.count_nonzero(before):
            first[live, j] = after * (signs[0, j] if problem.hidden_layers else 1)
    network = Network((first, *start.weights[1:]), problem.weight_bound)
    # The program assumes a margin in every layer.
    if problem.hidden_layers and all((m >= 1).all() for m in margins[1:]):
        needed = sum(links_needed(m, problem.weight_bound) for layer in margins[1:] for m in layer)
        if sum(np.count_nonzero(w) for w in start.weights[1:]) > needed:
            nodes = UPPER_NODES if limits.nodes is None else limits.nodes
            upper_limits = replace(limits, nodes=nodes).until(deadline.at_least(0.05))
            above = fewest_links(problem, network, margins[1:], upper_limits)
            network = Network((network.weights[0], *above.weights), problem.weight_bound)
    return network


def _cheaper_patterns(problem: Problem, network: Network, margins: list[Integers], tree: PatternTree) -> Network:
    """The network with other signs in first-layer neurons if all margins hold and the number of links may fall.

    The signs come from the other neurons, and from the neuron that is constant if the data are not negative.
    """
    keep = KeepMargins(tuple(margins))
    columns = np.concatenate([network.weights[0], np.full((network.layers[0], 1), network.weight_bound)], axis=1)
    sums = problem.data[tree.index] @ columns
    signs = sign(sums) * sign(sums[:1])
    _, distinct = np.unique(signs, axis=1, return_index=True)
    for j, margin in enumerate(margins[0].tolist()):
        options = [network]
        patterns = [j]
        for q in sorted(distinct.tolist()):
            if (signs[:, q] == signs[:, j]).all() or np.abs(sums[:, q]).min() < max(1, margin):
                continue
            for s in (1, -1):
                first = network.weights[0].copy()
                first[:, j] = s * columns[:, q]
                candidate = Network((first, *network.weights[1:]), network.weight_bound)
                if keep.holds(problem, candidate):
                    options.append(candidate)
                    patterns.append(q)
                    break
        if len(options) > 1 and margin >= 1:
            relaxed = [tree.relaxation(signs[:, q].astype(np.int8), margin) for q in patterns]
            costs = [math.inf if r is None else r.bound for r in relaxed]
            best = costs.index(min(costs))
            network = options[best]
            signs[:, j], sums[:, j] = signs[:, patterns[best]], sums[:, patterns[best]]
    return network


def _reduced_neuron(
    tree: PatternTree, column: Integers, margin: int, before: Integers, limits: Limits, deadline: Deadline
) -> tuple[Integers, float]:
    """Weights with fewer links, and the bound for these signs."""
    if margin <= 0:
        return np.zeros_like(before), 0
    relaxed = tree.relaxation(column.astype(np.int8), margin)
    if relaxed is None:
        return before, math.inf
    weights = fewer_links(
        tree.data,
        column,
        tree.weight_bound,
        margin,
        relaxed,
        before,
        proposals=len(before) * PROPOSALS_PER_WEIGHT if limits.nodes is None else limits.nodes * PROPOSALS_PER_NODE,
        seed=limits.seed,
        deadline=deadline,
        enough=int(relaxed.bound / max(1e-9, 1.0 - limits.gap)),
    )
    return weights, relaxed.bound
