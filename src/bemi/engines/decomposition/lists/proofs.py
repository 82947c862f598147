"""Whether the certificate checker can repeat a search: it lists neurons and combines them in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bemi.engines.decomposition.lists.combination import combine, trees_for
from bemi.engines.decomposition.lists.forms import Slots
from bemi.engines.decomposition.lists.upper_layers import Smallest, smallest_forms
from bemi.engines.decomposition.neuron.all_weights import NeuronList
from bemi.exact import Integers
from bemi.limits import Deadline

MOST_CHECKED_VECTORS = 1e8
"""Weight vectors up to which the checker can list neurons."""

MOST_CHECKING = 1_000_000_000
"""Steps of the checker that a proof may take, about: a third of its budget."""


def can_be_checked(inputs: int, weight_bound: int) -> bool:
    """Whether the checker can list the neurons."""
    return (2 * weight_bound + 1) ** inputs / 2 <= MOST_CHECKED_VECTORS


def listing_work(rows: int, vectors: int, dichotomies: int) -> int:
    """About how many steps the checker takes to list neurons."""
    return rows * (vectors // 50 + 8 * dichotomies)


def searching_work(
    rows: int,
    lists: Sequence[NeuronList],
    slots: Sequence[Slots],
    chosen: Integers,
    caps: Integers,
    value: int,
    deadline: Deadline,
) -> int | None:
    """About how many steps the checker takes to find nothing above a value; None if those are too many.

    It does without what makes the engine's search short: all entries of a list are tried, also dominated ones.
    """
    each_step = rows * (3 + max(len(listed.values) for listed in lists) // 1024)
    slots = [replace(each, monotone=np.zeros_like(each.monotone)) for each in slots]
    most = MOST_CHECKING / each_step
    forest = trees_for(lists, rows, slots, deadline)
    again = combine(forest, slots, chosen, caps, value, from_above=False, steps=most, deadline=deadline)
    return None if again.bound > value else each_step * again.steps


def links_proof(
    rows: Integers,
    hidden: tuple[int, ...],
    weight_bound: int,
    margins: Sequence[Sequence[int]],
    found: Smallest,
    deadline: Deadline,
) -> dict[str, Any] | None:
    """The proof that there are no fewer links; None if the checker cannot replay it in its time (R65)."""
    if len(hidden) > 1 or found.lists is None or found.bound < found.links:
        return None
    if not can_be_checked(rows.shape[1], weight_bound):
        return None
    vectors = (2 * weight_bound + 1) ** rows.shape[1] // 2
    levels = [listed.level for listed in found.lists]
    chosen = np.array([levels.index(m) for m in margins[0]])
    caps = np.array([int(listed.values[0]) for listed in found.lists])[chosen]
    forms = smallest_forms(
        hidden,
        weight_bound,
        margins[1:],
        tuple((j,) for j in range(len(chosen))),
        found.links + int(caps.sum()),
        deadline,
    )
    work: int | None = 0
    if forms:
        slots = [each for form in forms for each in Slots.of(form, chosen.tolist(), ())]
        work = searching_work(len(rows), found.lists, slots, chosen, caps, -found.links, deadline)
    if work is None:
        return None
    work += sum(listing_work(len(rows), vectors, len(listed.values)) for listed in found.lists)
    return {"kind": "combinations", "links": found.links} if work <= MOST_CHECKING else None
