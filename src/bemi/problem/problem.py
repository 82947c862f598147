"""A training problem, the value of a network on it, and what a network must preserve while something else improves.

A problem is integer rows, the codes that they should give, the layers and the weight bound.  All values of a network
are recomputed from its weights in exact integers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bemi.checks import check_integer, is_integer
from bemi.exact import PRE_ACTIVATION_LIMIT, Integers, in_pieces, too_large
from bemi.network import Network
from bemi.problem.soft_margin import LARGEST_ROW_WEIGHT, ROW_WEIGHT_UNIT, SoftMargin, soft_value

ABSTAIN = -1
"""Vote of a network that gives a code beyond its last class, and label of an unclassified row."""


def outputs_for(n_classes: int) -> int:
    """Number of outputs needed to tell this many classes apart."""
    return max(1, (n_classes - 1).bit_length())


def class_codes(n_classes: int) -> Integers:
    """Output codes, shape (classes, outputs): binary digits of 0, 1, ..., most significant first, 0 -> +1, 1 -> -1."""
    digits = (np.arange(n_classes)[:, None] >> np.arange(outputs_for(n_classes))[::-1]) & 1
    return 1 - 2 * digits


def decode_outputs(outputs: Integers, n_classes: int) -> Integers:
    """Class that each row of ±1 outputs encodes, or :data:`ABSTAIN` for a code beyond the last class."""
    powers = 1 << np.arange(outputs.shape[1])[::-1]
    number = ((1 - outputs) // 2) @ powers
    return np.where(number < n_classes, number, ABSTAIN)


def signs_towards_later_classes(directions: Integers) -> Integers:
    """The sign of each weight, by input, if larger inputs favour later classes (+1), earlier ones (-1) or either (0).

    Of two classes the earlier one has the code +1.
    """
    return -directions


def one_hot(targets: Integers, classes: int) -> Integers:
    """Codes with one output per class: +1 for a row's own class, -1 for all others."""
    return np.where(targets[:, None] == np.arange(classes), 1, -1)


@dataclass(frozen=True, eq=False)
class Problem:
    """Integer data, output codes in {-1, +1}, hidden layer sizes, weight bound P and, optionally, soft margins.

    Data keep their type of integers: soft margins, whose rows may be many, take any, other stages 64 bits.

    A problem is ``biased`` if the last neuron of every hidden layer has no incoming links: it then always gives +1, and
    its outgoing links are biases, as are those of a constant input.  See :meth:`with_biases`.

    Only soft margins read the last three: ``row_weights``, which multiply the price of each row, as numerators over
    :data:`ROW_WEIGHT_UNIT`; ``signs``, which allow only weights of one sign (-1 or +1, 0 for both), by input and
    output; and ``uncounted``, inputs whose links do not count towards a limit on links, such as a constant.
    """

    data: Integers
    codes: Integers
    hidden_layers: tuple[int, ...] = ()
    weight_bound: int = 1
    soft: SoftMargin | None = None
    biased: bool = False
    row_weights: Integers | None = None
    signs: Integers | None = None
    uncounted: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        data = np.asarray(self.data)
        codes = np.asarray(self.codes)
        if data.ndim != 2 or codes.ndim != 2 or len(data) != len(codes):
            raise ValueError(f"data and codes must be tables of equally many rows, got {data.shape} and {codes.shape}")
        if data.dtype.kind not in "biu" and not np.array_equal(data, np.rint(data)):
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
        norm = max(float(data.max(initial=0)), -float(data.min(initial=0))) * data.shape[1]
        if norm * self.weight_bound >= PRE_ACTIVATION_LIMIT:  # then a closer look is worth its time
            norm = max(float(np.abs(part.astype(np.float64)).sum(axis=1).max(initial=0)) for part in in_pieces(data))
        if norm * self.weight_bound >= PRE_ACTIVATION_LIMIT:
            raise too_large(norm * self.weight_bound)
        object.__setattr__(self, "data", data if data.dtype.kind == "i" else data.astype(np.int64))
        self._check_soft_fields()

    def _check_soft_fields(self) -> None:
        """Raise ValueError for row weights, signs or uncounted inputs that do not fit the rest."""
        rows, inputs = self.data.shape
        if self.row_weights is not None:
            weights = np.asarray(self.row_weights)
            if weights.shape != (rows,):
                raise ValueError(f"row_weights must have one number for each of {rows} rows, got {weights.shape}")
            largest = LARGEST_ROW_WEIGHT * ROW_WEIGHT_UNIT
            if weights.dtype.kind not in "iu" or not ((weights >= 1) & (weights <= largest)).all():
                raise ValueError(f"row_weights must be integers in 1..{largest}; leave out rows without weight")
            object.__setattr__(self, "row_weights", weights.astype(np.int64))
        if self.signs is not None:
            signs = np.asarray(self.signs)
            if self.hidden_layers:
                raise ValueError("signs limit the weights of networks without a hidden layer; use hidden_layers=()")
            if signs.shape != (inputs, self.codes.shape[1]) or not np.isin(signs, (-1, 0, 1)).all():
                raise ValueError(
                    f"signs must be -1, 0 or 1 for each of {inputs} inputs and {self.codes.shape[1]} outputs"
                )
            object.__setattr__(self, "signs", signs.astype(np.int64))
        known = all(is_integer(i, 0, inputs - 1) for i in self.uncounted)
        if not known or len(set(self.uncounted)) < len(self.uncounted):
            raise ValueError(f"uncounted must be different inputs in 0..{inputs - 1}, got {self.uncounted!r}")
        object.__setattr__(self, "uncounted", tuple(int(i) for i in self.uncounted))

    @property
    def layers(self) -> tuple[int, ...]:
        """Layer sizes ``(n_0, ..., n_L)``."""
        return (self.data.shape[1], *self.hidden_layers, self.codes.shape[1])

    def with_biases(self, unit: int = 1) -> Problem:
        """The same problem with biases: a last input that is always ``unit``, a constant neuron in every hidden layer.

        A bias is a link like any other, so no other code needs to know about it.
        """
        return replace(
            self,
            data=with_constant(self.data, unit),
            hidden_layers=tuple(n + 1 for n in self.hidden_layers),
            biased=True,
            signs=None if self.signs is None else np.concatenate([self.signs, np.zeros_like(self.signs[:1])]),
            uncounted=(*self.uncounted, self.data.shape[1]),
        )

    @property
    def live(self) -> NDArray[np.intp]:
        """Inputs that are non-zero in some row; the weights of the others do not matter and are 0."""
        return np.flatnonzero((self.data != 0).any(axis=0))

    def rows(self, mask: NDArray[np.bool_]) -> Problem:
        """The same problem on some of the rows."""
        weights = None if self.row_weights is None else self.row_weights[mask]
        return replace(self, data=self.data[mask], codes=self.codes[mask], row_weights=weights)

    def confident_rows(self, network: Network) -> NDArray[np.bool_]:
        """The paper's T-hat: rows whose outputs are all confidently right."""
        return np.logical_and.reduce(network.confident(self.data, self.codes), axis=1)

    def all_right(self, network: Network) -> bool:
        """Whether a network classifies every row right."""
        return np.array_equal(network.forward(self.data), self.codes)

    def soft_value(self, network: Network) -> Fraction:
        """The soft-margin objective of a network, an exact rational number."""
        assert self.soft is not None
        (weights,) = network.weights
        return soft_value(self.data, self.codes, weights, self.soft, self.row_weights)

    def weight_range(self) -> tuple[Integers, Integers]:
        """Smallest and largest weight of each input and output in networks without a hidden layer."""
        shape = (self.data.shape[1], self.codes.shape[1])
        signs = np.zeros(shape, dtype=np.int64) if self.signs is None else self.signs
        return np.where(signs > 0, 0, -self.weight_bound), np.where(signs < 0, 0, self.weight_bound)

    @property
    def counted(self) -> Integers:
        """Inputs whose links count towards a limit on links."""
        return np.setdiff1d(np.arange(self.data.shape[1]), np.array(self.uncounted, dtype=np.int64))

    def allows(self, network: Network) -> bool:
        """Whether a network has the signs, and no more links than soft margins allow."""
        first = network.weights[0]
        if self.signs is not None and (first * self.signs < 0).any():
            return False
        most = None if self.soft is None else self.soft.max_links
        return most is None or bool((np.count_nonzero(first[self.counted], axis=0) <= most).all())

    def margin_caps(self) -> list[int]:
        """Upper bound on the margin of a neuron in each layer.

        In the first layer no margin exceeds ``P min_k ||x^k||_1``; above, a neuron has n_{l-1} inputs of size 1.
        """
        smallest_norm = int(np.abs(self.data).sum(axis=1).min())
        return [self.weight_bound * smallest_norm] + [self.weight_bound * n for n in self.layers[1:-1]]


def with_constant(data: Integers, unit: int) -> Integers:
    """Rows with one more column that is always ``unit``."""
    return np.concatenate([data, np.full((len(data), 1), unit, dtype=data.dtype)], axis=1)


def check_weight_bound(weight_bound: Any) -> None:
    """Raise ValueError unless the weight bound is an integer of at least 1."""
    check_integer("weight_bound", weight_bound, 1)


def check_hidden_layers(hidden_layers: Any) -> None:
    """Raise ValueError unless the hidden layers are a sequence of integers of at least 1."""
    known = isinstance(hidden_layers, (tuple, list, np.ndarray))
    if not known or not all(is_integer(n, 1) for n in list(hidden_layers)):
        raise ValueError(f"hidden_layers must be a tuple of integers of at least 1 (or empty), got {hidden_layers!r}")


Objective = int | Fraction
"""An exact objective value."""


def confident_outputs(problem: Problem, network: Network) -> int:
    """Number of confidently right outputs."""
    return int(network.confident(problem.data, problem.codes).sum())


def confident_outputs_bound(problem: Problem) -> int:
    """Upper bound on the confidently right outputs of every network.

    Equal rows give equal outputs, so of each output on them only the more frequent sign can be right.
    """
    distinct, group = np.unique(problem.data, axis=0, return_inverse=True)
    balance = np.zeros((len(distinct), problem.codes.shape[1]), dtype=np.int64)
    np.add.at(balance, group.reshape(-1), problem.codes)
    return int((problem.codes.size + np.abs(balance).sum()) // 2)


def sum_of_margins(problem: Problem, network: Network) -> int | None:
    """Sum of the margins of all neurons, or None if one of them is below 1."""
    reached = network.margins(problem.data, problem.codes)
    return int(sum(m.sum() for m in reached)) if all((m >= 1).all() for m in reached) else None


def sum_of_margins_bound(problem: Problem) -> int:
    """Upper bound on the sum of margins of every network."""
    return sum(n * cap for n, cap in zip(problem.layers[1:], problem.margin_caps(), strict=True))


def better(value: Any, other: Any, *, maximised: bool) -> bool:
    """Whether one objective value beats another; None, an infeasible network, beats nothing."""
    if value is None or other is None:
        return value is not None
    return bool(value > other if maximised else value < other)


@dataclass(frozen=True, eq=False)
class KeepMargins:
    """Every neuron keeps a margin of at least this, given per layer."""

    solvers_may_miss: ClassVar[bool] = False

    margins: tuple[Integers, ...]

    def holds(self, problem: Problem, network: Network) -> bool:
        """Whether a network keeps it on the rows of a problem."""
        reached = network.margins(problem.data, problem.codes)
        return all(bool((have >= need).all()) for have, need in zip(reached, self.margins, strict=True))


@dataclass(frozen=True)
class KeepObjective:
    """The soft-margin objective stays at or below a ceiling, within its limits on signs and links."""

    solvers_may_miss: ClassVar[bool] = True

    ceiling: Fraction

    def holds(self, problem: Problem, network: Network) -> bool:
        """Whether a network keeps it on the rows of a problem."""
        return problem.allows(network) and problem.soft_value(network) <= self.ceiling


@dataclass(frozen=True)
class KeepLabels:
    """Every row stays classified right."""

    solvers_may_miss: ClassVar[bool] = False

    def holds(self, problem: Problem, network: Network) -> bool:
        """Whether a network keeps it on the rows of a problem."""
        return problem.all_right(network)


Keep = KeepMargins | KeepObjective | KeepLabels
"""What a network must preserve while something else is improved.

``solvers_may_miss`` tells whether a solver's network may violate it within the solver's tolerance, since its rows are
not integer."""

KEEP_LABELS = KeepLabels()
"""The least that a network must keep."""
