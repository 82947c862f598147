"""Trees over sets of rows: the best neuron that is right on some rows and wrong on others, in about a microsecond.

A tree splits a list of neurons on the row that divides them most evenly.  A node knows on which rows all its neurons
are wrong, on which at least one is, and the best value; what cannot have an answer is left out.  Lists hold each
dichotomy once, trees both of its orientations: which rows are wrong, and which are right.

A neuron is *dominated* by one of no smaller value that is wrong only where it is.  Where a neuron may be right on any
row, dominated ones are not needed; that leaves about a tenth of a long list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.neuron.all_weights import NeuronList, Words
from bemi.exact import Integers
from bemi.jit import njit
from bemi.limits import FOREVER, Deadline

LEAF = 12
"""Neurons that are looked at one by one."""

LOOK = 1 << 20
"""Steps between two looks at the clock: some hundredths of a second."""

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
        By list, of the tree of all entries and of that of those that are not dominated; -1 for an empty list, or if
        the tree was not asked for.
    ends
        Where each list's entries begin, and at last their number.
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
    ends: Integers

    @classmethod
    def of(
        cls,
        lists: Sequence[NeuronList],
        rows: int,
        *,
        all_entries: bool = True,
        best_only: bool = False,
        deadline: Deadline = FOREVER,
    ) -> Forest:
        """Trees of these lists: of all entries, and of those that are not dominated.

        Finding these takes a part of the time left; if there is none, more entries and larger leaves are kept.
        """
        every = all_rows(rows)
        wrong = np.concatenate([np.stack([a.wrong, ~a.wrong & every], axis=1).reshape(-1, len(every)) for a in lists])
        values = np.concatenate([np.repeat(a.values, 2) for a in lists])
        neurons = np.concatenate([np.repeat(np.arange(len(a.values)), 2) for a in lists])
        turned = np.tile([False, True], len(values) // 2)
        ends = np.cumsum([2 * len(a.values) for a in lists])
        entries = [np.arange(end - 2 * len(a.values), end, dtype=np.int32) for a, end in zip(lists, ends, strict=True)]
        nothing = entries[0][:0]
        members = [part if all_entries else nothing for part in entries]
        for part in entries:
            share = deadline.share(UNDOMINATED_SHARE)
            members.append(_undominated(wrong, values, part, rows, share) if best_only else nothing)
        tables, roots = _trees(wrong, values, members, rows, deadline)
        return cls(
            *(tuple(lists), every, wrong, values, neurons, turned, *tables, np.concatenate(members)),
            roots.reshape(2, len(lists)),
            np.append(0, ends),
        )

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


def _trees(
    wrong: Words, values: Integers, members: Sequence[NDArray[np.int32]], rows: int, deadline: Deadline
) -> tuple[tuple[Words, Words, Integers, Integers, Integers], Integers]:
    """The nodes of a tree for each set of entries, and their roots; entries are put in the order of the leaves."""
    sizes = [len(part) for part in members]
    most = 2 * sum(sizes) + 1
    always, sometimes = np.zeros((most, wrong.shape[1]), np.uint64), np.zeros((most, wrong.shape[1]), np.uint64)
    best, span = np.zeros(most, np.int64), np.zeros((most, 2), np.int64)
    children = np.full((most, 2), -1, dtype=np.int64)
    roots, nodes, begin = np.full(len(sizes), -1, dtype=np.int64), 0, 0
    for number, part in enumerate(members):
        if len(part):
            roots[number] = node = nodes
            span[node] = begin, begin + len(part)
            nodes += 1
            while node < nodes:
                leaf = len(part) if deadline.passed else LEAF
                node, nodes = _grow(
                    *(
                        wrong,
                        values,
                        part,
                        begin,
                        rows,
                        always,
                        sometimes,
                        best,
                        span,
                        children,
                        node,
                        nodes,
                        leaf,
                        LOOK,
                    ),
                )
        begin += len(part)
    tables = always[:nodes].copy(), sometimes[:nodes].copy(), best[:nodes].copy()
    return (*tables, span[:nodes].copy(), children[:nodes].copy()), roots


UNDOMINATED_SHARE = 0.2
"""Part of the time left that it may take to find out which neurons of a list are dominated."""

FIRST_BLOCK = 1000
"""Entries with the fewest wrong rows that are kept unseen; each block after that is as large as all before it."""


def _undominated(
    wrong: Words, values: Integers, entries: NDArray[np.int32], rows: int, deadline: Deadline
) -> NDArray[np.int32]:
    """The entries that are not dominated, and a few that are: those of a block are not compared with each other."""
    ranked = entries[np.argsort(np.bitwise_count(wrong[entries]).sum(axis=1), kind="stable")]
    kept, done = ranked[:0], 0
    while done < len(ranked):
        block = ranked[done : done + max(FIRST_BLOCK, done)]
        done += len(block)
        if len(kept) and not deadline.passed:
            members = np.sort(kept)
            (always, _, best, span, children), _ = _trees(wrong, values, [members], rows, deadline)
            dominated, place = np.zeros(len(block), dtype=bool), 0
            while place < len(block) and not deadline.passed:
                place = _dominated(block, place, dominated, wrong, values, members, always, best, span, children, LOOK)
            block = block[~dominated]
        kept = np.concatenate([kept, block])
    return np.sort(kept)


@njit(cache=True)
def _dominated(entries, n, result, wrong, values, members, always, best, span, children, most):
    """By entry, whether one of a tree has no smaller value and is wrong only where it is; ``n`` is where to go on."""
    words = wrong.shape[1]
    stack = np.zeros(len(best) + 2, np.int64)
    steps = 0
    while n < len(entries) and steps < most:
        entry = entries[n]
        size = 1
        stack[0] = 0
        while size > 0 and not result[n]:
            size -= 1
            steps += 1
            node = stack[size]
            dead = best[node] < values[entry]
            for w in range(words):
                dead |= (always[node, w] & ~wrong[entry, w]) != 0
            if dead:
                continue
            if children[node, 0] >= 0:
                stack[size], stack[size + 1] = children[node, 1], children[node, 0]
                size += 2
                continue
            for m in range(span[node, 0], span[node, 1]):
                other = members[m]
                fits = values[other] >= values[entry]
                for w in range(words):
                    fits &= (wrong[other, w] & ~wrong[entry, w]) == 0
                if fits:
                    result[n] = True
                    break
        n += 1
    return n


@njit(cache=True)
def _grow(wrong, values, members, begin, rows, always, sometimes, best, span, children, node, nodes, leaf, most):
    """Grow a tree, whose entries are those from ``begin`` on, from a node on; returns where to go on, and its end."""
    words = wrong.shape[1]
    left = np.empty(len(members), np.int32)
    steps = 0
    while node < nodes and steps < most:
        low, high = span[node, 0] - begin, span[node, 1] - begin
        steps += high - low + rows
        best[node] = values[members[low]]
        for w in range(words):
            a, o = ~np.uint64(0), np.uint64(0)
            for m in range(low, high):
                a &= wrong[members[m], w]
                o |= wrong[members[m], w]
            always[node, w], sometimes[node, w] = a, o
        if high - low > leaf:
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
            span[nodes, 0], span[nodes, 1] = begin + low, begin + place
            span[nodes + 1, 0], span[nodes + 1, 1] = begin + place, begin + high
            nodes += 2
        node += 1
    return node, nodes


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
