"""How large a budget the checker needs for what bemi writes: its own steps, counted without checking anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bemi.certificate.arithmetic import kept_rows, low_digits, packing_steps, part_steps, sum_steps
from bemi.certificate.limits import DEFAULT_BUDGET
from bemi.certificate.reading import STEPS_PER_VALUE, share_of_limits
from bemi.certificate.softmargins import leaf_steps, missing_steps, node_steps


@dataclass(frozen=True)
class Sizes:
    """What the work on a certificate's rows depends on.

    Attributes
    ----------
    rows, inputs
        Number of rows, and of values of each.
    live
        Inputs that are not 0 in all rows.
    lengths
        How many different lengths rows have.
    largest
        The largest magnitude of a value.
    """

    rows: int
    inputs: int
    live: int
    lengths: int
    largest: int


def needed_budget(
    file: int, text: bytes, sizes: Sizes, hinges: int, networks: Iterable[tuple[int, Sequence[Any]]]
) -> float:
    """Millions of steps that suffice for :func:`bemi.verify` to accept networks with soft margins.

    An upper bound: of the steps, only those that depend on how many lengths are among the rows that fall short are not
    counted exactly, nor those for factors beyond 64 bits.

    Parameters
    ----------
    file, text
        Bytes of the certificate file, and what it contains beside its rows.
    sizes
        Of its rows.
    hinges
        Hinges per row.
    networks
        For each network the number of its rows and the proofs of its stages, None for a stage without one.
    """
    steps = STEPS_PER_VALUE * sizes.rows * sizes.inputs
    steps += sum(_network_steps(rows, proofs, sizes, hinges) for rows, proofs in networks)
    share = share_of_limits(file, text)
    return max(steps / 1e6, DEFAULT_BUDGET * share if share > 1 else 0.0)


def _network_steps(rows: int, proofs: Sequence[Any], sizes: Sizes, hinges: int) -> int:
    """Steps for the objectives of a network's stages and the trees of their proofs."""
    outputs = max((len(proof["outputs"]) for proof in proofs if proof is not None), default=1)
    # The sums of the last neuron asked for are kept, and the splitting neurons need all.
    steps = (len(proofs) * outputs + (outputs > 1)) * sum_steps(rows, sizes.inputs)
    steps += len(proofs) * outputs * hinges * missing_steps(rows, min(rows, sizes.lengths))
    packed = _Packed()
    for proof in proofs:
        for tree in () if proof is None else proof["outputs"]:
            steps += sum(_node_steps(node, limits, rows, sizes, packed) for node, limits in _nodes(tree))
    kept = len(packed.rows) <= kept_rows(sizes.live)
    return steps + (len(packed.rows) if kept else packed.uses) * packing_steps(sizes.live)


@dataclass
class _Packed:
    """The rows that are needed as long integers, and how often."""

    rows: set[int] = field(default_factory=set)
    uses: int = 0


def _node_steps(node: dict[str, Any], limits: int, rows: int, sizes: Sizes, packed: _Packed) -> int:
    """Steps for a node of a tree that limits so many weights."""
    steps = node_steps(limits)
    if "split" in node:
        return steps
    multipliers = node["multipliers"]
    count, total, parts = len(multipliers), sum(value for _, value in multipliers), 1
    while digits := low_digits(total, count, sizes.largest):
        total = (total >> digits) + count
        steps += part_steps(count, sizes.live)
        parts += 1
    packed.rows.update(term % rows for term, _ in multipliers)
    packed.uses += parts * count
    return steps + leaf_steps(count, sizes.live)


def _nodes(tree: dict[str, Any]) -> Iterator[tuple[dict[str, Any], int]]:
    """All nodes of a tree, each with the number of weights that the branches above it limit."""
    stack: list[tuple[dict[str, Any], frozenset[int]]] = [(tree, frozenset())]
    while stack:
        node, box = stack.pop()
        yield node, len(box)
        stack += ((child, box | {node["split"][0]}) for child in node.get("children", ()))
