"""Trees over sets of rows: the best neuron that is right on some rows and wrong on others, in about a microsecond.

A tree splits a list of neurons on the row that divides them most evenly.  A node knows on which rows all its neurons
are wrong, on which at least one is, and the best value; what cannot have an answer is left out.  Lists hold each
dichotomy once, trees both of its orientations: which rows are wrong, and which are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.neuron.all_weights import NeuronList, Words
from bemi.exact import Integers
from bemi.jit import njit

LEAF = 12
"""Neurons that are looked at one by one."""

_SAMPLE = 64  # neurons of a node that tell how evenly a row divides them


@dataclass(frozen=True, eq=False)
class Forest:
    """One tree for each list, in common arrays.

    Attributes
    ----------
    lists
        The lists.
    every
        The set of all rows.
    wrong, values
        The rows on which each entry is wrong, and its value; entries of a list follow each other, best first.
    neurons, turned
        The place of each entry's neuron in its list, and whether it is turned round.
    always, sometimes, best, span, children
        By node: rows on which all of its entries are wrong, on which some are; the best value; the entries as a part
        of ``members``; and the two children, or -1.
    members
        Entries in the order of the leaves.
    roots
        Of each tree; -1 for an empty list.
    """

    lists: tuple[NeuronList, ...]
    every: Words
    wrong: Words
    values: Integers
    neurons: Integers
    turned: NDArray[np.bool_]
    always: Words
    sometimes: Words
    best: Integers
    span: Integers
    children: Integers
    members: NDArray[np.int32]
    roots: Integers

    @classmethod
    def of(cls, lists: Sequence[NeuronList], rows: int) -> Forest:
        """Trees of these lists."""
        every = all_rows(rows)
        wrong = np.concatenate([np.stack([a.wrong, ~a.wrong & every], axis=1).reshape(-1, len(every)) for a in lists])
        values = np.concatenate([np.repeat(a.values, 2) for a in lists])
        neurons = np.concatenate([np.repeat(np.arange(len(a.values)), 2) for a in lists])
        turned = np.tile([False, True], len(values) // 2)
        first = np.concatenate([[0], np.cumsum([2 * len(a.values) for a in lists])])
        members = np.arange(len(values), dtype=np.int32)
        most = 2 * len(values) + len(lists) + 1
        always, sometimes = np.zeros((most, len(every)), np.uint64), np.zeros((most, len(every)), np.uint64)
        best, span = np.zeros(most, np.int64), np.zeros((most, 2), np.int64)
        children = np.full((most, 2), -1, dtype=np.int64)
        roots, nodes = np.full(len(lists), -1, dtype=np.int64), 0
        for number in range(len(lists)):
            if first[number] < first[number + 1]:
                roots[number] = nodes
                nodes = _grow(
                    *(wrong, values, members, first[number], first[number + 1], rows),
                    *(always, sometimes, best, span, children, nodes),
                )
        always, sometimes, best = always[:nodes].copy(), sometimes[:nodes].copy(), best[:nodes].copy()
        span, children = span[:nodes].copy(), children[:nodes].copy()
        tables = (always, sometimes, best, span, children)
        return cls(tuple(lists), every, wrong, values, neurons, turned, *tables, members, roots)

    def weights(self, number: int, entry: int) -> Integers:
        """The weights of an entry, which is from the list of that number."""
        column = self.lists[number].weights[:, self.neurons[entry]]
        return -column if self.turned[entry] else column


def all_rows(rows: int) -> Words:
    """The set of all rows."""
    words = np.full(-(-rows // 64), ~np.uint64(0))
    if rows % 64:
        words[-1] = (1 << (rows % 64)) - 1
    return words


@njit(cache=True)
def _grow(wrong, values, members, begin, end, rows, always, sometimes, best, span, children, nodes):
    """Add the tree of some entries; returns the number of nodes after it."""
    words = wrong.shape[1]
    root = nodes
    span[root, 0], span[root, 1] = begin, end
    nodes += 1
    left = np.empty(end - begin, np.int32)
    node = root
    while node < nodes:
        low, high = span[node, 0], span[node, 1]
        best[node] = values[members[low]]
        for w in range(words):
            a, o = ~np.uint64(0), np.uint64(0)
            for m in range(low, high):
                a &= wrong[members[m], w]
                o |= wrong[members[m], w]
            always[node, w], sometimes[node, w] = a, o
        if high - low > LEAF:
            step = max(1, (high - low) // _SAMPLE)
            row, balance = -1, -1
            for k in range(rows):
                w, bit = k >> 6, np.uint64(1) << np.uint64(k & 63)
                if not (sometimes[node, w] & ~always[node, w] & bit):
                    continue
                ones, seen = 0, 0
                for m in range(low, high, step):
                    ones += (wrong[members[m], w] & bit) != 0
                    seen += 1
                even = min(ones, seen - ones)
                if even > balance:
                    row, balance = k, even
            w, bit = row >> 6, np.uint64(1) << np.uint64(row & 63)
            # Entries stay in order, best first, on both sides.
            place, kept = low, 0
            for m in range(low, high):
                if wrong[members[m], w] & bit:
                    left[kept] = members[m]
                    kept += 1
                else:
                    members[place] = members[m]
                    place += 1
            for m in range(kept):
                members[place + m] = left[m]
            children[node, 0], children[node, 1] = nodes, nodes + 1
            span[nodes, 0], span[nodes, 1] = low, place
            span[nodes + 1, 0], span[nodes + 1, 1] = place, high
            nodes += 2
        node += 1
    return nodes


@njit(cache=True)
def fitting(
    root, right, wrong_on, floor, only_best, wrong, values, members, always, sometimes, best, span, children, stack, out
):
    """Fill ``out`` with entries of value at least ``floor`` that are right on some rows and wrong on others.

    All of them, in no order, or only the best one; returns their number.
    """
    words = right.shape[0]
    count = 0
    if root < 0:
        return count
    stack[0], size = root, 1
    while size > 0:
        size -= 1
        node = stack[size]
        if best[node] < floor:
            continue
        dead = False
        for w in range(words):
            if (always[node, w] & right[w]) | (wrong_on[w] & ~sometimes[node, w]):
                dead = True
                break
        if dead:
            continue
        if children[node, 0] >= 0:
            a, b = children[node, 0], children[node, 1]
            if best[a] > best[b]:
                a, b = b, a
            stack[size], stack[size + 1] = a, b
            size += 2
            continue
        for m in range(span[node, 0], span[node, 1]):
            entry = members[m]
            if values[entry] < floor:
                break
            fits = True
            for w in range(words):
                if (wrong[entry, w] & right[w]) | (wrong_on[w] & ~wrong[entry, w]):
                    fits = False
                    break
            if fits and only_best:
                out[0], count, floor = entry, 1, values[entry] + 1
                break
            if fits:
                out[count] = entry
                count += 1
    return count
