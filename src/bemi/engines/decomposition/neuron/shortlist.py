"""All dichotomies of one neuron above a level of margin.

If one row has a small L1 norm, every margin is small, rows are far apart in comparison, and hardly any two of them can
be merged (:mod:`~bemi.engines.decomposition.max_margin.components`).  But a dichotomy needs its margin on *all* rows,
and few dichotomies have it: tens or hundreds of the 2^K.  So they are listed, by a best-first search over the signs of
one neuron, and a wide-margin neuron of a better network must be one of them.

The search's tree is the proof that none is missing::

    ["L", multipliers]          no margin above the level
    ["W", multipliers]          all signs are fixed: a member of the list, and the bound on its margin
    ["T", row, plus, minus]     the sign of the row and of everything merged with it
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bemi.engines.decomposition.max_margin.nodes import Groups, PartialNeuron
from bemi.engines.decomposition.neuron.linear_program import NeuronLP, Signs
from bemi.engines.decomposition.neuron.shortlist_kernel import BRANCH, MEMBER, UNDECIDED, Store, explore, new_store


class Shortlist:
    """Dichotomies in order of decreasing margin; each also stands for its flip.

    Attributes
    ----------
    level
        Every dichotomy with a margin above this is listed.
    members, bounds
        Pairs of bound and signs; only the bounds.
    """

    def __init__(self, level: int, members: list[tuple[int, Signs]]) -> None:
        members = sorted(members, key=lambda member: -member[0])
        self.level, self.members = level, members
        self.bounds = [bound for bound, _ in members]
        rows = len(members[0][1]) if members else 0
        # Bit 2i of plus[k]: member i gives row k a +; bit 2i + 1: its flip does.
        self._plus = [
            sum((1 if signs[k] > 0 else 2) << (2 * i) for i, (_, signs) in enumerate(members)) for k in range(rows)
        ]

    def count(self, need: int) -> int:
        """How many members have a bound of at least ``need``."""
        return int(np.searchsorted(-np.array(self.bounds), -need, side="right"))

    def narrowed(self, neuron: PartialNeuron, count: int) -> PartialNeuron | None:
        """The neuron with the signs implied if it is one of the first ``count`` members; None if none fits it."""
        left = (1 << (2 * count)) - 1
        if not left:
            return None
        first: dict[int, int] = {}
        for k, (sign, group) in enumerate(zip(neuron.signs.tolist(), neuron.group.tolist(), strict=True)):
            mine = self._plus[k]
            if sign:
                left &= mine if sign > 0 else ~mine
            elif group in first:
                left &= ~(mine ^ first[group])
            else:
                first[group] = mine
        if not left:
            return None
        numbers: dict[int, int] = {}
        group = np.array([numbers.setdefault(mine & left, k) for k, mine in enumerate(self._plus)])
        signs = neuron.signs
        if neuron.signed:
            settled = {left: 1, 0: -1}
            signs = np.array([settled.get(mine & left, 0) for mine in self._plus], dtype=np.int8)
        best = self.bounds[((left & -left).bit_length() - 1) // 2]
        same = np.array_equal(signs, neuron.signs) and np.array_equal(group, neuron.group) and best >= neuron.bound
        return neuron if same else PartialNeuron(signs, group, neuron.known, min(neuron.bound, best))


class Lister:
    """Lists the dichotomies that respect some groups, in order of margin, a few linear programs at a time."""

    def __init__(self, lp: NeuronLP, groups: Groups, most: int) -> None:
        rows, inputs = lp.data.shape
        self._lp, self._groups = lp, groups
        self._store = new_store(most, rows, inputs, lp.basis_room(rows))
        self._arguments = kernel_arguments(lp)
        self._signs = np.zeros(rows, dtype=np.int8)
        self._signs[groups == groups[np.argmin(lp.norms)]] = 1  # a dichotomy stands for its flip
        self._floor = -1
        self.more = True

    @property
    def level(self) -> int:
        """All dichotomies with margins above this are listed."""
        store = self._store
        return max([self._floor, *store.bound[: store.used[0]].tolist()])

    @property
    def solved(self) -> int:
        """Linear programs so far."""
        return int(self._store.used[0])

    def extend(self, lowest: int, nodes: int) -> None:
        """Solve ``nodes`` more linear programs, or stop once every dichotomy above ``lowest`` is listed."""
        store = self._store
        self._floor = max(self._floor, lowest, 0)  # a margin below 1 is none
        most = min(store.bound.size, self.solved + max(2, nodes))
        self._floor, outcome = explore(
            store, *self._arguments, self._groups, self._floor, self._signs, most, False, np.zeros((0, 0))
        )
        self.more = outcome == UNDECIDED and self.solved + 2 <= store.bound.size

    def shortlist(self) -> Shortlist:
        """The dichotomies listed so far."""
        store, level = self._store, self.level
        members = []
        for place in np.flatnonzero(store.kind[: store.used[1]] == MEMBER):
            at = slice(store.begin[place], store.end[place])
            signs = store.signs[store.plus[place]].copy()
            multipliers = zip(store.mult_row[at].tolist(), store.mult_weight[at].tolist(), strict=True)
            bound = self._lp.exact_bound(signs, tuple(multipliers))
            if bound > level:
                members.append((bound, signs))
        return Shortlist(level, members)

    def proof(self) -> list[Any]:
        """The tree that proves that nothing above the level is missing."""
        return proof_tree(self._store)


def kernel_arguments(lp: NeuronLP) -> tuple[Any, ...]:
    """Data about the rows for the compiled searches."""
    return (*lp.tables, lp.data, lp.norms, float(lp.weight_bound), lp.denominator, *lp.live_of)


def proof_tree(store: Store) -> list[Any]:
    """The tree of a store in the certificate's format."""
    places = int(store.used[1])
    kinds, rows = store.kind[:places].tolist(), store.row[:places].tolist()
    plus, minus = store.plus[:places].tolist(), store.minus[:places].tolist()
    begin, end = store.begin[:places].tolist(), store.end[:places].tolist()
    pairs = np.stack([store.mult_row[: store.used[2]], store.mult_weight[: store.used[2]]], axis=1).tolist()
    spots: list[Any] = [None] * places
    # Children come after their parents.
    for place in range(places - 1, -1, -1):
        if kinds[place] == BRANCH:
            spots[place] = ["T", rows[place], spots[plus[place]], spots[minus[place]]]
        else:
            spots[place] = ["W" if kinds[place] == MEMBER else "L", pairs[begin[place] : end[place]]]
    return spots[0]
