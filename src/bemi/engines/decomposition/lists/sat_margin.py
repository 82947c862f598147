"""Sat-Margin by lists: a network with margins whose outputs are confident on all rows, if listed neurons make one."""

from __future__ import annotations

import math
from dataclasses import replace

from bemi.engines.decomposition.lists.max_margin import Combining, can_list, signed_rows
from bemi.engines.portfolio import Finding, StageState
from bemi.limits import Limits
from bemi.network import confidence_threshold
from bemi.problem.problem import Problem


def applies(problem: Problem, state: StageState) -> bool:
    """Whether neurons can be listed and nothing is known against a network that is right on all rows."""
    return can_list(problem, state.limits) and (state.bound is None or state.bound == state.goal.trivial)


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: the first network that is found."""
    rows = signed_rows(problem)
    if not rows.any(axis=1).all():
        return Finding()
    threshold = confidence_threshold(problem.layers, problem.weight_bound)
    combining = Combining(problem, rows, replace(limits, gap=math.inf), None, least_output=threshold)
    combining.run()
    return Finding(combining.best)
