"""A training problem: integer rows, the codes they should give, the layers and the weight bound.

A :class:`Problem` also says what a network is worth in each stage, recomputed from the weights in exact integers;
no engine's or solver's word is taken for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.network import Network
from bemi.problem.soft_margin import SoftMargin, soft_value
from bemi.products import PRE_ACTIVATION_LIMIT, Integers, too_large

STAGES = ("sm", "mm", "mw")
"""The paper's stages, Sat-Margin, Max-Margin, Min-Weight, in the order in which they may follow each other."""

SOFT_STAGES = ("ml2", "mw")
"""Soft margins, and Min-Weight after them."""

MAXIMISED = {"sm": True, "mm": True, "mw": False}

Keep = Sequence[Integers] | Fraction | None
"""What Min-Weight must keep: margins per layer, a soft-margin objective as a ceiling, or just the labels."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Integer data, output codes in {-1, +1}, hidden layer sizes, weight bound P and, where asked for, soft margins.

    A problem is ``biased`` if the last neuron of every hidden layer has no incoming links: it then gives +1 always, and
    its outgoing links are biases, as are those of a constant input.  See :meth:`with_biases`.
    """

    data: Integers
    codes: Integers
    hidden_layers: tuple[int, ...] = ()
    weight_bound: int = 1
    soft: SoftMargin | None = None
    biased: bool = False

    def __post_init__(self) -> None:
        data = np.asarray(self.data)
        codes = np.asarray(self.codes)
        if data.ndim != 2 or codes.ndim != 2 or len(data) != len(codes):
            raise ValueError(f"data and codes must be tables with as many rows, got {data.shape} and {codes.shape}")
        if not np.array_equal(data, np.rint(data)):
            raise ValueError("a Problem takes integer data; put other data on an integer grid first (InputScaling)")
        if not np.isin(codes, (-1, 1)).all():
            raise ValueError("codes must be -1 or +1")
        check_weight_bound(self.weight_bound)
        check_hidden_layers(self.hidden_layers)
        if int(self.weight_bound) * int(max(self.hidden_layers, default=0)) >= PRE_ACTIVATION_LIMIT:
            raise ValueError(
                f"weight_bound={self.weight_bound} is too large for hidden_layers={tuple(self.hidden_layers)}: "
                f"sums over a layer must stay below {PRE_ACTIVATION_LIMIT}"
            )
        object.__setattr__(self, "hidden_layers", tuple(int(n) for n in self.hidden_layers))
        object.__setattr__(self, "codes", codes.astype(np.int64))
        norms = np.abs(data.astype(np.float64)).sum(axis=1)
        if len(norms) and norms.max() * self.weight_bound >= PRE_ACTIVATION_LIMIT:
            raise too_large(norms.max() * self.weight_bound)
        object.__setattr__(self, "data", data.astype(np.int64))

    @property
    def layers(self) -> tuple[int, ...]:
        """Layer sizes ``(n_0, ..., n_L)``."""
        return (self.data.shape[1], *self.hidden_layers, self.codes.shape[1])

    def with_biases(self, unit: int = 1) -> Problem:
        """The same problem with biases: a last input that is always ``unit``, a constant neuron in every hidden layer.

        A bias is a link like any other, so nothing else has to know of it.
        """
        return replace(
            self,
            data=with_constant(self.data, unit),
            hidden_layers=tuple(n + 1 for n in self.hidden_layers),
            biased=True,
        )

    @property
    def live(self) -> NDArray[np.intp]:
        """Inputs that are not zero in every row; the weights of the others cannot matter and are 0."""
        return np.flatnonzero((self.data != 0).any(axis=0))

    def rows(self, mask: NDArray[np.bool_]) -> Problem:
        """The same problem on some of the rows."""
        return replace(self, data=self.data[mask], codes=self.codes[mask])

    def confident_rows(self, network: Network) -> NDArray[np.bool_]:
        """The paper's T-hat: rows whose outputs are all confidently right."""
        return np.logical_and.reduce(network.confident(self.data, self.codes), axis=1)

    def value(self, stage: str, network: Network, keep: Keep = None) -> int | None:
        """Objective of a network in a stage, or None if the network is not feasible there.

        Parameters
        ----------
        stage
            ``"sm"``: number of confidently right outputs.  ``"mm"``: sum of all margins, each at least 1.  ``"mw"``:
            number of links of a network that keeps what it must.
        keep
            Margins per layer, or a soft-margin objective, that Min-Weight must keep; None asks only that every row is
            classified right.
        """
        if stage == "sm":
            return int(network.confident(self.data, self.codes).sum())
        if isinstance(keep, Fraction):
            return network.links if self.soft_value(network) <= keep else None
        reached = network.margins(self.data, self.codes)
        if stage == "mm":
            return int(sum(m.sum() for m in reached)) if all((m >= 1).all() for m in reached) else None
        if keep is None:
            return network.links if np.array_equal(network.forward(self.data), self.codes) else None
        kept = all((have >= need).all() for have, need in zip(reached, keep, strict=True))
        return network.links if kept else None

    def soft_value(self, network: Network) -> Fraction:
        """The soft-margin objective of a network, which the stage ``"ml2"`` makes small; a rational number."""
        assert self.soft is not None
        (weights,) = network.weights
        return soft_value(self.data, self.codes, weights, self.soft)

    def margin_caps(self) -> list[int]:
        """Largest conceivable margin of a neuron in each layer.

        In the first layer no margin exceeds ``P min_k ||x^k||_1``; above, a neuron has n_{l-1} inputs of size 1.
        """
        lightest = int(np.abs(self.data).sum(axis=1).min())
        return [self.weight_bound * lightest] + [self.weight_bound * n for n in self.layers[1:-1]]

    def trivial_bound(self, stage: str) -> int:
        """A bound on a stage's objective that anybody can check by hand.

        Equal rows give equal outputs, so of each output on them only the more frequent sign can be right.
        """
        if stage == "sm":
            distinct, group = np.unique(self.data, axis=0, return_inverse=True)
            balance = np.zeros((len(distinct), self.codes.shape[1]), dtype=np.int64)
            np.add.at(balance, group.reshape(-1), self.codes)
            return int((self.codes.size + np.abs(balance).sum()) // 2)
        if stage == "mm":
            return sum(n * cap for n, cap in zip(self.layers[1:], self.margin_caps(), strict=True))
        return 0

    def better(self, stage: str, value: int | None, other: int | None) -> bool:
        """Whether one objective value of a stage beats another."""
        return better(value, other, maximised=MAXIMISED[stage])


def better(value: int | None, other: int | None, *, maximised: bool) -> bool:
    """Whether one objective value beats another; None, an infeasible network, beats nothing."""
    if value is None or other is None:
        return value is not None
    return value > other if maximised else value < other


def with_constant(data: Integers, unit: int) -> Integers:
    """Rows with one more column that is always ``unit``."""
    return np.concatenate([data, np.full((len(data), 1), unit, dtype=data.dtype)], axis=1)


def check_weight_bound(weight_bound: Any) -> None:
    if isinstance(weight_bound, bool) or not isinstance(weight_bound, (int, np.integer)) or weight_bound < 1:
        raise ValueError(f"weight_bound must be an integer of at least 1, got {weight_bound!r}")


def check_hidden_layers(hidden_layers: Any) -> None:
    sizes = list(hidden_layers) if isinstance(hidden_layers, (tuple, list, np.ndarray)) else None
    if sizes is None or any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1 for n in sizes):
        raise ValueError(f"hidden_layers must be a tuple of integers of at least 1 (or empty), got {hidden_layers!r}")
