"""The single neuron at its best: the largest margin under given signs, or under any, proved.

U(s) is the largest margin of a neuron that gives each row k the sign s_k, and M* that of any neuron: s_k = 0 leaves a
sign open.  R61 in docs/certificates.md defines the proofs.

- If no input has both signs in the data, a constant neuron has the margin ``P min_k ||x^k||_1``, and none has more.
- Under given signs of all rows, branch and bound on the weights by linear programs (``weight_trees.py``).
- Few weights are all tried (``all_weights.py``), at a level that rises with each neuron that is found.
- Otherwise a best-first search over the signs lists the dichotomies whose linear programs have larger margins than the
  best neuron (``shortlist.py``), and each has a tree over its weights.  Where that is too long for a proof it goes on
  without one, for half as long as trying all weights takes; then these are tried if there is time.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bemi.engines.decomposition.neuron.all_weights import AllWeights, seconds_needed
from bemi.engines.decomposition.neuron.linear_program import NeuronLP, Signs
from bemi.engines.decomposition.neuron.shortlist import Lister
from bemi.engines.decomposition.neuron.weight_trees import WidestTree
from bemi.exact import Integers
from bemi.limits import Deadline

MOST_NEURONS = 10**12
"""Weight vectors of a neuron that are tried at most; minutes."""

FEW_NEURONS = 4 * 10**9
"""Weight vectors that are tried before anything else; less than a second."""

PROOF_DICHOTOMIES = 30_000
"""Linear programs of a search over dichotomies with a proof, which has as many sets of multipliers."""

SECONDS_PER_PROGRAM = 3e-5
"""About what one of them takes, with the trees over weights."""

_FIRST_NODES = 250
_AT_ONCE = 2000  # linear programs below an open node, beyond those of a proof
_POINT_NODES = 100  # of a tree that only looks for a better neuron
_TERNARY_SHARE = 0.2
_PATIENCE = 0.5  # with such a search, as part of the time that trying all weights takes

MOST_STEPS = 500_000_000
"""Steps of the checker that a proof may take, about; half a minute."""


@dataclass(frozen=True, eq=False)
class Widest:
    """What is known about the largest margin of a neuron.

    Attributes
    ----------
    weights, margin
        The best neuron found, and its margin; None and 0 if there is none.
    bound
        No neuron has a larger margin; equal to the margin unless the search was cut short.
    proof
        For the certificate; None if it would take the checker too long.
    """

    weights: Integers | None
    margin: int
    bound: int
    proof: list[Any] | None = None


def widest(data: Integers, signs: Integers, weight_bound: int, deadline: Deadline) -> Widest:
    """The neuron with these signs (0 for either) that has the largest margin, which is at least 1.

    Parameters
    ----------
    data, signs, weight_bound
        Rows, the sign that each must get or 0 if it may get either, and P.
    deadline
        When to give up.
    """
    if not data.any(axis=1).all():
        return Widest(None, 0, 0)  # no neuron has a margin on a row of zeros
    neurons = (2 * weight_bound + 1) ** int((data != 0).any(axis=0).sum())
    if signs.all():
        found = _with_signs(data, signs, weight_bound, deadline)
    elif signs.any():
        return _best_of_all(data, signs, weight_bound, deadline)
    elif not ((data > 0).any(axis=0) & (data < 0).any(axis=0)).any():
        return _constant(data, weight_bound)
    elif neurons <= FEW_NEURONS:
        return _best_of_all(data, signs, weight_bound, deadline)
    else:
        found = _of_all_dichotomies(data, weight_bound, deadline)
    if found.margin < found.bound and neurons <= MOST_NEURONS and not deadline.passed:
        again = _best_of_all(data, signs, weight_bound, deadline)
        return again if again.bound < found.bound else found
    return found


def _with_signs(data: Integers, signs: Integers, weight_bound: int, deadline: Deadline) -> Widest:
    """By branch and bound on the weights."""
    tree = WidestTree(data, signs, weight_bound)
    tree.grow(deadline)
    return Widest(tree.weights, tree.margin, tree.bound, tree.proof())


def _of_all_dichotomies(data: Integers, weight_bound: int, deadline: Deadline) -> Widest:
    """By branch and bound on the signs, with a proof or beyond one; see :class:`_Dichotomies`."""
    search = _Dichotomies(data, weight_bound, deadline)
    lister = search.below(None, PROOF_DICHOTOMIES)
    if search.bound > search.margin and not deadline.passed:
        search.go_on(_programs_worth_trying(data, weight_bound, deadline))
    most = search.bound
    if lister.level > most:  # more than the first search shows
        return Widest(search.weights, search.margin, most)
    proved, proof = search.proof(lister)
    return Widest(search.weights, search.margin, most, proof if proved == most else None)


def _programs_worth_trying(data: Integers, weight_bound: int, deadline: Deadline) -> float:
    """How many linear programs take part of the time of trying all weights; all if there is no time for that."""
    inputs, left = int((data != 0).any(axis=0).sum()), deadline.left
    needed = seconds_needed(inputs, weight_bound)
    if (2 * weight_bound + 1) ** inputs <= MOST_NEURONS and (left is None or needed < left):
        return _PATIENCE * needed / SECONDS_PER_PROGRAM
    return 0 if left is None else math.inf


class _Dichotomies:
    """Branch and bound on the signs, and on the weights of each dichotomy that may have the largest margin.

    The first dichotomy is that of the widest neuron with weights of -P, 0 and P.

    Attributes
    ----------
    weights, margin
        The best neuron found.
    """

    def __init__(self, data: Integers, weight_bound: int, deadline: Deadline) -> None:
        self._data, self._weight_bound, self._deadline = data, weight_bound, deadline
        self._lp = NeuronLP(data, weight_bound)
        self._row = int(self._lp.norms.argmin())  # gets + in all dichotomies
        self.weights: Integers | None = None
        self.margin = self._floor = 0
        self._known: dict[bytes, tuple[int, list[Any] | None]] = {}  # bounds of dichotomies, and their trees
        self._points: set[bytes] = set()
        self._pending: list[tuple[int, int, Signs]] = []
        self._pushed = 0
        if 3 ** len(self._lp.live) <= FEW_NEURONS:
            ternary = _best_of_all(data, np.zeros(len(data), np.int64), 1, deadline.share(_TERNARY_SHARE))
            if ternary.weights is not None:
                self._try(np.sign(data @ ternary.weights), _POINT_NODES)

    @property
    def bound(self) -> int:
        """No neuron has a larger margin."""
        left = -self._pending[0][0] if self._pending else 0
        return max(self.margin, self._floor, left, *(bound for bound, _ in self._known.values()))

    def below(self, signs: Signs | None, most: int) -> Lister:
        """Search the dichotomies that have these signs, with so many linear programs."""
        lister = Lister(self._lp, np.arange(len(self._data)), most, signs)
        nodes = _FIRST_NODES
        while True:
            lister.extend(self.margin, nodes)
            if (point := lister.widest_point) is not None and point[0] > self.margin:
                self._try(point[1], _POINT_NODES)
            for bound, own in sorted(lister.members, key=lambda member: -member[0]):
                if bound > self.margin and own.tobytes() not in self._known:
                    self._known[own.tobytes()] = bound, None
                    self._try(own)
            if not lister.more or lister.level <= self.margin or self._deadline.passed:
                break
            nodes *= 2
        self._floor = max(self._floor, lister.floor)
        for bound, own in lister.open:
            self._pushed += 1
            heapq.heappush(self._pending, (-bound, self._pushed, own))
        return lister

    def go_on(self, programs: float) -> None:
        """Search what is left, with so many linear programs."""
        while self._pending and -self._pending[0][0] > self.margin and programs > 0 and not self._deadline.passed:
            _, _, signs = heapq.heappop(self._pending)
            programs -= self.below(signs, _AT_ONCE).solved

    def _try(self, signs: Signs, nodes: int | None = None) -> None:
        """Branch on the weights of a dichotomy; with few nodes only to find a better neuron."""
        key = signs.tobytes()
        if self._deadline.passed or (nodes is not None and key in self._points):
            return
        tree = WidestTree(self._data, signs.astype(np.int64), self._weight_bound, self.margin)
        tree.grow(self._deadline, nodes)
        if tree.weights is not None:
            self.weights, self.margin = tree.weights, tree.margin
        if nodes is None:
            self._known[key] = tree.bound, tree.proof()
        else:
            self._points.add(key)

    def proof(self, lister: Lister) -> tuple[int, list[Any]]:
        """What the first search proves, and how (R61): dichotomies are closed by their own trees."""
        most = max([self.margin, lister.level])

        def member(signs: Signs, multipliers: list[list[int]]) -> list[Any]:
            nonlocal most
            _, tree = self._known.get(signs.tobytes(), (0, None))
            bound = self._lp.exact_bound(signs, tuple((k, v) for k, v in multipliers)) if tree is None else tree[0]
            most = max(most, bound)
            return ["L", multipliers] if tree is None else tree[1]

        below = lister.proof(member)
        return most, [most, ["T", self._row, below, None]]


def _constant(data: Integers, weight_bound: int) -> Widest:
    """The constant neuron with the largest weights, if no input has both signs."""
    weights = weight_bound * np.where((data < 0).any(axis=0), -1, 1)
    norms = np.abs(data).sum(axis=1)
    row = int(norms.argmin())
    margin = weight_bound * int(norms[row])
    leaf = ["L", [[row, 1]]]
    return Widest(weights if margin else None, margin, margin, [margin, ["T", row, leaf, leaf]])


def _best_of_all(data: Integers, signs: Integers, weight_bound: int, deadline: Deadline) -> Widest:
    """The best of all weight vectors."""
    every = AllWeights(data, weight_bound)
    found = every.best(signs, deadline)
    margin = int(found.margins.max(initial=0))
    weights = found.weights[:, 0] if margin else None
    if not found.complete:
        return Widest(weights, margin, weight_bound * int(np.abs(data).sum(axis=1).min()))
    proof = [margin, ["A"]] if every.checking_work <= MOST_STEPS else None
    return Widest(weights, margin, margin, proof)
