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

from collections.abc import Callable
from typing import Any

import numpy as np

from bemi.engines.decomposition.max_margin.nodes import Groups, PartialNeuron
from bemi.engines.decomposition.neuron.linear_program import NeuronLP, Signs
from bemi.engines.decomposition.neuron.shortlist_kernel import BRANCH, MEMBER, UNDECIDED, Store, explore, new_store

Member = Callable[[Signs, list[list[int]]], list[Any]]
"""Makes the tree of a dichotomy in the list from its signs and multipliers."""


def listed(signs: Signs, multipliers: list[list[int]]) -> list[Any]:
    """The tree of a member that a list has."""
    return ["W", multipliers]


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
    """Lists the dichotomies that respect some groups, in order of margin, a few linear programs at a time.

    ``floor`` is the level that was asked for, or more where a linear program could not be solved.

    Parameters
    ----------
    lp, groups
        The rows, and which of them get equal signs.
    most
        Linear programs at most.
    signs
        That some rows have, 0 for the others; by default that of the row of smallest norm, since a dichotomy stands for
        its flip.
    """

    def __init__(self, lp: NeuronLP, groups: Groups, most: int, signs: Signs | None = None) -> None:
        rows, inputs = lp.data.shape
        self._lp, self._groups = lp, groups
        self._store = new_store(most, rows, inputs, lp.basis_room(rows))
        self._arguments = kernel_arguments(lp)
        self._signs = (groups == groups[np.argmin(lp.norms)]).astype(np.int8) if signs is None else signs
        self.floor = -1
        self.more = True

    @property
    def level(self) -> int:
        """All dichotomies with margins above this are listed."""
        store = self._store
        return max([self.floor, *store.bound[: store.used[0]].tolist()])

    @property
    def solved(self) -> int:
        """Linear programs so far."""
        return int(self._store.used[0])

    @property
    def open(self) -> list[tuple[int, Signs]]:
        """What is left to search: bounds above the level that is asked for, and signs."""
        bounds = self._store.bound[: self.solved]
        return [(int(bounds[node]), self._store.signs[node].copy()) for node in np.flatnonzero(bounds > self.floor)]

    @property
    def widest_point(self) -> tuple[float, Signs] | None:
        """The largest margin of the weights of any node, which are no integers, with their signs."""
        least = self._store.least[: self.solved]
        node = int(least.argmax()) if len(least) else -1
        return (float(least[node]), self._store.nearest[node].copy()) if node >= 0 and least[node] > 0 else None

    def extend(self, lowest: int, nodes: int) -> None:
        """Solve ``nodes`` more linear programs, or stop once every dichotomy above ``lowest`` is listed."""
        store = self._store
        self.floor = max(self.floor, lowest, 0)  # a margin below 1 is none
        most = min(store.bound.size, self.solved + max(2, nodes))
        self.floor, outcome = explore(
            store, *self._arguments, self._groups, self.floor, self._signs, most, False, np.zeros((0, 0))
        )
        self.more = outcome == UNDECIDED and self.solved + 2 <= store.bound.size

    def shortlist(self) -> Shortlist:
        """The dichotomies that are listed completely so far."""
        return Shortlist(self.level, [member for member in self.members if member[0] > self.level])

    @property
    def members(self) -> list[tuple[int, Signs]]:
        """All dichotomies found so far, with bounds on their margins."""
        store, members = self._store, []
        for place in np.flatnonzero(store.kind[: store.used[1]] == MEMBER):
            at = slice(store.begin[place], store.end[place])
            signs = store.signs[store.plus[place]].copy()
            multipliers = zip(store.mult_row[at].tolist(), store.mult_weight[at].tolist(), strict=True)
            members.append((self._lp.exact_bound(signs, tuple(multipliers)), signs))
        return members

    def proof(self, member: Member = listed) -> list[Any]:
        """The tree that proves that nothing above the level is missing."""
        return proof_tree(self._store, member)


def kernel_arguments(lp: NeuronLP) -> tuple[Any, ...]:
    """Data about the rows for the compiled searches."""
    return (*lp.tables, lp.data, lp.norms, float(lp.weight_bound), lp.denominator, *lp.live_of)


def proof_tree(store: Store, member: Member = listed) -> list[Any]:
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
            multipliers = pairs[begin[place] : end[place]]
            is_member = kinds[place] == MEMBER
            spots[place] = member(store.signs[plus[place]], multipliers) if is_member else ["L", multipliers]
    return spots[0]
