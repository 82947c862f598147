"""Exact integer arithmetic for the checker: what a network computes, and what multipliers prove."""

from __future__ import annotations

import hashlib
import math
import operator
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, overload

from bemi.certificate.limits import LARGEST_MULTIPLIER, MOST_BYTES, CertificateError, Row, Work, fits, whole

Matrix = list[list[int]]

_HALF = 1 << 63

_BLOCK = 1000  # rows that are written at once


_WIDER: dict[str, Literal["h", "i", "q"]] = {"b": "h", "h": "i", "i": "q"}
"""The next of the types of arrays with 1, 2, 4 and 8 bytes per value."""


class Table(Sequence[Row]):
    """Rows of equally many integers, in an array of the shortest type that holds them: there may be millions.

    Attributes
    ----------
    values, width
        The values, row after row, and how many a row has.
    """

    def __init__(self, width: int) -> None:
        self.values: array[int] = array("b")
        self.width = width

    def extend(self, rows: Iterable[Row]) -> None:
        """Add rows."""
        flat = [value for row in rows for value in row]
        needed = max(flat, default=0).bit_length(), (~min(flat, default=0)).bit_length()
        while 8 * self.values.itemsize <= max(needed):
            self.values = array(_WIDER[self.values.typecode], self.values)
        self.values.extend(flat)

    def __len__(self) -> int:
        return len(self.values) // self.width

    @overload
    def __getitem__(self, k: int) -> Row: ...
    @overload
    def __getitem__(self, k: slice) -> list[Row]: ...
    def __getitem__(self, k: int | slice) -> Row | list[Row]:
        if isinstance(k, slice):
            return [self[row] for row in range(len(self))[k]]
        if not -len(self) <= k < len(self):
            raise IndexError(k)
        start = k % len(self) * self.width
        return tuple(self.values[start : start + self.width])

    def __iter__(self) -> Iterator[Row]:
        return (self[k] for k in range(len(self)))

    @cached_property
    def live(self) -> list[int]:
        """Columns that are not 0 in all rows."""
        return [i for i in range(self.width) if any(self.values[i :: self.width])]

    @cached_property
    def largest(self) -> int:
        """The largest magnitude of a value."""
        return max(max(self.values, default=0), -min(self.values, default=0))

    @cached_property
    def lengths(self) -> list[int]:
        """``isqrt(sum_i x_i^2)`` of every row."""
        return [math.isqrt(sum(map(operator.mul, row, row))) for row in self]


class Part(Sequence[Row]):
    """Some rows of a table, which are not copied."""

    def __init__(self, table: Table, chosen: Sequence[int]) -> None:
        self.table, self.chosen = table, chosen

    def __len__(self) -> int:
        return len(self.chosen)

    @overload
    def __getitem__(self, k: int) -> Row: ...
    @overload
    def __getitem__(self, k: slice) -> list[Row]: ...
    def __getitem__(self, k: int | slice) -> Row | list[Row]:
        if isinstance(k, slice):
            return [self.table[row] for row in self.chosen[k]]
        return self.table[self.chosen[k]]


def training_digest(
    rows: Any,
    labels: Sequence[int],
    weights: Sequence[int] | None = None,
    given: int | None = None,
) -> str:
    """SHA-256 of 64-bit little-endian integers: numbers of rows, of given ones and of features, then all of them (R3).

    After these three numbers come the rows, the class indices, and the row weights if there are any.  The numbers tell
    where each part ends, so no other training set has the same integers.  Rows after the given ones are variants of
    them, which only some networks were trained on.  Rows are sequences of integers, or together one NumPy array.
    """
    first = next(iter(rows), ())
    digest = hashlib.sha256(_written([len(labels), len(labels) if given is None else given, len(first)]))
    if hasattr(rows, "astype"):
        for start in range(0, len(rows), _BLOCK):
            digest.update(rows[start : start + _BLOCK].astype("<i8").tobytes())
    else:
        for row in rows:
            digest.update(_written(row))
    for values in (labels, () if weights is None else weights):
        digest.update(_written(values))
    return digest.hexdigest()


def _written(values: Iterable[int]) -> bytes:
    """64-bit little-endian integers."""
    written = array("q", values)
    if sys.byteorder == "big":
        written.byteswap()
    return written.tobytes()


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


def sum_steps(rows: int, inputs: int) -> int:
    """Steps that one neuron's sums on all rows take."""
    return rows * (inputs + 4)


def packing_steps(live: int) -> int:
    """Steps that making one long integer of a row takes."""
    return 4 * live


def kept_rows(live: int) -> int:
    """How many rows are kept as long integers."""
    return MOST_BYTES // (8 * max(1, live))


def part_steps(factors: int, live: int) -> int:
    """Steps that the sum of the lower digits of factors takes."""
    return (factors + 2) * (16 + live // 8)


def low_digits(total: int, factors: int, largest: int) -> int:
    """How many binary digits of the factors are summed by themselves; 0 if the whole sum fits into 64 bits.

    ``total`` is the sum of their magnitudes, ``largest`` that of the values: ``factors * largest`` is below 2^62.
    """
    return 0 if total * largest < _HALF else (_HALF // (factors * largest)).bit_length() - 1


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
        self.given, self.codes = rows, [tuple(c) for c in codes]
        self.layers, self.weight_bound = list(layers), weight_bound
        self._packed: dict[int, int] = {}
        self._sums: dict[tuple[int, ...], list[int]] = {}
        if entries is not None:
            self.sparse = entries

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def rows(self) -> list[Row]:
        """The rows, all in memory."""
        self.work.spend(2 * len(self) * self.layers[0])
        fits(16 * len(self) * self.layers[0])
        return [tuple(row) for row in self.given]

    @cached_property
    def sparse(self) -> list[list[tuple[int, int]]]:
        """The non-zero entries of the rows."""
        # A non-zero entry takes a tuple and two integers.
        fits(sum(120 * (len(row) - row.count(0)) + 8 * len(row) for row in self.rows))
        return [sparse(row) for row in self.rows]

    @cached_property
    def norms(self) -> list[int]:
        """``sum_i |x_i|`` of every row."""
        return [sum(abs(v) for _, v in entries) for entries in self.sparse]

    @cached_property
    def lengths(self) -> list[int]:
        """``isqrt(sum_i x_i^2)`` of every row."""
        if isinstance(self.given, Part):
            lengths = self.given.table.lengths
            return [lengths[k] for k in self.given.chosen]
        return [math.isqrt(sum(map(operator.mul, row, row))) for row in self.given]

    @cached_property
    def _largest(self) -> int:
        if isinstance(self.given, Part):
            return self.given.table.largest
        return max((abs(v) for row in self.given for v in row), default=0)

    def sums(self, weights: Sequence[int]) -> list[int]:
        """The sums ``w.x`` of all rows for the weights of one neuron."""
        key = tuple(weights)
        if key not in self._sums:
            self.work.spend(sum_steps(len(self), self.layers[0]))
            self._sums = {key: [sum(map(operator.mul, key, row)) for row in self.given]}
        return self._sums[key]

    def some(self, chosen: Sequence[int]) -> Rows:
        """Some of the rows; what they consist of is shared."""
        rows, codes = [self.rows[k] for k in chosen], [self.codes[k] for k in chosen]
        entries = [self.sparse[k] for k in chosen]
        self.work.spend(2 * len(rows) * self.layers[0])
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
        """``sum_k c_k x^k`` by input, for factors c_k by row; inputs that are 0 in all rows are left out.

        Where a sum might not fit into 64 bits, the lower digits of the factors have a sum of their own.
        """
        digits = low_digits(sum(map(abs, factors.values())), len(factors), self._largest)
        if not digits:
            return dict(zip(self.live, self._packed_sum(factors.items()), strict=True))
        self.work.spend(part_steps(len(factors), len(self.live)))
        lower = self._packed_sum((k, factor & ((1 << digits) - 1)) for k, factor in factors.items())
        upper = self.weighted_sum({k: factor >> digits for k, factor in factors.items()})
        return {i: (upper[i] << digits) + rest for i, rest in zip(self.live, lower, strict=True)}

    @cached_property
    def live(self) -> list[int]:
        """Inputs that are not 0 in all rows, and possibly others."""
        if isinstance(self.given, Part):
            return self.given.table.live
        return sorted({i for entries in self.sparse for i, _ in entries})

    def packed_row(self, k: int) -> int:
        """The live inputs of a row as one long integer, which is kept if there is room."""
        known = self._packed.get(k)
        if known is None:
            self.work.spend(packing_steps(len(self.live)))
            row = self.given[k]
            known = packed([row[i] for i in self.live], 64)
            if len(self._packed) < kept_rows(len(self.live)):
                self._packed[k] = known
        return known

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
            total += factor * self.packed_row(k)
        digits = struct.unpack(f"<{len(self.live)}Q", total.to_bytes(8 * len(self.live), "little"))
        return [digit - _HALF for digit in digits]
