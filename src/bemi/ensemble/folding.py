"""Simplifies an ensemble for a known range of its inputs.

Over a range ``low <= x <= high``, a first-layer neuron whose smallest possible sum is at least 0, or whose largest is
below 0, gives the same sign for every input.  Max-Margin produces many such neurons on images: all weights are at least
0, and so is every pixel.  Only the sign pattern of the remaining neurons matters, so a network becomes a few neurons
and a table from patterns to votes.  Neurons that do not affect the table are dropped, and so are duplicates.  Nothing
is approximated: within the range the folded ensemble votes exactly as the networks do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi.exact import PRE_ACTIVATION_LIMIT, Integers, Rows, Weights
from bemi.network import Network
from bemi.problem.problem import ABSTAIN, decode_outputs

WIDEST_TABLE = 8
"""Most neurons that index a network's table; if more are left, its upper layers are computed instead."""

EVIDENCE_SCALE = 2**24


@dataclass(frozen=True, eq=False)
class FoldedNetwork:
    """A network over a range of inputs.

    Attributes
    ----------
    network
        The network as it was trained.
    subset
        Class indices that it was trained on.
    fixed
        Sign of each first-layer neuron whose sign is constant; 0 for the others.
    neurons
        First-layer neurons that its vote depends on.
    table
        Vote for each sign pattern, where bit i is set if ``neurons[i]`` gives +1; None if there are too many neurons.
    split
        First-layer neurons whose sums are its evidence.
    scales
        Multiplier of each of these sums.
    """

    network: Network
    subset: Integers
    fixed: Integers
    neurons: Integers
    table: Integers | None
    split: Integers
    scales: Integers

    @classmethod
    def of(
        cls,
        network: Network,
        subset: Integers,
        splitting: NDArray[np.bool_],
        low: ArrayLike = -PRE_ACTIVATION_LIMIT,
        high: ArrayLike = PRE_ACTIVATION_LIMIT,
    ) -> FoldedNetwork:
        """Fold a network.

        Parameters
        ----------
        network, subset
            The network, and the class indices that it was trained on.
        splitting
            First-layer neurons that count as evidence.
        low, high
            Smallest and largest value of the inputs: scalars, or one value per input.
        """
        weights = network.weights[0]
        low, high = (np.broadcast_to(np.asarray(bound), len(weights)) for bound in (low, high))
        if int(np.abs([low, high]).max(initial=0)) * int(np.abs(weights).sum(axis=0).max(initial=0)) >= 2**63:
            low, high, weights = (array.astype(object) for array in (low, high, weights))
        up, down = np.maximum(weights, 0), np.minimum(weights, 0)
        fixed = np.where(low @ up + high @ down >= 0, 1, np.where(high @ up + low @ down < 0, -1, 0))
        weights = network.weights[0]
        split = np.flatnonzero(splitting)
        scales = EVIDENCE_SCALE // np.maximum(np.abs(weights[:, split]).sum(axis=0), 1)
        neurons = np.flatnonzero(fixed == 0)
        table = None
        # A duplicate neuron has the same sign.
        columns = [weights[:, neuron].tobytes() for neuron in neurons]
        originals = [columns.index(column) for column in columns]
        distinct, place = np.unique(np.array(originals, dtype=np.int64), return_inverse=True)
        if len(distinct) <= WIDEST_TABLE:
            patterns = (np.arange(1 << len(distinct))[:, None] >> np.arange(len(distinct))) & 1
            table = _votes(network, subset, fixed, neurons, patterns[:, place].astype(bool))
            neurons = neurons[distinct]
            for position in reversed(range(len(neurons))):
                halves = table.reshape(-1, 2, 1 << position)
                if np.array_equal(halves[:, 0], halves[:, 1]):
                    table, neurons = halves[:, 0].reshape(-1), np.delete(neurons, position)
        return cls(network, subset, fixed, neurons, table, split, scales)


def _votes(
    network: Network, subset: Integers, fixed: Integers, neurons: Integers, positive: NDArray[np.bool_]
) -> Integers:
    """Votes computed through the upper layers; ``positive``, shape (rows, neurons), marks which neurons give +1."""
    signs = np.tile(fixed, (len(positive), 1))
    signs[:, neurons] = np.where(positive, 1, -1)
    # Each sign serves as a sum with that sign.
    chosen = decode_outputs(network.outputs(signs), len(subset))
    return np.where(chosen == ABSTAIN, ABSTAIN, subset[chosen])


class FoldedEnsemble:
    """All networks of an ensemble over a range of inputs, evaluated for many rows at once.

    Examples
    --------
    >>> from bemi import BeMiClassifier
    >>> from bemi.exact import Rows
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = BeMiClassifier(hidden_layers=(2,), stages=("sm",)).fit(X[::10], y[::10])
    >>> folded = clf.folded(-127, 127)
    >>> rows = Rows(clf.ensemble_.inputs(X[:1]))
    >>> len(folded.networks)
    3
    """

    def __init__(self, networks: Iterable[FoldedNetwork]) -> None:
        self.networks = tuple(networks)
        self._voting = _first_layers((n.network, n.neurons) for n in self.networks)
        self._split = _first_layers((n.network, n.split) for n in self.networks)
        self._scales = np.concatenate([n.scales for n in self.networks])
        # All tables are concatenated, with an empty one for a network without a table.
        self._tables = np.concatenate([[ABSTAIN] if n.table is None else n.table for n in self.networks])
        sizes = [1 if n.table is None else len(n.table) for n in self.networks]
        self._offsets = np.cumsum([0, *sizes[:-1]])
        self._starts = np.cumsum([0, *(len(n.neurons) for n in self.networks)])
        bits = np.array([0 if n.table is None else len(n.neurons) for n in self.networks])
        # For each bit of a pattern, the networks that have it and the neurons that set it.  Usually all networks have
        # the first bit, and a slice is faster than an index array.
        self._bits = [
            (slice(None) if (bits > i).all() else np.flatnonzero(bits > i), self._starts[:-1][bits > i] + i)
            for i in range(bits.max())
        ]

    def votes(self, rows: Rows) -> Integers:
        """Vote of every network for every row, shape (rows, networks).

        Examples
        --------
        >>> folded.votes(rows).shape
        (1, 3)
        """
        positive = rows.times(self._voting) >= 0
        places = np.tile(self._offsets, (len(positive), 1))
        for bit, (networks, neurons) in enumerate(self._bits):
            places[:, networks] += positive[:, neurons].astype(np.int64) << bit
        votes = self._tables.take(places)
        for column, n in enumerate(self.networks):
            if n.table is None:
                own = positive[:, self._starts[column] : self._starts[column + 1]]
                votes[:, column] = _votes(n.network, n.subset, n.fixed, n.neurons, own)
        return votes

    def evidence(self, rows: Rows) -> Integers:
        """How far each row is from every network's nearest decision boundary, in integers that any device reproduces.

        ``min over splitting first-layer neurons of |w x| * floor(2^24 / ||w||_1)``, shape (rows, networks); 0 if no
        neuron splits.

        Examples
        --------
        >>> folded.evidence(rows).shape
        (1, 3)
        """
        distances = np.abs(rows.times(self._split)).astype(np.int64) * self._scales
        nearest = np.zeros((len(distances), len(self.networks)), dtype=np.int64)
        sizes = np.array([len(n.split) for n in self.networks])
        some = sizes > 0
        if some.any():
            nearest[:, some] = np.minimum.reduceat(distances, (np.cumsum(sizes) - sizes)[some], axis=1)
        return nearest


def _first_layers(parts: Iterable[tuple[Network, Integers]]) -> Weights:
    """First-layer weights of the given neurons of all networks side by side."""
    return Weights(np.concatenate([network.weights[0][:, neurons] for network, neurons in parts], axis=1))
