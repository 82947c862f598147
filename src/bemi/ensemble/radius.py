"""How far the input of the networks may move before an ensemble's prediction can change.

Inputs are integers, and so are radii: every integer input within distance r has the same label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bemi import solvers
from bemi.ensemble.subsets import memberships
from bemi.ensemble.ties import TieRule
from bemi.ensemble.voting import Votes, shares
from bemi.exact import Integers
from bemi.limits import Limits
from bemi.network import Network, first_pre_activations
from bemi.problem.problem import ABSTAIN
from bemi.programs.program import Builder, Status

NORMS = ("linf", "l1")

UNLIMITED = np.iinfo(np.int64).max
"""Radius of an input whose prediction no perturbation changes."""


@dataclass(frozen=True, eq=False)
class Radii:
    """Per row, the largest perturbation of a network's input that provably leaves the prediction unchanged.

    Attributes
    ----------
    linf
        Maximum change of any single input.
    l1
        Maximum total change over all inputs.

    Examples
    --------
    >>> from bemi import BeMiClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> radii = BeMiClassifier(hidden_layers=()).fit(X[::5], y[::5]).certified_radius(X[:2])
    >>> bool((radii.linf <= radii.l1).all())
    True
    """

    linf: Integers
    l1: Integers


def certified_radii(
    networks: Sequence[Network],
    subsets: Integers,
    inputs: Integers,
    votes: Integers,
    outcome: Votes,
    *,
    ties: TieRule,
    exact: bool = False,
    time_limit: float | None = None,
    solver: str = "highs",
) -> Radii:
    """Radii of an ensemble's labels.

    Parameters
    ----------
    networks, subsets
        The networks, and the class indices that each was trained on.
    inputs, votes, outcome
        Inputs of the networks, the vote of each network, and the vote of the ensemble.
    ties
        The tie rule.
    exact
        Solve a mixed-integer program per norm for each row with a single dominant label, instead of deriving a bound
        from the pre-activations.
    time_limit, solver
        Seconds per program, and the solver.
    """
    if exact and subsets.shape[1] != 2:
        raise ValueError("exact radii are for networks of two classes (subset_size=2)")
    firsts = first_pre_activations(networks, inputs)
    found = {}
    for norm in NORMS:
        radii = [network_radius(network, first, norm) for network, first in zip(networks, firsts, strict=True)]
        found[norm] = ensemble_radius(np.stack(radii, axis=1), votes, subsets, outcome, ties)
    single = np.flatnonzero(outcome.dominant.sum(axis=1) == 1) if exact else ()
    limits = Limits(seconds=time_limit)
    for row in single:
        label = int(outcome.dominant[row].argmax())
        for norm in NORMS:
            found[norm][row] = exact_radius(
                networks, subsets, outcome.counts.shape[1], inputs[row], label, norm, limits=limits, solver=solver
            )
    return Radii(**found)


def network_radius(network: Network, first: Integers, norm: str) -> Integers:
    """Radius within which no first-layer sign of a network changes, from the sums that enter its first layer.

    A perturbation d changes ``w.x`` by at most ``max_i |d_i| sum_i |w_i|`` and at most ``sum_i |d_i| max_i |w_i|``.  A
    neuron at ``a >= 0`` keeps its sign while that is at most a, one at ``a < 0`` while it is at most ``|a| - 1``.
    """
    sizes = np.abs(network.weights[0])
    largest_change = sizes.sum(axis=0) if norm == "linf" else sizes.max(axis=0)
    slack = np.where(first >= 0, first, -first - 1)
    # A neuron without links never changes sign.
    radii = np.where(largest_change > 0, slack // np.maximum(largest_change, 1), UNLIMITED)
    return radii.min(axis=1)


def ensemble_radius(radii: Integers, votes: Integers, subsets: Integers, outcome: Votes, ties: TieRule) -> Integers:
    """Radius within which an ensemble's label stays, from that of every network (shape (rows, networks)).

    A unique leader stays as long as it would still lead however the networks within reach voted.  Any other label stays
    as long as no network changes its vote, and a label decided by evidence is not certified beyond 0.
    """
    n_classes = outcome.counts.shape[1]
    order = np.argsort(radii, axis=1, kind="stable")
    ranked = np.take_along_axis(radii, order, axis=1)
    rows = np.arange(len(radii))
    winner = outcome.dominant.argmax(axis=1)
    single = outcome.dominant.sum(axis=1) == 1
    nothing_changes = np.where(outcome.unclassified & ties.reads_evidence, 0, ranked[:, 0])
    found = np.where(single, ranked[:, 0], nothing_changes)
    sure, most = outcome.counts.copy(), outcome.counts.copy()
    holds = single.copy()
    networks = memberships(subsets, n_classes)
    involved = np.zeros((len(subsets), n_classes), dtype=np.int64)
    np.put_along_axis(involved, subsets, 1, axis=1)
    for position in range(radii.shape[1]):
        network = order[:, position]
        vote = votes[rows, network]
        cast = vote != ABSTAIN
        sure[rows[cast], vote[cast]] -= 1
        gain = involved[network]
        gain[rows[cast], vote[cast]] = 0
        most += gain
        others = most.copy()
        others[rows, winner] = -1
        holds &= shares(sure, networks)[rows, winner] > shares(others, networks).max(axis=1)
        after = ranked[:, position + 1] if position + 1 < radii.shape[1] else np.full(len(radii), UNLIMITED)
        found = np.where(holds, after, found)
    return found


def exact_radius(
    networks: Sequence[Network],
    subsets: Integers,
    n_classes: int,
    point: Integers,
    label: int,
    norm: str,
    *,
    limits: Limits | None = None,
    solver: str = "highs",
) -> int:
    """The largest radius within which a label is the unique leader by share of votes, by mixed-integer programming.

    Finds the nearest integer input at which another class has at least the label's share, up to a distance of twice
    the largest input; larger radii are reported as that distance.  For networks of two classes, one point at a time.
    Raises RuntimeError if the limits end the search without a proof.
    """
    builder = Builder()
    inputs = len(point)
    far = int(np.abs(point).max(initial=0)) * 2 + 1
    moved = builder.columns(inputs, -far, far, integer=True)
    distance = builder.columns(1, 0, far * (inputs if norm == "l1" else 1), integer=True)
    away = moved[:, None]
    if norm == "linf":
        pairs = np.concatenate([away, np.broadcast_to(distance, (inputs, 1))], axis=1)
        builder.rows(pairs, [1, 1], lower=0)
        builder.rows(pairs, [1, -1], upper=0)
    else:
        sizes = builder.columns(inputs, 0, far, integer=True)
        pairs = np.concatenate([away, sizes[:, None]], axis=1)
        builder.rows(pairs, [1, 1], lower=0)
        builder.rows(pairs, [1, -1], upper=0)
        builder.rows(np.concatenate([sizes, distance])[None], [*[1.0] * inputs, -1.0], upper=0)
    outputs = [_signs(builder, network, moved, point) for network in networks]
    _beaten(builder, outputs, subsets, n_classes, label)
    solution = solvers.get(solver).solve(builder.program("min", distance), start=None, limits=limits or Limits())
    if solution.status is Status.INFEASIBLE:
        return far
    if solution.status is not Status.OPTIMAL or solution.objective is None:
        raise RuntimeError(f"the exact radius was not found: {solution.message or solution.status.message}")
    # Larger distances are not proved: the columns do not cover inputs that move further in one coordinate.
    return min(far, round(solution.objective) - 1)


def _signs(builder: Builder, network: Network, moved: Integers, point: Integers) -> int:
    """Columns for the signs of a network (1 for +) under a moved input; returns the column of its output."""
    below: NDArray[np.int64] | None = None
    for weights in network.weights:
        signs = builder.columns(weights.shape[1], 0, 1, integer=True)
        for j, sign in enumerate(signs):
            used = np.flatnonzero(weights[:, j])
            values = weights[used, j].astype(np.float64)
            if below is None:
                columns, coefficients, constant = moved[used], values, float(values @ point[used])
            else:  # a sign z = 2 u - 1
                columns, coefficients, constant = below[used], 2 * values, -float(values.sum())
            if not len(used):
                builder.rows(signs[[j]][None], [1.0], lower=1)
                continue
            builder.rows(columns[None], coefficients[None], lower=-constant, when=np.array([sign]), value=1)
            builder.rows(columns[None], coefficients[None], upper=-1 - constant, when=np.array([sign]), value=0)
        below = signs
    assert below is not None
    return int(below[0])


def _beaten(builder: Builder, outputs: Sequence[int], subsets: Integers, n_classes: int, label: int) -> None:
    """Require that some other class has at least the label's share of votes; a network of (a, b) votes a if it gives +.

    With v votes out of d networks for the label, and v' out of d' for the other, that is ``d v' - d' v >= 0``.
    """
    networks = memberships(subsets, n_classes).tolist()
    choice = builder.columns(n_classes, 0, 1, integer=True)
    builder.rows(choice[[label]][None], [1.0], upper=0)
    builder.rows(choice[None], [1.0] * n_classes, lower=1)
    for other in range(n_classes):
        if other == label:
            continue
        columns, coefficients, constant = [], [], 0.0
        for_other, against = (networks[label], networks[other]) if networks[label] != networks[other] else (1, 1)
        for column, (first, second) in zip(outputs, subsets.tolist(), strict=True):
            for_first = float(for_other * (first == other) - against * (first == label))
            for_second = float(for_other * (second == other) - against * (second == label))
            if for_first != for_second:
                columns.append(column)
                coefficients.append(for_first - for_second)
            constant += for_second
        builder.rows(np.array([columns]), [coefficients], lower=-constant, when=choice[[other]], value=1)
