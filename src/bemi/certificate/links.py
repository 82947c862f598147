"""Replays the proof of a lower bound on the links of every network that has given margins.

The proof is a tree over the sign patterns of all neurons (:mod:`bemi.certificate.linktrees`).  Files of earlier
versions have a list of steps instead: components of rows that no light neuron separates, and a tree for each neuron.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from bemi.certificate.arithmetic import Row, Rows, require, whole
from bemi.certificate.linktrees import tree_bound

Group = dict[int, int]
"""Rows whose signs follow from one row's sign, with the relative signs."""

GroupOf = Callable[[int], Group]


def links_bound(rows: Rows, margins: Sequence[Sequence[int]], proof: Any) -> int:
    """The number of links that the proof shows to be necessary.

    Parameters
    ----------
    rows
        The rows, their codes, the layers and P.
    margins
        The margins that the neurons must have: one list per layer.
    proof
        ``target`` and ``tree``, or ``target``, ``main`` and ``steps``.
    """
    if isinstance(proof, dict) and "tree" in proof:
        return tree_bound(rows, margins, proof)
    require(isinstance(proof, dict) and isinstance(proof.get("steps"), list), "the proof is malformed")
    # A neuron above the first layer has inputs of size 1.
    above = sum(max(0, -(-m // rows.weight_bound)) for layer in margins[1:] for m in layer)
    if len(rows.layers) == 2:
        return above + sum(_fixed_signs(rows, margins[0], proof["steps"]))
    return _Links(rows, margins, above, proof).bound()


def _fixed_signs(rows: Rows, margins: Sequence[int], steps: list[Any]) -> list[int]:
    """Links of each neuron without a hidden layer, where the signs are the codes."""
    bounds = [0] * len(margins)
    for step in steps:
        neurons, tree = _bound_step(step, len(margins))
        for j in neurons:
            leaves = _leaves(rows, margins[j], None, {k: code[j] for k, code in enumerate(rows.codes)}, tree)
            require(leaves, "no weights have a margin that the network has")
            bounds[j] = max(bounds[j], min(leaves))
    return bounds


class _Links:
    """Replays a proof with a hidden layer; every step is about networks with fewer links than the target."""

    def __init__(self, rows: Rows, margins: Sequence[Sequence[int]], above: int, proof: dict[str, Any]) -> None:
        self.rows, self.margins, self.above, self.steps = rows, list(margins[0]), above, proof["steps"]
        target: Any = proof.get("target")
        require(type(target) is int and target >= 0, "the target is not a number of links")
        self.target: int = target
        given: Any = proof.get("main")
        require(isinstance(given, list), "main neurons are not a list")
        self.main = [whole(j, 0, len(self.margins), "neuron") for j in given]
        needed = _separators(margins, rows.weight_bound)
        require(len(set(self.main)) == len(self.main) == needed, "the number of main neurons is wrong")
        self.light = [j for j in range(len(self.margins)) if j not in self.main]
        kept = [j for j, m in enumerate(margins[-1]) if m >= 1]
        self.labels = [tuple(code[j] for j in kept) for code in rows.codes]
        self.component = list(range(len(rows))) if self.light else [0] * len(rows)
        self.bounds = [0] * len(self.margins)

    def bound(self) -> int:
        for step in self.steps:
            require(isinstance(step, list) and step, "a step is malformed")
            if step[0] == "M":
                self._merge(step)
            else:
                self._bound_neurons(*_bound_step(step, len(self.margins)))
        return min(self.target, self.above + sum(self.bounds))

    def _bound_neurons(self, neurons: list[int], tree: Any) -> None:
        main = neurons[0] in self.main
        require(all((j in self.main) == main for j in neurons), "main and light neurons share a tree")
        groups = _main_groups(self.component, self.labels) if main else _light_groups(self.component)
        leaves = _leaves(self.rows, min(self.margins[j] for j in neurons), groups, {}, tree, flippable=True)
        # Without an open leaf, no such network exists.
        least = min(leaves, default=self.target)
        for j in neurons:
            self.bounds[j] = max(self.bounds[j], least)

    def _merge(self, step: list[Any]) -> None:
        """No light neuron separates two rows: it would lose its margin, or cost more links than the target leaves."""
        require(self.light and len(step) == 4, "a merge is malformed")
        a, b = (whole(k, 0, len(self.rows), "row") for k in step[1:3])
        component = self.component
        require(component[a] != component[b], "a merge joins rows that are merged already")
        groups = _light_groups(component)
        signs = {**groups(a), **dict.fromkeys(groups(b), -1)}
        leaves = _leaves(self.rows, min(self.margins[j] for j in self.light), groups, signs, step[3])
        room = self.target - self.above - sum(self.bounds) + max(self.bounds[j] for j in self.light)
        require(all(links >= room for links in leaves), "a merge does not follow")
        self.component = [component[a] if c == component[b] else c for c in component]


def _bound_step(step: Any, count: int) -> tuple[list[int], Any]:
    """Neurons and tree of a step that bounds neurons."""
    require(isinstance(step, list) and len(step) == 3 and step[0] == "B", "a step is malformed")
    require(isinstance(step[1], list) and step[1], "a bound names no neuron")
    return [whole(j, 0, count, "neuron") for j in step[1]], step[2]


def _separators(margins: Sequence[Sequence[int]], weight_bound: int) -> int:
    """The fewest first-layer neurons that separate two rows whose codes differ in an output with a margin.

    A neuron that separates two rows with margin m has at least m / P inputs that do.  If h neurons of a layer separate
    them, one of these has at least the h-th smallest margin of the layer.
    """
    kept = [m for m in margins[-1] if m >= 1]
    if not kept:
        return 1
    count = -(-min(kept) // weight_bound)
    for layer in reversed(margins[1:-1]):
        require(count <= len(layer), "more neurons would have to separate than there are")
        count = max(1, -(-sorted(layer)[count - 1] // weight_bound))
    require(count <= len(margins[0]), "more neurons would have to separate than there are")
    return count


def _leaves(
    rows: Rows, margin: int, groups: GroupOf | None, signs: Group, tree: Any, *, flippable: bool = False
) -> list[int]:
    """Bounds on the links in the open leaves; every other leaf must be closed by the margin.

    Without ``groups``, branching is not allowed.  A neuron without signs may be flipped, so one child is enough.
    """
    bounds = []
    stack = [(signs, tree)]
    while stack:
        signs, node = stack.pop()
        require(isinstance(node, list) and node, "a tree is malformed")
        known = [signs.get(k, 0) for k in range(len(rows))]
        if node[0] == "L":
            require(len(node) == 2, "a leaf is malformed")
            require(rows.margin_bound(known, node[1]) < margin, "a leaf is closed without reason")
        elif node[0] == "K":
            require(len(node) == 3 and type(node[2]) is int and node[2] > 0, "a leaf is malformed")
            denominator = node[2]
            if node[1] == []:
                bounds.append(0)
                continue
            g, total = rows.combination(known, node[1])
            value = margin * total - sum(max(0, rows.weight_bound * abs(v) - denominator) for v in g.values())
            bounds.append(max(0, -(-value // denominator)))
        else:
            require(node[0] == "T" and len(node) == 4, "a branch is missing")
            k = whole(node[1], 0, len(rows), "row")
            require(groups is not None and k not in signs, "a branch is on a row that has a sign already")
            require(node[3] is not None or (flippable and not signs), "a branch is missing")
            assert groups is not None
            for sign, child in ((1, node[2]), (-1, node[3])):
                if child is not None or sign > 0:
                    stack.append(({**signs, **{i: sign * turn for i, turn in groups(k).items()}}, child))
    return bounds


def _light_groups(component: list[int]) -> GroupOf:
    """Light neurons are constant on a component."""
    return lambda k: {i: 1 for i, c in enumerate(component) if c == component[k]}


def _main_groups(component: list[int], labels: list[Row]) -> GroupOf:
    """If a component holds two codes, main neurons must tell them apart: they equal the code up to sign."""

    def group(k: int) -> Group:
        members = [i for i, c in enumerate(component) if c == component[k]]
        require(len({labels[i] for i in members}) <= 2, "one neuron would have to separate three codes")
        turned = {i: 1 if labels[i] == labels[k] else -1 for i in members}
        return turned if -1 in turned.values() else {k: 1}

    return group
