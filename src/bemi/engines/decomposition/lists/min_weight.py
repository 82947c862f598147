"""Min-Weight with margins by lists: for each margin that a first-layer neuron keeps, all dichotomies with the fewest
links that have it, combined in every way that the upper layers accept.
"""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from bemi.engines.decomposition.lists.bitset_tree import Forest
from bemi.engines.decomposition.lists.combination import combine
from bemi.engines.decomposition.lists.forms import Slots, smallest_forms
from bemi.engines.decomposition.lists.max_margin import STEPS_PER_NODE, can_list, combined_network, signed_rows
from bemi.engines.decomposition.lists.neuron_list import Lister, NeuronList
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.problem.problem import KeepMargins, Problem
from bemi.stages.result import Outcome

LIST_SHARE = 0.6
"""Part of the time for the lists."""


def applies(problem: Problem, state: StageState) -> bool:
    """Whether there is a network with margins on a problem whose neurons can be listed."""
    if state.network is None or not isinstance(state.keep, KeepMargins) or not can_list(problem) or len(problem.hidden_layers) > 1:
        return False
    return min(int(layer.min()) for layer in state.keep.margins) >= 1


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: the smallest combination of listed neurons, and a bound if the lists are complete."""
    assert isinstance(state.keep, KeepMargins)
    assert state.network is not None
    clock = limits.deadline()
    rows = signed_rows(problem)
    margins = [[int(m) for m in layer] for layer in state.keep.margins]
    levels = sorted(set(margins[0]), reverse=True)
    lists = _lists(rows, problem.weight_bound, levels, clock.share(LIST_SHARE))
    chosen = np.array([levels.index(m) for m in margins[0]])
    alike = tuple(tuple(j for j, m in enumerate(margins[0]) if m == level) for level in levels)
    forms = smallest_forms(problem.layers[1], problem.weight_bound, margins[1][0], alike)
    caps = np.array([_cap(rows, problem.weight_bound, listed) for listed in lists])[chosen]
    forest = Forest.of(lists, len(rows))
    slots = [each for number, form in enumerate(forms) for each in Slots.of(form, chosen.tolist(), forms[:number])]
    steps = math.inf if limits.nodes is None else limits.nodes * STEPS_PER_NODE
    found = combine(forest, slots, chosen, caps, -state.network.links, steps=steps, deadline=clock)
    best = None
    if found.entries is not None:
        assert found.form is not None
        best = combined_network(problem, [lists[n] for n in chosen], forest, found.form, found.entries)
    complete = all(listed.complete for listed in lists)
    open_ = found.open if complete else slots
    bound = max([found.value, *(int(caps.sum()) + each.form.value for each in open_)])
    return Finding(best, bound=-bound, certified=False, outcome=Outcome.LIMIT)


def _lists(rows: Integers, weight_bound: int, levels: list[int], deadline: Deadline) -> list[NeuronList]:
    """A list of the smallest neurons for each margin."""
    lister = Lister(rows, weight_bound)
    return [lister.list(level, by_links=True, deadline=deadline) for level in levels]


def _cap(rows: Integers, weight_bound: int, listed: NeuronList) -> int:
    """No neuron with the list's margin has fewer links than the result, negated.

    A sum of absolute value m needs so many links that P times the largest absolute inputs of the row add up to m.
    """
    if listed.complete:
        return int(listed.values[0])
    largest = -np.sort(-np.abs(rows), axis=1)
    return -max(1 + sum(weight_bound * s < listed.level for s in accumulate(row)) for row in largest.tolist())
