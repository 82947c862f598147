"""The single neuron at its best: the largest margin under given signs, or under any, proved.

U(s) is the largest margin of a neuron that gives each row k the sign s_k, and M* that of any neuron: s_k = 0 leaves a
sign open.  R61 in docs/certificates.md defines the proofs.

- If no input has both signs in the data, a constant neuron has the margin ``P min_k ||x^k||_1``, and none has more.
- Under given signs of all rows, branch and bound on the weights by linear programs (``weight_tree.py``).
- Few weights are all tried (``all_weights.py``), at a level that rises with each neuron that is found.
- Otherwise a best-first search over the signs lists the dichotomies whose linear programs have larger margins than the
  best neuron (``shortlist.py``), and each has a tree over its weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bemi.engines.decomposition.neuron.all_weights import AllWeights
from bemi.engines.decomposition.neuron.linear_program import NeuronLP, Signs
from bemi.engines.decomposition.neuron.shortlist import Lister
from bemi.engines.decomposition.neuron.weight_tree import WeightTree
from bemi.exact import Integers
from bemi.limits import Deadline

MOST_NEURONS = 10**12
"""Weight vectors of a neuron that are tried at most; minutes."""

FEW_NEURONS = 4 * 10**9
"""Weight vectors that are tried before anything else; less than a second."""

MOST_DICHOTOMIES = 30_000
"""Linear programs of a search over dichotomies: its proof has as many sets of multipliers."""

_FIRST_NODES = 250
_TERNARY_SHARE = 0.2

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
    tree = WeightTree(data, signs, weight_bound)
    tree.grow(deadline)
    return Widest(tree.weights, tree.margin, tree.bound, tree.proof())


def _of_all_dichotomies(data: Integers, weight_bound: int, deadline: Deadline) -> Widest:
    """By branch and bound on the signs, and on the weights of each dichotomy that may have the largest margin.

    The first dichotomies are those of the widest neurons with weights of -P, 0 and P.
    """
    best = Widest(None, 0, 0)
    lp = NeuronLP(data, weight_bound)
    if 3 ** len(lp.live) <= FEW_NEURONS:
        ternary = _best_of_all(data, np.zeros(len(data), np.int64), 1, deadline.share(_TERNARY_SHARE))
        if ternary.weights is not None:
            best = _with_signs(data, np.sign(data @ ternary.weights), weight_bound, deadline.share(_TERNARY_SHARE))
    lister = Lister(lp, np.arange(len(data)), MOST_DICHOTOMIES)
    trees: dict[bytes, WeightTree] = {}
    nodes = _FIRST_NODES
    while True:
        lister.extend(best.margin, nodes)
        listed = lister.shortlist()
        for bound, signs in listed.members:
            if bound > best.margin and signs.tobytes() not in trees and not deadline.passed:
                own = trees[signs.tobytes()] = WeightTree(data, signs.astype(np.int64), weight_bound)
                own.grow(deadline)
                if own.margin > best.margin:
                    best = Widest(own.weights, own.margin, 0)
        if not lister.more or lister.level <= best.margin or deadline.passed or lister.solved >= MOST_DICHOTOMIES - 2:
            break
        nodes *= 2
    own_bounds = {key: own.bound for key, own in trees.items()}
    bounds = [own_bounds.get(signs.tobytes(), bound) for bound, signs in listed.members]
    most = max([best.margin, lister.level, *bounds])
    # Lists are of dichotomies that give + to the row of smallest norm.
    row = int(lp.norms.argmin())
    tree = _with_weights(lister.proof(), np.eye(1, len(data), row, dtype=np.int8)[0], trees)
    return Widest(best.weights, best.margin, most, [most, ["T", row, tree, None]])


def _with_weights(tree: list[Any], signs: Signs, trees: dict[bytes, WeightTree]) -> list[Any]:
    """The list's tree as R61 has it: dichotomies are closed by their own trees."""
    if tree[0] == "L":
        return tree
    if tree[0] == "W":
        own = trees.get(signs.tobytes())
        return ["L", tree[1]] if own is None else own.proof()[1]
    _, row, plus, minus = tree
    children = []
    for sign, child in ((1, plus), (-1, minus)):
        known = signs.copy()
        known[row] = sign
        children.append(_with_weights(child, known, trees))
    return ["T", row, *children]


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
