"""Objectives of Thorbjarnarson and Yorke-Smith as sums over rows: what the output sums of a row are worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bemi.exact import Integers
from bemi.problem.problem import Problem
from bemi.programs.encoding import Goal
from bemi_lab.baselines import objectives
from bemi_lab.baselines.neighbourhoods import RowValues


@dataclass(frozen=True)
class RowObjective:
    """An objective that is a sum over rows.

    Attributes
    ----------
    goal
        From a problem, and optionally tighter bounds on weights as ``within``, to the goal.
    values
        From a problem to the value of each row, by its output sums; larger is better.  Counts are flat, so among
        equally many the smaller hinge loss is better: single neurons then have a slope to follow.
    """

    goal: Callable[..., Goal]
    values: Callable[[Problem], RowValues]


def _hinge(problem: Problem) -> RowValues:
    """Minus the row's loss, in the integer units of Min-Hinge."""
    largest = objectives.largest_sum(problem)
    return lambda sums: -(np.maximum(0, largest - 4 * problem.codes * sums) ** 2).sum(axis=1)


def _before_hinge(problem: Problem, count: RowValues) -> RowValues:
    """A count, and among equal ones the smaller loss; no sum of losses over all rows outweighs a count of 1."""
    if not problem.hidden_layers:
        return count
    most = len(problem.codes) * problem.codes.shape[1] * (5 * objectives.largest_sum(problem)) ** 2 + 1
    hinge = _hinge(problem)
    return lambda sums: most * count(sums) + hinge(sums)


def _confident_outputs(problem: Problem) -> RowValues:
    """How many outputs of the row are confidently right."""
    threshold = -(-objectives.largest_sum(problem) // 4)
    return _before_hinge(problem, lambda sums: (problem.codes * sums >= threshold).sum(axis=1))


def _only_right(problem: Problem) -> RowValues:
    """1 if the only positive output is the right one, 0 if it is another.

    A row with no or several positive outputs makes the network infeasible, which all right rows together do not
    outweigh.
    """
    rows = len(problem.codes)

    def values(sums: Integers) -> Integers:
        positive = sums >= 0
        count = positive.sum(axis=1)
        right = (positive & (problem.codes > 0)).any(axis=1)
        return np.where(count == 1, right.astype(np.int64), -(rows + 1) * np.maximum(1, count - 1))

    return _before_hinge(problem, values)


SAT_MARGIN = RowObjective(objectives.sat_margin, _confident_outputs)
MIN_HINGE = RowObjective(objectives.min_hinge, _hinge)
MAX_CORRECT = RowObjective(objectives.max_correct, _only_right)
