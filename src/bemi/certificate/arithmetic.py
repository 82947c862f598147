"""Exact integer arithmetic for the checker: what a network computes, and what multipliers prove."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

Row = tuple[int, ...]
Matrix = list[list[int]]

_HALF = 1 << 63


class CertificateError(ValueError):
    """A certificate claims something that does not follow; the message says what."""


def require(condition: object, message: str) -> None:
    """Reject a certificate unless the condition holds."""
    if not condition:
        raise CertificateError(message)


def whole(value: Any, low: int, high: int, what: str) -> int:
    """An integer in ``low..high - 1``; booleans and floats are not integers here."""
    require(type(value) is int and low <= value < high, f"bad {what}: {value!r}")
    return value


def whole_row(values: Any, low: int, high: int, what: str) -> Row:
    """A list of integers in ``low..high - 1``; there may be millions, so they are not checked one by one."""
    require(isinstance(values, list) and set(map(type, values)) <= {int}, f"a {what} is not an integer")
    require(not values or (low <= min(values) and max(values) < high), f"a {what} is not in {low}..{high - 1}")
    return tuple(values)


def sparse(row: Row) -> list[tuple[int, int]]:
    """The non-zero entries of a row."""
    return [(i, v) for i, v in enumerate(row) if v]


def pre_activations(weights: Sequence[Matrix], row: Row) -> list[list[int]]:
    """Sums entering each neuron of each layer; an activation is +1 where its sum is at least 0, else -1."""
    sums = []
    signal: Sequence[int] = row
    for matrix in weights:
        here = [0] * len(matrix[0])
        for value, links in zip(signal, matrix, strict=True):
            if value:
                for j, w in enumerate(links):
                    if w:
                        here[j] += value * w
        sums.append(here)
        signal = [1 if s >= 0 else -1 for s in here]
    return sums


class Rows:
    """Integer rows with codes, the layers of a network and its weight bound P."""

    def __init__(self, rows: Sequence[Row], codes: Sequence[Row], layers: Sequence[int], weight_bound: int) -> None:
        self.rows, self.codes = [tuple(r) for r in rows], [tuple(c) for c in codes]
        self.layers, self.weight_bound = list(layers), weight_bound
        self.sparse = [sparse(row) for row in self.rows]
        self.norms = [sum(abs(v) for _, v in entries) for entries in self.sparse]
        self._largest = max((abs(v) for row in self.rows for v in row), default=0)

    def __len__(self) -> int:
        return len(self.rows)

    def combination(self, signs: Sequence[int], multipliers: Any) -> tuple[dict[int, int], int]:
        """``sum_k lam_k s_k x^k`` and ``sum_k lam_k`` for ``[[row, lam], ...]``.

        Every multiplier must be non-negative and on a row that has a sign; not all may be zero.
        """
        total = self._check(signs, multipliers)
        factors: dict[int, int] = {}
        for k, weight in multipliers:
            factors[k] = factors.get(k, 0) + weight * signs[k]
        return self.weighted_sum(factors), total

    def _check(self, signs: Sequence[int], multipliers: Any) -> int:
        """Reject multipliers that prove nothing; returns their sum."""
        require(isinstance(multipliers, list) and multipliers, "multipliers are missing")
        total = 0
        for entry in multipliers:
            require(isinstance(entry, list) and len(entry) == 2, "a multiplier is not a pair")
            k = whole(entry[0], 0, len(self), "row")
            require(type(entry[1]) is int and entry[1] >= 0, "a multiplier is negative or not an integer")
            require(signs[k] in (1, -1), "a multiplier is on a row without a sign")
            total += entry[1]
        require(total > 0, "all multipliers are zero")
        return total

    def margin_bound(self, signs: Sequence[int], multipliers: Any) -> int:
        """No neuron with these signs has an integer margin above floor(P ||sum lam s x||_1 / sum lam)."""
        total = self._check(signs, multipliers)
        if total * self._largest < _HALF:
            norm = sum(map(abs, self._packed_sum((k, weight * signs[k]) for k, weight in multipliers)))
        else:
            norm = sum(abs(v) for v in self.combination(signs, multipliers)[0].values())
        return self.weight_bound * norm // total

    def weighted_sum(self, factors: dict[int, int]) -> dict[int, int]:
        """``sum_k c_k x^k`` by input, for factors c_k by row; inputs that are 0 in all rows are left out."""
        if sum(map(abs, factors.values())) * self._largest < _HALF:
            return dict(zip(self.live, self._packed_sum(factors.items()), strict=True))
        found: dict[int, int] = {}
        for k, factor in factors.items():
            for i, v in self.sparse[k]:
                found[i] = found.get(i, 0) + factor * v
        return found

    @cached_property
    def live(self) -> list[int]:
        """Inputs that are not 0 in all rows."""
        return sorted({i for entries in self.sparse for i, _ in entries})

    @cached_property
    def _packed(self) -> list[int]:
        place = {i: 64 * at for at, i in enumerate(self.live)}
        return [sum(v << place[i] for i, v in entries) for entries in self.sparse]

    @cached_property
    def _middle(self) -> int:
        return sum(_HALF << 64 * at for at in range(len(self.live)))

    def _packed_sum(self, factors: Iterable[tuple[int, int]]) -> list[int]:
        """``sum_k c_k x^k`` at the live inputs for pairs of row and factor, with each row as one long integer.

        Most of the checking time is spent here, and long integers are the fastest vectors in plain Python.  Every
        64-bit digit is shifted by 2^63, so that none is negative and none carries into the next.
        """
        packed = self._middle
        for k, factor in factors:
            packed += factor * self._packed[k]
        digits = struct.unpack(f"<{len(self.live)}Q", packed.to_bytes(8 * len(self.live), "little"))
        return [digit - _HALF for digit in digits]
