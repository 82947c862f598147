"""Whether the certificate checker can repeat a search: it lists neurons and combines them in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bemi.engines.decomposition.lists.combination import combine, trees_for
from bemi.engines.decomposition.lists.forms import Slots
from bemi.engines.decomposition.lists.upper_layers import Smallest
from bemi.engines.decomposition.neuron.all_weights import NeuronList
from bemi.exact import Integers
from bemi.limits import Deadline

MOST_CHECKED_VECTORS = 1e8
"""Weight vectors up to which the checker can list neurons."""

MOST_CHECKING = 2_000_000_000
"""Steps of the checker that a proof may take, about: two thirds of its budget."""


def can_be_checked(inputs: int, weight_bound: int) -> bool:
    """Whether the checker can list the neurons."""
    return (2 * weight_bound + 1) ** inputs / 2 <= MOST_CHECKED_VECTORS


def can_be_replayed(
    rows: int,
    vectors: int,
    shape: tuple[tuple[int, ...], int],
    lists: Sequence[NeuronList],
    slots: Sequence[Slots],
    chosen: Integers,
    caps: Integers,
    value: int,
    deadline: Deadline,
) -> bool:
    """Whether the checker finds in its time that there is nothing above a value.

    ``shape`` is the hidden layers and P, and ``vectors`` the number of weight vectors that it tries for each list.  It
    does without what makes the engine's search short: all entries of a list are tried, also dominated ones.
    """
    hidden, weight_bound = shape
    work = sum(rows * (vectors // 50 + 8 * len(listed.values)) for listed in lists)
    if len(hidden) > 1:
        sets = 3 ** (1 << hidden[0] - 1) >> hidden[0]  # of patterns, up to flips
        work += 12 * sets * hidden[1] * (2 * weight_bound + 1) ** hidden[0]
    if work > MOST_CHECKING or not all(len(listed.values) for listed in lists):
        return work <= MOST_CHECKING
    slots = [replace(each, monotone=np.zeros_like(each.monotone)) for each in slots]
    forest = trees_for(lists, rows, slots, deadline)
    left = MOST_CHECKING - work
    again = combine(forest, slots, chosen, caps, value, from_above=False, checking=left, deadline=deadline)
    return again.bound <= value and again.checking <= left


def links_proof(
    rows: Integers,
    hidden: tuple[int, ...],
    weight_bound: int,
    margins: Sequence[int],
    found: Smallest,
    deadline: Deadline,
) -> dict[str, Any] | None:
    """The proof that there are no fewer links; None if the checker cannot replay it in its time (R65)."""
    if found.lists is None or found.bound < found.links or not can_be_checked(rows.shape[1], weight_bound):
        return None
    vectors = (2 * weight_bound + 1) ** rows.shape[1] // 2
    levels = [listed.level for listed in found.lists]
    chosen = np.array([levels.index(m) for m in margins])
    caps = np.array([listed.values[0] if len(listed.values) else 0 for listed in found.lists])[chosen]
    replayed = can_be_replayed(
        len(rows), vectors, (hidden, weight_bound), found.lists, found.slots, chosen, caps, -found.links, deadline
    )
    return {"kind": "combinations", "links": found.links} if replayed else None
