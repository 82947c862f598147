"""Min-Weight with margins by lists: for each margin that a first-layer neuron keeps, all dichotomies with the fewest
links that have it, combined in every way that the upper layers accept.
"""

from __future__ import annotations

import numpy as np

from bemi.engines.decomposition.lists.max_margin import can_list, signed_rows, steps_of
from bemi.engines.decomposition.lists.proofs import can_be_checked, links_proof
from bemi.engines.decomposition.lists.upper_layers import smallest_layers
from bemi.engines.portfolio import Finding, StageState
from bemi.limits import Limits
from bemi.network import Network
from bemi.problem.problem import KeepMargins, Problem
from bemi.stages.result import Outcome, Proof


def applies(problem: Problem, state: StageState) -> bool:
    """Whether there is a network with margins on a problem whose neurons can be listed."""
    if state.network is None or not isinstance(state.keep, KeepMargins) or not can_list(problem, state.limits):
        return False
    return min(int(layer.min()) for layer in state.keep.margins) >= 1


def uncertified(problem: Problem, state: StageState) -> bool:
    """Whether lists apply, but are too long for the checker."""
    return applies(problem, state) and not can_be_checked(len(problem.live), problem.weight_bound)


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: the smallest combination of listed neurons, and a bound."""
    assert isinstance(state.keep, KeepMargins)
    assert state.network is not None
    margins = [[int(m) for m in layer] for layer in state.keep.margins]
    rows, clock = signed_rows(problem), limits.deadline()
    found = smallest_layers(
        *(rows, problem.hidden_layers, problem.weight_bound, margins, state.network.links),
        steps=steps_of(limits),
        deadline=clock,
    )
    network = None
    if found.layers is not None:
        first = np.zeros((problem.data.shape[1], problem.layers[1]), dtype=np.int64)
        first[problem.live] = found.layers[0]
        network = Network((first, *found.layers[1:]), problem.weight_bound)
    proof = links_proof(rows, problem.hidden_layers, problem.weight_bound, margins[0], found, clock)
    support: Proof = "computed" if proof is None else "certified"
    return Finding(network, bound=found.bound, proof=proof, support=support, outcome=Outcome.LIMIT)
