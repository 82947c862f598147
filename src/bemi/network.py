"""The network: small-integer weights and sign activations.

Only this module defines what a network computes: the sign at zero, when an output is confidently right, what a margin
is, which weights count as links.  Everything else is tested against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi.exact import Integers, exact_product


def sign(pre_activation: Integers) -> Integers:
    """Activation of a neuron: +1 if its input is at least 0, else -1 (eq:activation); zero counts as +1."""
    return np.where(pre_activation >= 0, 1, -1)


def confidence_threshold(layers: Sequence[int], weight_bound: int) -> int:
    """Smallest output pre-activation, times the label, that counts as confidently right.

    The paper requires ``2 / (P (n_{L-1} + 1)) * sum >= 1/2``; on integers, ``sum >= ceil(P (n_{L-1} + 1) / 4)``.
    Without a hidden layer the last layer sees raw inputs, whose scale says nothing about confidence: there, strictly
    right (1) is enough.
    """
    if len(layers) == 2:
        return 1
    return -(-weight_bound * (layers[-2] + 1) // 4)


def bits_per_weight(weight_bound: int) -> int:
    """The fewest bits that can encode the weights ``-P..P``."""
    return (2 * weight_bound).bit_length()


def first_pre_activations(networks: Sequence[Network], inputs: Integers) -> list[Integers]:
    """Sums entering the first-layer neurons of many networks, as one product; one ``(rows, n_1)`` array each."""
    sums = exact_product(inputs, np.concatenate([network.weights[0] for network in networks], axis=1))
    return np.split(sums, np.cumsum([network.layers[1] for network in networks])[:-1], axis=1)


@dataclass(frozen=True, eq=False)
class Network:
    """A feed-forward network without biases whose weights are integers in {-weight_bound..weight_bound}.

    Parameters
    ----------
    weights
        One integer array of shape ``(n_{l-1}, n_l)`` per layer.
    weight_bound
        The paper's P, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bemi import Network
    >>> network = Network((np.array([[1, -1], [1, 0]]), np.array([[1], [1]])))
    >>> network
    Network(layers=[2, 2, 1], weight_bound=1, links=5)
    >>> inputs, codes = np.array([[3, 1], [-2, 1]]), np.array([[-1], [1]])
    """

    weights: tuple[Integers, ...]
    weight_bound: int = 1

    def __post_init__(self) -> None:
        given = [np.asarray(w) for w in self.weights]
        if any(w.dtype.kind == "f" and not np.array_equal(w, np.rint(w)) for w in given):
            raise ValueError("weights must be integers")
        arrays = tuple(np.array(w, dtype=np.int64) for w in given)
        if not arrays or any(w.ndim != 2 for w in arrays):
            raise ValueError("a network needs at least one layer, and every layer a two-dimensional weight array")
        if any(a.shape[1] != b.shape[0] for a, b in pairwise(arrays)):
            raise ValueError(f"layers do not fit together: weight shapes {[w.shape for w in arrays]}")
        if any(w.size and np.abs(w).max() > self.weight_bound for w in arrays):
            raise ValueError(f"a weight lies outside -{self.weight_bound}..{self.weight_bound}")
        for w in arrays:
            w.flags.writeable = False
        object.__setattr__(self, "weights", arrays)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Network):
            return NotImplemented
        return (
            self.weight_bound == other.weight_bound
            and self.layers == other.layers
            and all(np.array_equal(a, b) for a, b in zip(self.weights, other.weights, strict=True))
        )

    def __hash__(self) -> int:
        return hash((self.weight_bound, tuple(w.tobytes() for w in self.weights)))

    def __repr__(self) -> str:
        return f"Network(layers={list(self.layers)}, weight_bound={self.weight_bound}, links={self.links})"

    def __setstate__(self, state: dict) -> None:
        # Unpickled arrays are writeable.
        self.__dict__.update(state)
        for w in self.weights:
            w.flags.writeable = False

    @property
    def layers(self) -> tuple[int, ...]:
        """Layer sizes ``(n_0, ..., n_L)``, inputs first."""
        return (self.weights[0].shape[0], *(w.shape[1] for w in self.weights))

    @property
    def links(self) -> int:
        """Number of non-zero weights."""
        return int(sum(np.count_nonzero(w) for w in self.weights))

    def pre_activations(self, inputs: ArrayLike) -> list[Integers]:
        """Sums entering each neuron, one ``(rows, n_l)`` array per layer.

        Examples
        --------
        >>> network.pre_activations(inputs)[0]
        array([[ 4, -3],
               [-1,  2]])
        """
        return self._continued(exact_product(np.asarray(inputs), self.weights[0]))

    def _continued(self, first: Integers) -> list[Integers]:
        sums = [first]
        for w in self.weights[1:]:
            sums.append(exact_product(sign(sums[-1]), w))
        return sums

    def forward(self, inputs: ArrayLike) -> Integers:
        """Outputs in {-1, +1}, shape ``(rows, n_L)``.

        Examples
        --------
        >>> network.forward(inputs)
        array([[1],
               [1]])
        """
        return sign(self.pre_activations(inputs)[-1])

    def outputs(self, first: Integers) -> Integers:
        """Outputs in {-1, +1} from the sums that enter the first layer.

        Examples
        --------
        >>> network.outputs(network.pre_activations(inputs)[0])
        array([[1],
               [1]])
        """
        return sign(self._continued(first)[-1])

    def confident(self, inputs: ArrayLike, codes: Integers) -> NDArray[np.bool_]:
        """Which outputs of which rows are confidently right (the q of Sat-Margin), shape ``(rows, n_L)``.

        Examples
        --------
        >>> network.confident(inputs, codes)
        array([[False],
               [False]])
        """
        threshold = confidence_threshold(self.layers, self.weight_bound)
        return self.pre_activations(inputs)[-1] * codes >= threshold

    def margins(self, inputs: ArrayLike, codes: Integers) -> list[Integers]:
        """Margin of every neuron over the rows, one array of length n_l per layer.

        A hidden neuron's margin is its smallest absolute pre-activation; an output's is its smallest pre-activation
        times the code that it should give, so it is negative if a row is wrong.

        Examples
        --------
        >>> network.margins(inputs, codes)
        [array([1, 2]), array([0])]
        """
        *hidden, output = self.pre_activations(inputs)
        return [np.abs(a).min(axis=0) for a in hidden] + [(output * codes).min(axis=0)]

    def splitting_neurons(self, inputs: ArrayLike) -> NDArray[np.bool_]:
        """First-layer neurons that give both signs on these rows; the others are constant there.

        Examples
        --------
        >>> network.splitting_neurons(inputs)
        array([ True,  True])
        """
        signs = sign(self.pre_activations(inputs)[0])
        return signs.min(axis=0) < signs.max(axis=0)

    def reordered(self, layer: int, order: NDArray[np.integer]) -> Network:
        """The same function with the neurons of a hidden layer in another order.

        Examples
        --------
        >>> network.reordered(0, np.array([1, 0])).weights[0]
        array([[-1,  1],
               [ 0,  1]])
        """
        weights = list(self.weights)
        weights[layer] = weights[layer][:, order]
        weights[layer + 1] = weights[layer + 1][order, :]
        return Network(tuple(weights), self.weight_bound)

    def flipped(self, layer: int, neurons: NDArray[np.bool_]) -> Network:
        """Hidden neurons with all incoming and outgoing weights negated.

        The function is the same wherever the pre-activations of those neurons are non-zero.

        Examples
        --------
        >>> network.flipped(0, np.array([True, False])).weights[0]
        array([[-1, -1],
               [-1,  0]])
        """
        weights = [w.copy() for w in self.weights]
        weights[layer][:, neurons] *= -1
        weights[layer + 1][neurons, :] *= -1
        return Network(tuple(weights), self.weight_bound)
