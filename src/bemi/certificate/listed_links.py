"""Checks Min-Weight's bound by listing neurons: the fewest links of any neuron with a margin, and of pairs.

A neuron that must keep a margin has at least as many links as the smallest neuron with that margin, whatever its signs.

With one hidden layer and one output, let all neurons but two have required margins that only constant neurons reach,
and let no neuron be right on all rows.  Then the other two split, and the output is their AND or OR
(:mod:`bemi.certificate.splits`), so they are a pair: both right on all rows of one class, one of them right on each
other row.  Without a constant, the output could not be right for both ``+ -`` and ``- +``, so it has three links or
more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bemi.certificate.arithmetic import Rows
from bemi.certificate.limits import KIND, fits, only, require, whole, whole_row
from bemi.certificate.splits import Neurons

_OUTPUT_LINKS = 3


def listed_links_bound(rows: Rows, margins: Sequence[Sequence[int]], proof: Any) -> int:
    """The bound that the proof gives on the links of every network that keeps the margins (R52)."""
    require(len(rows.layers) > 2, "listed neurons are for networks with a hidden layer")
    only(proof, {"order", "single", "pair"}, KIND)
    every = Neurons(rows, proof["order"])
    first = sorted(margins[0])
    require(first[0] >= 1, "listed neurons are for margins of at least 1")
    known = []
    require(isinstance(proof["single"], list), "listed neurons are missing")
    for entry in proof["single"]:
        margin, links = whole_row(entry, 0, 1 << 40, "number of links")
        require(margin >= 1 and 1 <= links <= rows.layers[0], "links of a neuron are out of range")
        any_signs = [1] + [0] * (len(rows) - 1)
        smaller = every.with_signs(any_signs, margin - 1, most_links=links - 1)
        require(not any(smaller), "a neuron with this margin has fewer links")
        known.append((margin, links))
    needed = [max((n for m, n in known if m <= margin), default=0) for margin in first]
    bound = rows.weight_bound
    above = sum(max(0, -(-m // bound)) for layer in margins[1:] for m in layer)
    if proof["pair"] is None:
        return sum(needed) + above
    return sum(needed[2:]) + _pair_links(every, rows, first, proof["pair"]) + _OUTPUT_LINKS


def _pair_links(every: Neurons, rows: Rows, margins: Sequence[int], pair: Any) -> int:
    """The links of the two neurons with the smallest margins, if they must be a pair (R52)."""
    require(len(rows.layers) == 3 and rows.layers[-1] == 1, "pairs are for one hidden layer and one output")
    require(len(margins) >= 3, "pairs are for three neurons or more")
    codes = [code[0] for code in rows.codes]
    require({1, -1} <= set(codes), "pairs are for rows of two codes")
    only(pair, {"wide", "rows", "links"})
    wide = whole(pair["wide"], 1, margins[2] + 1, "margin of constant neurons")
    links = whole(pair["links"], 2, 2 * rows.layers[0] + 1, "number of links of a pair")
    first = [1] + [0] * (len(codes) - 1)
    require(not any(every.with_signs(first, wide - 1, constant=False)), "a neuron that splits has this margin")
    require(not any(every.with_signs(codes, 0)), "a neuron is right on all rows")
    require(isinstance(pair["rows"], list) and len(pair["rows"]) == 2, "there is not one row per code")
    for side, row in zip((1, -1), pair["rows"], strict=True):
        whole(row, 0, len(codes), "row")
        require(codes[row] != side, "neurons are not listed for a row of the other code")
        _check_side(every, codes, side, row, margins[:2], links)
    return links


def _check_side(every: Neurons, codes: Sequence[int], side: int, row: int, margins: Sequence[int], links: int) -> None:
    """Require that every pair with these margins, right on one side and covering the other, has so many links (R52)."""
    low, high = margins
    signs = [y if y == side or k == row else 0 for k, y in enumerate(codes)]
    fewest: dict[tuple[tuple[bool, ...], bool], int] = {}
    # The other neuron has a link at least.
    for sums, own in every.with_links(signs, low - 1, True, links - 2):
        pattern = tuple(s * y > 0 for s, y in zip(sums, codes, strict=True))
        key = (pattern, min(map(abs, sums)) >= high)
        fewest[key] = min(fewest.get(key, own), own)
        fits(len(fewest) * (8 * len(codes) + 300))
    for (pattern, wider), own in fewest.items():
        needed = [y if y == side or not right else 0 for y, right in zip(codes, pattern, strict=True)]
        level = (low if wider else high) - 1
        others = every.with_signs(needed, level, most_links=links - 1 - own)
        require(not any(others), "a pair of neurons has fewer links")
