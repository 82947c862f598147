"""Soft margins: the objective in exact rationals, and what proofs show about it and the links it needs.

For one output with signs s_k, ``nu_k = isqrt(sum_i (x^k_i)^2)``, the resolution t and row weights omega_k,

    f(w) = 1/2 sum_i w_i^2 + sum_k sum_h c_kh max(0, t_h - s_k w.x^k / nu_k)

over the rows with ``nu_k > 0``.  One hinge has the target ``t_1 = t`` and the price ``c_k1 = C t omega_k``; two hinges
have the targets t/2 and 3t/2 and half that price each.

Any ``mu_kh >= 0`` with ``nu_k mu_kh <= c_kh`` gives, with ``g = sum_kh mu_kh s_k x^k``,

    f(w) >= 1/2 sum_i w_i^2 - g.w + sum_kh t_h nu_k mu_kh   for every w,

because ``c max(0, a) >= nu mu a``.  The right side separates into one small problem per weight, so its minimum over
integers between given limits is found exactly; if at most k links are allowed, those that gain most are the best.  A
proof is a tree that cuts the limits of one weight after another, with multipliers mu of its own in each leaf: f is at
least the smallest of the leaves' bounds.

With a price theta on f the same multipliers bound the links of every network whose f is at most V:
``links >= min_w ( links(w) + theta (f(w) - V) )``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from bemi.certificate.arithmetic import Matrix, Rows
from bemi.certificate.limits import KIND, only, require, whole

ROW_WEIGHT_UNIT = 1 << 16
"""Denominator of row weights."""

LARGEST_ROW_WEIGHT = ROW_WEIGHT_UNIT << 31

DEEPEST_TREE = 200
MOST_NODES = 1 << 17
"""Limits on the trees of one stage."""

LONGEST_RATIONAL = 1 << 17
"""Characters; one that is only compared with others."""

LONGEST_FACTOR = 1 << 10
"""Characters of a rational that others are multiplied with."""

_LARGEST_DENOMINATOR = 1 << 64
_LARGEST_MULTIPLIER = 1 << 256

Box = dict[int, tuple[int, int]]
"""Smallest and largest weights of the inputs that a tree has branched on."""


@dataclass(frozen=True)
class Restrictions:
    """How much rows count, and which weights a network may have.

    Attributes
    ----------
    row_weights
        Numerators of omega_k over :data:`ROW_WEIGHT_UNIT`; None if all are 1.
    signs
        For each input the only sign that its weights may have, or 0; None if all may have both.
    uncounted
        Inputs whose links do not count towards a limit on links.
    """

    row_weights: Sequence[int] | None = None
    signs: Sequence[int] | None = None
    uncounted: frozenset[int] = frozenset()


class _Leaf(NamedTuple):
    """``D g`` by input, ``sum t_h nu_k mu_kh``, and the limits of the weights in a leaf."""

    g: dict[int, int]
    gain: Fraction
    box: Box


class SoftMargins:
    """The objective of one network's training rows (R57).

    Parameters
    ----------
    rows
        The rows, their codes, the layers and P.
    soft
        ``price``, ``resolutions``, ``hinges`` and ``max_links``, as a model file has them.
    restrictions
        Row weights, signs and uncounted inputs.
    """

    def __init__(self, rows: Rows, soft: Any, restrictions: Restrictions) -> None:
        require(len(rows.layers) == 2, "soft margins are for networks without a hidden layer")
        self.rows, self.restrictions = rows, restrictions
        only(soft, {"price", "resolutions", "hinges", "max_links"})
        self.price = positive(soft["price"], "price")
        resolutions = soft["resolutions"]
        require(isinstance(resolutions, list) and len(resolutions) == rows.layers[1], "not one resolution per output")
        self.resolutions = [positive(t, "resolution") for t in resolutions]
        self.hinges = whole(soft["hinges"], 1, 3, "number of hinges")
        limit = soft["max_links"]
        self.max_links = None if limit is None else whole(limit, 1, 1 << 31, "maximum number of links")
        weights = restrictions.row_weights
        self.row_weights = [ROW_WEIGHT_UNIT] * len(rows) if weights is None else list(weights)
        self.norms = rows.lengths
        self._nodes = 0

    def targets(self, output: int) -> tuple[Fraction, ...]:
        """The target of each hinge."""
        t = self.resolutions[output]
        return (t,) if self.hinges == 1 else (t / 2, 3 * t / 2)

    def unit_price(self, output: int) -> Fraction:
        """The price of a hinge for a row weight of one unit."""
        return self.price * self.resolutions[output] / (self.hinges * ROW_WEIGHT_UNIT)

    def objective(self, weights: Sequence[Matrix]) -> Fraction:
        """The objective of a network; it must keep the limits on signs and links (R13, R57)."""
        (matrix,) = weights
        self._check_limits(matrix)
        total = Fraction(sum(w * w for line in matrix for w in line), 2)
        for j in range(len(self.resolutions)):
            reached = self.rows.sums([line[j] for line in matrix])
            sums = [code[j] * y for code, y in zip(self.rows.codes, reached, strict=True)]
            total += self.unit_price(j) * sum((self._missing(sums, target) for target in self.targets(j)), Fraction(0))
        return total

    def _missing(self, sums: Sequence[int], target: Fraction) -> Fraction:
        """``sum_k omega_k max(0, target - y_k / nu_k)``, added up by norm."""
        short: dict[int, int] = {}
        for y, norm, weight in zip(sums, self.norms, self.row_weights, strict=True):
            lack = target.numerator * norm - target.denominator * y
            if norm and lack > 0:
                short[norm] = short.get(norm, 0) + weight * lack
        self.rows.work.spend(missing_steps(len(sums), len(short)))
        common = math.lcm(*short)
        return Fraction(sum(lack * (common // norm) for norm, lack in short.items()), common * target.denominator)

    def _check_limits(self, matrix: Matrix) -> None:
        if self.restrictions.signs is not None:
            for sign, line in zip(self.restrictions.signs, matrix, strict=True):
                require(all(w * sign >= 0 for w in line), "a weight has the wrong sign")
        if self.max_links is not None:
            for j in range(len(self.resolutions)):
                links = sum(line[j] != 0 for i, line in enumerate(matrix) if i not in self.restrictions.uncounted)
                require(links <= self.max_links, "a neuron has more links than allowed")

    def bound(self, proof: Any) -> Fraction:
        """No network has a smaller objective than this (R59)."""
        denominator, trees = self._trees(only(proof, {"denominator", "outputs"}, KIND))
        total = Fraction(0)
        for output, tree in enumerate(trees):
            leaves = (self._least_objective(leaf, denominator) for leaf in self._leaves(output, tree, denominator))
            total += min(value for value in leaves if value is not None)
        return total

    def _least_objective(self, leaf: _Leaf, denominator: int) -> Fraction | None:
        """A lower bound on the objective in a leaf; None if every network there has too many links (R58)."""
        always, optional, forced = 0, [], 0
        for i in leaf.g.keys() | leaf.box.keys():
            low, high = self._range(i, leaf.box)
            most = _most(leaf.g.get(i, 0), low, high, denominator)
            counts = self.max_links is not None and i not in self.restrictions.uncounted
            if counts and low <= 0 <= high:
                optional.append(most)
            else:
                always += most
                forced += counts
        if self.max_links is not None:
            if forced > self.max_links:
                return None
            always += sum(sorted(optional, reverse=True)[: self.max_links - forced])
        return leaf.gain - Fraction(always, 2 * denominator)

    def links_bound(self, ceiling: Fraction, proof: Any) -> int:
        """No network whose objective is at most ``ceiling`` has fewer links than this (R60)."""
        only(proof, {"denominator", "outputs", "theta"}, KIND)
        theta = positive(proof["theta"], "price of the objective")
        denominator, trees = self._trees(proof)
        total = -theta * ceiling
        for output, tree in enumerate(trees):
            leaves = self._leaves(output, tree, denominator)
            total += min(self._least_links(leaf, denominator, theta) for leaf in leaves)
        return max(0, math.ceil(total))

    def _least_links(self, leaf: _Leaf, denominator: int, theta: Fraction) -> Fraction:
        """A lower bound on links plus theta times the objective in a leaf (R60)."""
        total = theta * leaf.gain
        for i in leaf.g.keys() | leaf.box.keys():
            low, high = self._range(i, leaf.box)
            with_link = 1 - theta * Fraction(_most(leaf.g.get(i, 0), low, high, denominator), 2 * denominator)
            total += min(Fraction(0), with_link) if low <= 0 <= high else with_link
        return total

    def _range(self, i: int, box: Box) -> tuple[int, int]:
        """Smallest and largest weight of an input."""
        if i in box:
            return box[i]
        bound = self.rows.weight_bound
        sign = 0 if self.restrictions.signs is None else self.restrictions.signs[i]
        return (0 if sign > 0 else -bound), (0 if sign < 0 else bound)

    def _trees(self, proof: dict[str, Any]) -> tuple[int, list[Any]]:
        """The common denominator of the multipliers, and the tree of each output."""
        self._nodes = 0
        denominator = whole(proof["denominator"], 1, _LARGEST_DENOMINATOR, "denominator")
        trees = proof["outputs"]
        require(isinstance(trees, list) and len(trees) == len(self.resolutions), "not one tree per output")
        return denominator, trees

    def _leaves(self, output: int, tree: Any, denominator: int) -> Iterator[_Leaf]:
        """The leaves of a tree; the children of each branch together have all weights of their parent (R59)."""
        stack: list[tuple[Any, Box, int]] = [(tree, {}, 0)]
        while stack:
            node, box, depth = stack.pop()
            self._nodes += 1
            require(self._nodes <= MOST_NODES and depth <= DEEPEST_TREE, "a tree is too large")
            self.rows.work.spend(node_steps(len(box)))
            require(isinstance(node, dict), "a node of a tree is malformed")
            if "split" not in node:
                require(node.keys() == {"multipliers"}, "a leaf is malformed")
                g, gain = self._combination(output, node["multipliers"], denominator)
                yield _Leaf(g, gain, box)
                continue
            split, children = node["split"], node.get("children")
            require(len(node) == 2 and isinstance(split, list) and len(split) == 2, "a branch is malformed")
            require(isinstance(children, list) and len(children) == 2, "a branch does not have two children")
            i = whole(split[0], 0, self.rows.layers[0], "input")
            low, high = self._range(i, box)
            value = whole(split[1], low, high, "value of a branch")
            stack.append((children[1], {**box, i: (value + 1, high)}, depth + 1))
            stack.append((children[0], {**box, i: (low, value)}, depth + 1))

    def _combination(self, output: int, multipliers: Any, denominator: int) -> tuple[dict[int, int], Fraction]:
        """``D g`` and ``sum t_h nu_k mu_kh`` of multipliers, each with the number ``h * rows + k`` (R58, R59)."""
        require(isinstance(multipliers, list), "multipliers are missing")
        rows = len(self.rows)
        self.rows.work.spend(leaf_steps(len(multipliers), len(self.rows.live)))
        price = self.unit_price(output)
        top = price.numerator * denominator
        factors: dict[int, int] = {}
        gains, seen = [0] * self.hinges, set()
        for entry in multipliers:
            require(isinstance(entry, list) and len(entry) == 2, "a multiplier is not a pair")
            term = whole(entry[0], 0, self.hinges * rows, "number of a multiplier")
            whole(entry[1], 0, _LARGEST_MULTIPLIER, "multiplier")
            require(term not in seen, "a row has two multipliers")
            seen.add(term)
            hinge, k = divmod(term, rows)
            within = entry[1] * self.norms[k] * price.denominator <= top * self.row_weights[k]
            require(within, "a multiplier is above its price")
            gains[hinge] += entry[1] * self.norms[k]
            factors[k] = factors.get(k, 0) + entry[1] * self.rows.codes[k][output]
        gain = sum((t * n for t, n in zip(self.targets(output), gains, strict=True)), Fraction(0)) / denominator
        return self.rows.weighted_sum(factors), gain


def missing_steps(rows: int, norms: int) -> int:
    """Steps that adding up what rows lack takes; the common denominator grows with every norm."""
    return 2 * rows + norms**2 // 4


def node_steps(limits: int) -> int:
    """Steps that a node of a tree takes, apart from its multipliers."""
    return 8 + 4 * limits


def leaf_steps(multipliers: int, inputs: int) -> int:
    """Steps that checking a leaf takes, apart from its rows as long integers."""
    return (multipliers + 2) * (16 + inputs // 8) + 8 * inputs


def _most(g: int, low: int, high: int, denominator: int) -> int:
    """``max_p (2 p g - p^2 D)`` over integers p in low..high; a parabola, so the p nearest to g / D is best."""
    p = min(max((2 * g + denominator) // (2 * denominator), low), high)
    return p * (2 * g - p * denominator)


def rational(text: Any, what: str, longest: int = LONGEST_RATIONAL) -> Fraction:
    """A rational number as a file writes it: ``"numerator/denominator"`` in hexadecimal, in lowest terms (R57)."""
    right = isinstance(text, str) and len(text) <= longest and re.fullmatch("-?[0-9a-f]+/[0-9a-f]+", text)
    require(right, f"bad {what}: {text!r:.40}")
    numerator, denominator = (int(part, 16) for part in text.split("/"))
    require(denominator > 0, f"bad {what}: {text!r:.40}")
    value = Fraction(numerator, denominator)
    require(text == f"{value.numerator:x}/{value.denominator:x}", f"{what} is not in lowest terms")
    return value


def positive(text: Any, what: str) -> Fraction:
    value = rational(text, what, LONGEST_FACTOR)
    require(value > 0, f"{what} is not positive")
    return value
