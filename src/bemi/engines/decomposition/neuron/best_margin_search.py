"""All neurons with given signs on some rows and a margin above a level on all: exact, for few inputs and small weights.

The search fixes the weights one after the other, each to all of its values, and keeps the smallest and the largest sum
that each row may still get.  It turns back where a row can no longer have its sign, or no longer a sum of absolute
value above the level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bemi.engines.decomposition.neuron.best_agreement_search import input_order
from bemi.exact import Integers
from bemi.jit import njit

MOST_NODES = 3_000_000
"""Partial weight vectors of a search; about half a second for 160 rows."""


@dataclass(frozen=True, eq=False)
class Neurons:
    """What a search found.

    Attributes
    ----------
    weights, margins
        One column per neuron, and its smallest absolute sum.
    complete
        Whether there are no others, or, if there was no room for all, no better ones.
    """

    weights: Integers
    margins: Integers
    complete: bool

    @property
    def links(self) -> Integers:
        """Non-zero weights of each neuron."""
        return np.count_nonzero(self.weights, axis=0)


def neurons(
    data: Integers,
    signs: Integers,
    weight_bound: int,
    *,
    level: int = 0,
    room: int = 1,
    constant: bool = True,
    most_links: int | None = None,
    most_nodes: int = MOST_NODES,
) -> Neurons:
    """Neurons with these signs and a margin above ``level``; the best if there is not room for all.

    The best are those with the largest margins, or with a limit on links those with the fewest.

    Parameters
    ----------
    data, signs, weight_bound
        Rows, the sign that each must get or 0 if it may get either, and P.
    level, room
        Margins must be larger than this; how many neurons to return at most.
    constant
        Whether neurons that give all rows the same sign count.
    most_links
        How many weights may differ from 0; None if there is no limit.
    most_nodes
        When to give up.
    """
    order = input_order(data)
    columns = np.ascontiguousarray(data[:, order].T)
    found = np.zeros((room, data.shape[1]), dtype=np.int64)
    margins = np.zeros(room, dtype=np.int64)
    scores = np.zeros(room, dtype=np.int64)
    by_links = most_links is not None
    links = data.shape[1] if most_links is None else most_links
    count, nodes = _search(
        columns,
        signs.astype(np.int64),
        weight_bound,
        level,
        links,
        by_links,
        constant,
        most_nodes,
        found,
        margins,
        scores,
    )
    weights = np.zeros((data.shape[1], count), dtype=np.int64)
    weights[order] = found[:count].T
    return Neurons(weights, margins[:count], nodes <= most_nodes)


@njit(cache=True, error_model="numpy")
def _search(columns, signs, bound, level, most_links, by_links, constant, most_nodes, found, margins, scores):
    """Fill ``found`` and ``margins``; returns their number, and the nodes: more than ``most_nodes`` if it gave up."""
    inputs, rows = columns.shape
    low, high = np.zeros((inputs + 1, rows), np.int64), np.zeros((inputs + 1, rows), np.int64)
    for k in range(rows):
        for i in range(inputs):
            high[0, k] += bound * abs(columns[i, k])
        low[0, k] = -high[0, k]
    trial = np.full(inputs + 1, -bound)
    links = np.zeros(inputs + 1, np.int64)
    count, nodes, depth = 0, 0, 0
    while depth >= 0:
        if trial[depth] > bound:
            depth -= 1
            continue
        weight = trial[depth]
        trial[depth] += 1
        nodes += 1
        if nodes > most_nodes:
            break
        links[depth + 1] = links[depth] + (weight != 0)
        if links[depth + 1] > most_links:
            continue
        lost, plus, minus = 0, 0, 0
        for k in range(rows):
            x = columns[depth, k]
            step = bound * abs(x)
            a, b = low[depth, k] + step + weight * x, high[depth, k] - step + weight * x
            low[depth + 1, k], high[depth + 1, k] = a, b
            can_plus, can_minus = (b > level) & (signs[k] >= 0), (a < -level) & (signs[k] <= 0)
            lost += not (can_plus | can_minus)
            plus += can_plus
            minus += can_minus
        if lost > 0 or (not constant and (minus == 0 or plus == 0)):
            continue
        if depth + 1 < inputs:
            depth += 1
            trial[depth] = -bound
            continue
        margin = abs(low[inputs, 0])
        for k in range(1, rows):
            margin = min(margin, abs(low[inputs, k]))
        slot = count
        if count == margins.shape[0]:
            slot = np.argmin(scores)
        else:
            count += 1
        margins[slot] = margin
        scores[slot] = -links[inputs] if by_links else margin
        for i in range(inputs):
            found[slot, i] = trial[i] - 1
        if count == margins.shape[0]:
            if by_links:
                most_links = min(most_links, -scores.min() - 1)
            else:
                level = max(level, scores.min())
    return count, nodes
