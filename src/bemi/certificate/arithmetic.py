"""Exact integer arithmetic for the checker: what a network computes, and what multipliers prove."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from bemi.certificate.limits import LARGEST_MULTIPLIER, CertificateError, Row, Work, fits, whole

Matrix = list[list[int]]

_HALF = 1 << 63


def sparse(row: Row) -> list[tuple[int, int]]:
    """The non-zero entries of a row."""
    return [(i, v) for i, v in enumerate(row) if v]


def pre_activations(weights: Sequence[Matrix], row: Row) -> list[list[int]]:
    """Sums entering each neuron of each layer; an activation is +1 where its sum is at least 0, else -1 (R9)."""
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


def packed(values: Sequence[int], bits: int) -> int:
    """``sum_k v_k 2^(bits k)``, in time that grows linearly; every ``|v_k|`` must be below 2^bits, a multiple of 8."""
    size = bits // 8
    plus = b"".join([v.to_bytes(size, "little") if v > 0 else bytes(size) for v in values])
    minus = b"".join([(-v).to_bytes(size, "little") if v < 0 else bytes(size) for v in values])
    return int.from_bytes(plus, "little") - int.from_bytes(minus, "little")


def whole_bytes(bits: int) -> int:
    """The next multiple of 8."""
    return -(-bits // 8) * 8


class Rows:
    """Integer rows with codes, the layers of a network and its weight bound P.

    ``work`` counts the steps of everything that is checked about them; ``entries`` are the non-zero entries of the
    rows, if they are known.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        codes: Sequence[Row],
        layers: Sequence[int],
        weight_bound: int,
        work: Work | None = None,
        entries: list[list[tuple[int, int]]] | None = None,
    ) -> None:
        self.work = Work() if work is None else work
        self.rows, self.codes = [tuple(r) for r in rows], [tuple(c) for c in codes]
        self.layers, self.weight_bound = list(layers), weight_bound
        self.work.spend(2 * len(self.rows) * self.layers[0])
        if entries is None:
            # A non-zero entry takes a tuple and two integers.
            fits(sum(120 * (len(row) - row.count(0)) + 8 * len(row) for row in self.rows))
            entries = [sparse(row) for row in self.rows]
        self.sparse = entries
        self.norms = [sum(abs(v) for _, v in entries) for entries in self.sparse]
        self._largest = max((abs(v) for entries in self.sparse for _, v in entries), default=0)

    def __len__(self) -> int:
        return len(self.rows)

    def some(self, chosen: Sequence[int]) -> Rows:
        """Some of the rows; what they consist of is shared."""
        rows, codes = [self.rows[k] for k in chosen], [self.codes[k] for k in chosen]
        entries = [self.sparse[k] for k in chosen]
        return Rows(rows, codes, self.layers, self.weight_bound, self.work, entries)

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
        """Reject multipliers that prove nothing (R16); returns their sum."""
        if not isinstance(multipliers, list) or not multipliers:
            raise CertificateError("multipliers are missing")
        self.work.spend((len(multipliers) + 2) * (8 + len(self.live) // 8))
        total = 0
        for entry in multipliers:
            if not isinstance(entry, list) or len(entry) != 2:
                raise CertificateError("a multiplier is not a pair")
            k = whole(entry[0], 0, len(self), "row")
            total += whole(entry[1], 0, LARGEST_MULTIPLIER, "multiplier")
            if signs[k] not in (1, -1):
                raise CertificateError("a multiplier is on a row without a sign")
        if not total:
            raise CertificateError("all multipliers are zero")
        return total

    def margin_bound(self, signs: Sequence[int], multipliers: Any) -> int:
        """No neuron with these signs has an integer margin above floor(P ||sum lam s x||_1 / sum lam) (R16)."""
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
        self.work.spend(sum(len(self.sparse[k]) for k in factors))
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
        fits(8 * len(self.live) * len(self))
        self.work.spend(4 * len(self.live) * len(self))
        return [packed([row[i] for i in self.live], 64) for row in self.rows]

    @cached_property
    def _middle(self) -> int:
        return packed([_HALF] * len(self.live), 64)

    def _packed_sum(self, factors: Iterable[tuple[int, int]]) -> list[int]:
        """``sum_k c_k x^k`` at the live inputs for pairs of row and factor, with each row as one long integer.

        Most of the checking time is spent here, and long integers are the fastest vectors in plain Python.  Every
        64-bit digit is shifted by 2^63, so that none is negative and none carries into the next.
        """
        total = self._middle
        for k, factor in factors:
            total += factor * self._packed[k]
        digits = struct.unpack(f"<{len(self.live)}Q", total.to_bytes(8 * len(self.live), "little"))
        return [digit - _HALF for digit in digits]
