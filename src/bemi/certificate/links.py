"""Replays the tree over sign patterns that proves a lower bound on the links of every network with given margins.

The proof's form is described in docs/certificates.md.  A node stands for all networks that have fewer links than the
target and the relations known there: which rows a first-layer neuron gives equal signs, and which opposite ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bemi.certificate.arithmetic import Rows
from bemi.certificate.limits import KIND, LARGEST_MARGIN, LARGEST_MULTIPLIER, Row, fits, only, require, whole

_DEEPEST = 400
"""Nodes within each other."""


def links_bound(rows: Rows, margins: Sequence[Sequence[int]], proof: Any) -> int:
    """The number of links that the proof shows to be necessary (R43 to R51).

    Parameters
    ----------
    rows
        The rows, their codes, the layers and P.
    margins
        The margins that the neurons must have: one list per layer.
    proof
        ``target`` and ``tree``.
    """
    only(proof, {"target", "tree"}, {"bound", *KIND})
    target = whole(proof["target"], 0, LARGEST_MARGIN, "number of links")
    found = _Replay(rows, margins, target).node(_State.beginning(rows, len(margins[0])), proof["tree"], 0)
    if "bound" in proof:
        claimed = whole(proof["bound"], 0, LARGEST_MARGIN, "bound of the proof")
        require(claimed <= found, f"the proof claims {claimed}, but only {found} is proved")
    return found


class _State:
    """Relations and bounds of all first-layer neurons (R43).

    ``component[j][k]`` is the first row whose relation to row k is known for neuron j, and ``parity[j][k]`` is that
    relation: 1 for equal signs, -1 for opposite ones.
    """

    def __init__(self, component: list[list[int]], parity: list[list[int]], bounds: list[int]) -> None:
        self.component, self.parity, self.bounds = component, parity, bounds

    @property
    def size(self) -> int:
        """Relations that are stored."""
        return len(self.component) * len(self.component[0])

    @classmethod
    def beginning(cls, rows: Rows, neurons: int) -> _State:
        """Nothing is known; without a hidden layer, the signs are the codes (R43)."""
        if len(rows.layers) == 2:
            parity = [[code[j] * rows.codes[0][j] for code in rows.codes] for j in range(neurons)]
            return cls([[0] * len(rows) for _ in range(neurons)], parity, [0] * neurons)
        component = [list(range(len(rows))) for _ in range(neurons)]
        return cls(component, [[1] * len(rows) for _ in range(neurons)], [0] * neurons)

    def copy(self) -> _State:
        return _State([list(c) for c in self.component], [list(p) for p in self.parity], list(self.bounds))

    def between(self, j: int, a: int, b: int) -> int:
        """The relation of two rows, 0 if it is open."""
        component, parity = self.component[j], self.parity[j]
        return parity[a] * parity[b] if component[a] == component[b] else 0

    def join(self, j: int, a: int, b: int, relation: int) -> None:
        """Set the relation of two rows, which must be open."""
        require(self.between(j, a, b) == 0, "a relation is known already")
        component, parity = self.component[j], self.parity[j]
        first, last = sorted((component[a], component[b]))
        turn = parity[a] * parity[b] * relation
        for k, c in enumerate(component):
            if c == last:
                component[k], parity[k] = first, parity[k] * turn

    def signs(self, j: int, multipliers: Any) -> list[int]:
        """Signs, up to a flip, of the rows whose relation to the first row of the multipliers is known (R47)."""
        require(isinstance(multipliers, list) and multipliers, "multipliers are missing")
        require(isinstance(multipliers[0], list) and multipliers[0], "a multiplier is not a pair")
        component = self.component[j]
        home = component[whole(multipliers[0][0], 0, len(component), "row")]
        return [p if c == home else 0 for c, p in zip(component, self.parity[j], strict=True)]

    def same(self, i: int, j: int) -> bool:
        """Whether the same is known about two neurons."""
        return self.component[i] == self.component[j] and self.parity[i] == self.parity[j]


class _Replay:
    """Replays nodes; every step is about networks with fewer links than the target."""

    def __init__(self, rows: Rows, margins: Sequence[Sequence[int]], target: int) -> None:
        self.rows, self.margins, self.target = rows, list(margins[0]), target
        self._layers = [list(layer) for layer in margins[1:]]
        # A neuron above the first layer has inputs of size 1.
        self.above = sum(_needed(m, rows.weight_bound) for layer in self._layers for m in layer)
        self._allowed: dict[tuple[bool, ...], list[bool]] = {}

    def node(self, state: _State, steps: Any, depth: int) -> int:
        """The fewest links, at most the target, of the networks at a node (R48, R50)."""
        require(isinstance(steps, list) and depth < _DEEPEST, "a tree is malformed or too deep")
        fits(20 * state.size * (depth + 1))
        self.rows.work.spend(2 * state.size)
        for at, step in enumerate(steps):
            self.rows.work.spend(8 + 2 * len(self.rows))
            require(isinstance(step, list) and step, "a step is malformed")
            tag, size = step[0], len(step)
            if tag == "D" and size == 3:
                if not self._count(state, step):
                    return self.target
            elif tag == "X" and size == 6:
                self._exclude(state, step, depth)
            elif tag == "B" and size == 3:
                self._bound(state, step)
            elif tag == "L" and size == 3:
                j = self._neuron(step[1])
                reached = self.rows.margin_bound(state.signs(j, step[2]), step[2])
                require(reached < self.margins[j], "a node is closed without reason")
                return self.target
            else:
                require(tag == "T" and size == 6 and at == len(steps) - 1, "a step is malformed")
                return self._branch(state, step, depth)
        return min(self.target, self._above(state) + sum(state.bounds))

    def _above(self, state: _State) -> int:
        """Links above the first layer: margin / P for each neuron, and three where copies do not suffice (R51).

        A neuron with a margin and at most two links copies an input, up to a flip: the one with the larger weight, or
        both agree on all rows.  If the only output needs every neuron of the second layer to separate different codes,
        and no first-layer neuron separates all of them, each of these neurons has at least three links.
        """
        layers, bound = self._layers, self.rows.weight_bound
        if len(layers) != 2 or len(layers[1]) != 1 or _needed(layers[1][0], bound) < len(layers[0]):
            return self.above
        if not all(self._misses(state, j) for j in range(len(self.margins))):
            return self.above
        return self.above + sum(max(0, 3 - _needed(m, bound)) for m in layers[0] if m >= 1)

    def _misses(self, state: _State, j: int) -> bool:
        """Whether a neuron gives two rows of different codes equal signs."""
        seen: dict[tuple[int, int], Row] = {}
        places = zip(state.component[j], state.parity[j], self.rows.codes, strict=True)
        return any(seen.setdefault((c, p), code) != code for c, p, code in places)

    def _neuron(self, value: Any) -> int:
        return whole(value, 0, len(self.margins), "neuron")

    def _neurons(self, state: _State, values: Any) -> list[int]:
        """Neurons that may be swapped: equal margins, and the same is known about them (R18, R43)."""
        require(isinstance(values, list) and values, "a step names no neuron")
        neurons = [self._neuron(j) for j in values]
        first = neurons[0]
        require(len(set(neurons)) == len(neurons), "a neuron is named twice")
        self.rows.work.spend(3 * len(neurons) * len(self.rows))
        alike = all(self.margins[j] == self.margins[first] and state.same(j, first) for j in neurons[1:])
        require(alike, "neurons are not interchangeable")
        return neurons

    def _pair(self, step: list[Any]) -> tuple[int, int]:
        a, b = (whole(k, 0, len(self.rows), "row") for k in step[2:4])
        return a, b

    def _exclude(self, state: _State, step: list[Any], depth: int) -> None:
        """Step X: what is impossible for the first neuron is impossible for all that may be swapped with it (R45)."""
        neurons, (a, b) = self._neurons(state, step[1]), self._pair(step)
        require(type(step[4]) is int and step[4] in (1, -1), "a relation is neither equal nor opposite")
        assumed = state.copy()
        assumed.join(neurons[0], a, b, step[4])
        require(self.node(assumed, step[5], depth + 1) >= self.target, "a relation is excluded without reason")
        for j in neurons:
            state.join(j, a, b, -step[4])

    def _branch(self, state: _State, step: list[Any], depth: int) -> int:
        """Step T: all neurons give two rows equal signs, or the first, as they may be swapped, opposite ones (R49)."""
        neurons, (a, b) = self._neurons(state, step[1]), self._pair(step)
        equal, opposite = state.copy(), state
        for j in neurons:
            equal.join(j, a, b, 1)
        opposite.join(neurons[0], a, b, -1)
        return min(self.node(equal, step[4], depth + 1), self.node(opposite, step[5], depth + 1))

    # -- counting ------------------------------------------------------------------------------------------------------

    def _count(self, state: _State, step: list[Any]) -> bool:
        """Step D: set the open relations that the number of separating neurons decides; False if none can be (R44)."""
        require(self._layers, "there is nothing to count without a hidden layer")
        a, b = (whole(k, 0, len(self.rows), "row") for k in step[1:3])
        require(a != b, "a row is counted against itself")
        self.rows.work.spend(8 * len(self.margins))
        relations = [state.between(j, a, b) for j in range(len(self.margins))]
        separating, open_ = relations.count(-1), [j for j, r in enumerate(relations) if r == 0]
        codes = self.rows.codes
        possible = self._counts(tuple(x != y for x, y in zip(codes[a], codes[b], strict=True)))
        possible = possible[separating : separating + len(open_) + 1]
        if not any(possible):
            return False
        require(open_, "counting decides nothing")
        only_equal, only_opposite = not any(possible[1:]), not any(possible[:-1])
        require(only_equal or only_opposite, "counting decides nothing")
        self.rows.work.spend(2 * len(open_) * len(self.rows))
        for j in open_:
            state.join(j, a, b, 1 if only_equal else -1)
        return True

    def _counts(self, differ: tuple[bool, ...]) -> list[bool]:
        """For each h, whether h first-layer neurons may separate two rows whose codes differ in these outputs (R44)."""
        if differ not in self._allowed:
            size = len(self.margins)
            self._allowed[differ] = [self._fits(0, size, h, differ) for h in range(size + 1)]
        return self._allowed[differ]

    def _fits(self, layer: int, width: int, count: int, differ: tuple[bool, ...]) -> bool:
        """Whether layers from this one on have their margins if ``count`` of ``width`` inputs separate rows (R19, R44).

        A neuron with margin m separates the rows by inputs that do, at least m / P of them and at least one.  If it
        does not separate them, at least m / P inputs do not.
        """
        self.rows.work.spend(8 * width)
        margins = self._layers[layer]
        needed = [_needed(m, self.rows.weight_bound) for m in margins]
        equal = [width - count >= n for n in needed]
        separate = [count >= max(1, n) for n in needed]
        if layer == len(self._layers) - 1:
            # An output without a margin may be wrong.
            outputs = zip(margins, differ, equal, separate, strict=True)
            return all(m < 1 or (s if other else e) for m, other, e, s in outputs)
        if not all(e or s for e, s in zip(equal, separate, strict=True)):
            return False
        return any(self._fits(layer + 1, len(margins), h, differ) for h in range(equal.count(False), sum(separate) + 1))

    # -- links ---------------------------------------------------------------------------------------------------------

    def _bound(self, state: _State, step: list[Any]) -> None:
        """Step B (R46)."""
        neurons = self._neurons(state, step[1])
        margin = self.margins[neurons[0]]
        require(margin >= 1, "a neuron without a margin needs no links")
        least = self._weights(state, neurons[0], margin, step[2])
        for j in neurons:
            state.bounds[j] = max(state.bounds[j], least)

    def _weights(self, state: _State, neuron: int, margin: int, tree: Any) -> int:
        """The fewest links over a tree that branches on the weights of one neuron (R47)."""
        least: int | None = None
        stack: list[tuple[dict[int, tuple[int, int]], Any]] = [({}, tree)]
        largest = self.rows.weight_bound
        while stack:
            fits(200 * len(stack) * (len(stack[-1][0]) + 1))
            limits, node = stack.pop()
            self.rows.work.spend(8 + 4 * len(limits) + 2 * len(self.rows))
            require(isinstance(node, list) and node, "a tree of weights is malformed")
            if node[0] == "K":
                require(len(node) == 3, "a leaf is malformed")
                whole(node[2], 1, LARGEST_MULTIPLIER, "unit of a leaf")
                links = self._leaf(state.signs(neuron, node[1]), margin, limits, node[1], node[2])
                least = links if least is None else min(least, links)
                continue
            require(node[0] == "W" and len(node) == 5, "a tree of weights is malformed")
            i = whole(node[1], 0, self.rows.layers[0], "input")
            low, high = limits.get(i, (-largest, largest))
            value = whole(node[2], low, high, "weight")
            stack.append(({**limits, i: (low, value)}, node[3]))
            stack.append(({**limits, i: (value + 1, high)}, node[4]))
        assert least is not None
        return least

    def _leaf(
        self, signs: list[int], margin: int, limits: dict[int, tuple[int, int]], multipliers: Any, denominator: int
    ) -> int:
        """``m sum(mu) - sum_i max_w (w g_i - [w is a link])`` over weights within their limits, rounded up (R47)."""
        g, total = self.rows.combination(signs, multipliers)
        largest = self.rows.weight_bound
        value = margin * total
        for i, v in g.items():
            if i not in limits:
                value -= max(0, largest * abs(v) - denominator)
        for i, (low, high) in limits.items():
            v = g.get(i, 0)
            gains = [v * w - (denominator if w else 0) for w in (low, high)]
            value -= max(*gains, 0) if low <= 0 <= high else max(gains)
        return max(0, -(-value // denominator))


def _needed(margin: int, weight_bound: int) -> int:
    """Links of a neuron whose inputs are -1 or 1 (R50)."""
    return max(0, -(-margin // weight_bound))
