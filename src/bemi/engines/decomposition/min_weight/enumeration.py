"""Min-Weight with margins where neurons can be listed: the fewest links of any neuron with a margin, and of pairs.

A neuron with a required margin m needs at least as many links as the smallest neuron whose sums are at least m on all
rows, whatever its signs.  For a margin near the largest possible one, which only constant neurons have, few neurons are
left, for any weight bound.

With one hidden layer and one output, more is known where all neurons but two must be constant, because no other neuron
has their margins, and no neuron is right on all rows: then the other two are a pair as in
:mod:`bemi.engines.decomposition.max_margin.few_splits`, and the fewest links of a pair with their margins count.  The
output then needs both and a constant: three links.

R52 in docs/certificates.md defines the proof, with rows in the given order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bemi.engines.decomposition.max_margin import few_splits
from bemi.engines.decomposition.neuron.exhaustive import input_order, neurons
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import KeepMargins, Problem

_NODES = 1_000_000  # of a search for the fewest links: a fifth of a second for 160 rows
_OUTPUT_LINKS = 3  # of an output that combines a pair


def applies(problem: Problem, state: StageState) -> bool:
    """Whether there is a network with margins of which all weight vectors of a neuron can be tried."""
    if state.network is None or not isinstance(state.keep, KeepMargins) or not problem.hidden_layers:
        return False
    return len(problem.live) <= few_splits.MOST_INPUTS and min(state.keep.margins[0].tolist()) >= 1


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
    proof: dict[str, Any] = {"kind": "smallest-neurons", "single": [list(entry) for entry in fewest.items()]}
    proof |= {"pair": None, "order": order}
    pair = _pair(problem, margins, deadline)
    if pair is not None:
        both = sorted(margins[0])[:2]
        with_pair = sum(fewest.get(m, 0) for m in margins[0]) - sum(fewest.get(m, 0) for m in both)
        with_pair += pair.links + _OUTPUT_LINKS
        if with_pair > total:
            total, proof["pair"] = with_pair, {"wide": sorted(margins[0])[2], "rows": pair.rows, "links": pair.links}
    network = _smaller(problem, start, keep, smallest, pair)
    return Finding(network, bound=total, proof=proof)


def _fewest(problem: Problem, margin: int) -> Integers | None:
    """A neuron with this margin, + on the first row, and the fewest links; None if there are too many to try."""
    inputs = problem.data.shape[1]
    signs = (np.arange(len(problem.data)) == 0).astype(np.int64)
    found = neurons(problem.data, signs, problem.weight_bound, level=margin - 1, most_links=inputs, most_nodes=_NODES)
    return found.weights[:, 0] if found.complete and found.margins.size else None


def _smaller(
    problem: Problem, start: Network, keep: KeepMargins, smallest: dict[int, Integers], pair: _SmallPair | None
) -> Network | None:
    """The start with the smallest constant neurons, and with the pair if there is one; None if that is no network."""
    margins, first = keep.margins[0], start.weights[0].copy()
    sums = start.pre_activations(problem.data)[0]
    for j, margin in enumerate(margins.tolist()):
        column = smallest.get(margin)
        constant = bool((sums[:, j] > 0).all() or (sums[:, j] < 0).all())
        if constant and column is not None and (problem.data @ column > 0).all():
            first[:, j] = column * np.sign(sums[0, j])
    candidates = [Network((first, *start.weights[1:]), start.weight_bound)]
    order = np.argsort(margins, kind="stable")
    constants = [smallest.get(int(margins[j])) for j in order[2:]]
    if pair is not None and all(column is not None for column in constants):
        bound = problem.weight_bound
        whole = np.stack([pair.weights[:, 0], pair.weights[:, 1], *(c for c in constants if c is not None)], axis=1)
        output = np.zeros((len(order), 1), dtype=np.int64)
        output[:3, 0] = bound, bound, -pair.side * bound
        back = np.argsort(order)
        candidates.append(Network((whole[:, back], output[back]), bound))
    kept = [network for network in candidates if keep.holds(problem, network)]
    return min(kept, key=lambda network: network.links, default=None)


@dataclass(frozen=True, eq=False)
class _SmallPair:
    """The smallest pair.

    Attributes
    ----------
    links, weights
        Its links, and the weights of the two neurons, that with the smaller margin first.
    side
        The code of the rows on which both are right.
    rows
        The rows for which neurons were listed, by side.
    """

    links: int
    weights: Integers
    side: int
    rows: list[int]


def _pair(problem: Problem, margins: list[list[int]], deadline: Deadline) -> _SmallPair | None:
    """The smallest pair, if all other neurons are constant and the pair is needed; None if that is not known."""
    data, bound = problem.data, problem.weight_bound
    few_enough = (2 * bound + 1) ** len(problem.live) <= few_splits.MOST_VECTORS
    if not few_enough or not few_splits.applicable(problem) or deadline.passed:
        return None
    low, high, *wide = sorted(margins[0])
    codes = problem.codes[:, 0]
    first_plus = (np.arange(len(codes)) == 0).astype(np.int64)
    split = neurons(data, first_plus, bound, level=wide[0] - 1, constant=False)
    single = neurons(data, codes, bound)
    if not (split.complete and single.complete) or split.margins.size or single.margins.size:
        return None
    best: _SmallPair | None = None
    rows: list[int] = []
    for side in (1, -1):
        row, listed = few_splits.shortest_list(data, codes, bound, side, low - 1)
        rows.append(row)
        if not listed.complete or len(listed.margins) == few_splits.LIST:
            return None
        patterns = codes[:, None] * (data @ listed.weights) > 0
        tried: set[tuple[bytes, bool]] = set()
        for at in np.argsort(listed.links, kind="stable").tolist():
            wider = bool(listed.margins[at] >= high)
            key = (np.packbits(patterns[:, at]).tobytes(), wider)
            room = data.shape[1] if best is None else best.links - int(listed.links[at]) - 1
            if key in tried or room < 1:
                continue
            tried.add(key)
            if deadline.passed:
                return None
            needed = np.where(patterns[:, at] & (codes != side), 0, codes)
            level = (low if wider else high) - 1
            second = neurons(data, needed, bound, level=level, most_links=room, most_nodes=_NODES)
            if not second.complete:
                return None
            if second.margins.size:
                both = [listed.weights[:, at], second.weights[:, 0]]
                weights = np.stack(both[::-1] if wider else both, axis=1)
                best = _SmallPair(int(listed.links[at] + second.links[0]), weights, side, rows)
    return best
