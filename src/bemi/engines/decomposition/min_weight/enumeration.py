"""Min-Weight with margins where neurons can be listed: the fewest links of any neuron with a margin.

A neuron with a required margin m needs at least as many links as the smallest neuron whose sums are at least m on all
rows, whatever its signs.  For a margin near the largest possible one, which only constant neurons have, few neurons are
left, for any weight bound.

R52 in docs/certificates.md defines the proof, with rows in the given order.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bemi.engines.decomposition.neuron.exhaustive import best_neuron, input_order
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import KeepMargins, Problem

MOST_INPUTS = 14
"""Inputs up to which it is worth a try."""

_NODES = 1_000_000  # of a search for the fewest links: a fifth of a second for 160 rows


def applies(problem: Problem, state: StageState) -> bool:
    """Whether there is a network with margins of which all weight vectors of a neuron can be tried."""
    if state.network is None or not isinstance(state.keep, KeepMargins) or not problem.hidden_layers:
        return False
    return len(problem.live) <= MOST_INPUTS and min(state.keep.margins[0].tolist()) >= 1


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: a network with the smallest neurons there are, if that is better, and the bound they set."""
    assert state.network is not None
    assert isinstance(state.keep, KeepMargins)
    finding = smallest_neurons(problem, state.network, state.keep, limits.deadline())
    if finding.network is None or state.goal.better(finding.network.links, state.value):
        return finding
    return replace(finding, network=None)


def smallest_neurons(problem: Problem, start: Network, keep: KeepMargins, deadline: Deadline) -> Finding:
    """The bound, and the start with smaller neurons where they were found.

    Parameters
    ----------
    problem, start, keep
        Rows, a network with the margins, and the margins.
    deadline
        When to stop; what is not found until then counts as no links.
    """
    margins = [[int(m) for m in layer] for layer in keep.margins]
    bound = problem.weight_bound
    above = sum(max(0, -(-m // bound)) for layer in margins[1:] for m in layer)
    fewest: dict[int, int] = {}
    smallest: dict[int, Integers] = {}
    for margin in sorted(set(margins[0]), reverse=True):
        weights = None if deadline.passed else _fewest(problem, margin)
        if weights is None:
            break
        smallest[margin], fewest[margin] = weights, int(np.count_nonzero(weights))
    total = above + sum(fewest.get(m, 0) for m in margins[0])
    order = input_order(problem.data).tolist()
    proof = {"kind": "smallest-neurons", "single": [list(entry) for entry in fewest.items()], "pair": None}
    network = _smaller(problem, start, keep, smallest)
    return Finding(network, bound=total, proof=proof | {"order": order})


def _fewest(problem: Problem, margin: int) -> Integers | None:
    """A neuron with this margin, + on the first row, and the fewest links; None if there are too many to try."""
    data, bound = problem.data, problem.weight_bound
    signs = (np.arange(len(data)) == 0).astype(np.int64)
    found = best_neuron(data, signs, bound, level=margin - 1, most_links=data.shape[1], most_nodes=_NODES)
    return found.weights if found.complete else None


def _smaller(problem: Problem, start: Network, keep: KeepMargins, smallest: dict[int, Integers]) -> Network | None:
    """The start with the smallest constant neurons; None if that is no network."""
    first = start.weights[0].copy()
    sums = start.pre_activations(problem.data)[0]
    for j, margin in enumerate(keep.margins[0].tolist()):
        column = smallest.get(margin)
        constant = bool((sums[:, j] > 0).all() or (sums[:, j] < 0).all())
        if constant and column is not None and (problem.data @ column > 0).all():
            first[:, j] = column * np.sign(sums[0, j])
    network = Network((first, *start.weights[1:]), start.weight_bound)
    return network if keep.holds(problem, network) else None
