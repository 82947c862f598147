"""Soft margins: the objective in exact rationals, and what multipliers prove about it and the links it needs.

For one output with signs s_k, ``nu_k = isqrt(sum_i (x^k_i)^2)`` and the resolution t,

    f(w) = 1/2 sum_i w_i^2 + C t sum_k max(0, t - s_k w.x^k / nu_k)

over the rows with ``nu_k > 0``.  Any ``mu_k >= 0`` with ``nu_k mu_k <= C t`` gives, with ``g = sum_k mu_k s_k x^k``,

    f(w) >= 1/2 sum_i w_i^2 - g.w + t sum_k nu_k mu_k   for every w,

because ``C t max(0, a) >= nu_k mu_k a``.  The right side separates into one small problem per weight, so its minimum
over integers in {-P..P} is found exactly.  With a price theta on f it bounds the links of every network whose f is at
most V:  links >= min_w ( links(w) + theta (f(w) - V) ).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from bemi.certificate.arithmetic import Matrix, Rows, require, whole

_LARGEST_DENOMINATOR = 1 << 64


class SoftMargins:
    """The objective of one network's training rows."""

    def __init__(self, rows: Rows, price: Any, resolutions: Any) -> None:
        require(len(rows.layers) == 2, "soft margins are for networks without a hidden layer")
        self.rows = rows
        self.price = positive(price, "price")
        require(isinstance(resolutions, list) and len(resolutions) == rows.layers[1], "not one resolution per output")
        self.resolutions = [positive(t, "resolution") for t in resolutions]
        self.norms = [math.isqrt(sum(v * v for _, v in entries)) for entries in rows.sparse]

    def objective(self, weights: Sequence[Matrix]) -> Fraction:
        (matrix,) = weights
        total = Fraction(sum(w * w for line in matrix for w in line), 2)
        for j, t in enumerate(self.resolutions):
            missing = Fraction(0)
            for entries, code, norm in zip(self.rows.sparse, self.rows.codes, self.norms, strict=True):
                if norm:
                    missing += max(Fraction(0), t - Fraction(code[j] * sum(v * matrix[i][j] for i, v in entries), norm))
            total += self.price * t * missing
        return total

    def bound(self, proof: Any) -> Fraction:
        """No network has a smaller objective than this."""
        return sum((gain - sum(map(self._most, g.values())) for g, gain in self._combinations(proof)), Fraction(0))

    def links_bound(self, ceiling: Fraction, proof: Any) -> int:
        """No network whose objective is at most ``ceiling`` has fewer links than this."""
        theta = positive(proof["theta"], "price of the objective")
        total = -theta * ceiling
        for g, gain in self._combinations(proof):
            total += theta * gain
            total += sum(min(Fraction(0), 1 - theta * self._most(value)) for value in g.values())
        return max(0, math.ceil(total))

    def _most(self, g: Fraction) -> Fraction:
        """``max_p (p g - p^2 / 2)`` over integers p in -P..P; a parabola, so the nearest integer is best."""
        p = min(self.rows.weight_bound, round(abs(g)))
        return p * abs(g) - Fraction(p * p, 2)

    def _combinations(self, proof: Any) -> list[tuple[dict[int, Fraction], Fraction]]:
        """``g`` and ``t sum_k nu_k mu_k`` of every output."""
        denominator = whole(proof["denominator"], 1, _LARGEST_DENOMINATOR, "denominator")
        lists = proof["multipliers"]
        require(
            isinstance(lists, list) and len(lists) == len(self.resolutions), "not one list of multipliers per output"
        )
        found = []
        for j, (t, multipliers) in enumerate(zip(self.resolutions, lists, strict=True)):
            g: dict[int, int] = {}
            gain, seen = 0, set()
            for entry in multipliers:
                require(isinstance(entry, list) and len(entry) == 2, "a multiplier is not a pair")
                k = whole(entry[0], 0, len(self.rows), "row")
                require(type(entry[1]) is int and entry[1] >= 0, "a multiplier is negative or not an integer")
                require(k not in seen, "a row has two multipliers")
                require(entry[1] * self.norms[k] <= self.price * t * denominator, "a multiplier is above its price")
                seen.add(k)
                gain += entry[1] * self.norms[k]
                for i, v in self.rows.sparse[k]:
                    g[i] = g.get(i, 0) + entry[1] * self.rows.codes[k][j] * v
            found.append(({i: Fraction(v, denominator) for i, v in g.items()}, t * Fraction(gain, denominator)))
        return found


def rational(text: Any, what: str) -> Fraction:
    """A rational number as a file writes it: ``"numerator/denominator"`` in hexadecimal, in lowest terms."""
    require(isinstance(text, str) and re.fullmatch("-?[0-9a-f]+/[0-9a-f]+", text), f"bad {what}: {text!r:.40}")
    numerator, denominator = (int(part, 16) for part in text.split("/"))
    require(denominator > 0, f"bad {what}: {text!r:.40}")
    value = Fraction(numerator, denominator)
    require(text == f"{value.numerator:x}/{value.denominator:x}", f"{what} is not in lowest terms")
    return value


def positive(text: Any, what: str) -> Fraction:
    value = rational(text, what)
    require(value > 0, f"{what} is not positive")
    return value
