"""Whether the certificate checker can repeat a search: it lists neurons and combines them in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bemi.engines.decomposition.lists.bitset_tree import Forest
from bemi.engines.decomposition.lists.combination import combine
from bemi.engines.decomposition.lists.forms import Slots
from bemi.engines.decomposition.lists.upper_layers import Smallest, smallest_forms
from bemi.exact import Integers
from bemi.limits import Deadline

MOST_CHECKED_VECTORS = 1e8
"""Weight vectors up to which the checker can list neurons."""

MOST_CHECKING = 1_000_000_000
"""Steps of the checker that a proof may take, about: a third of its budget."""


def can_be_checked(inputs: int, weight_bound: int) -> bool:
    """Whether the checker can list the neurons."""
    return (2 * weight_bound + 1) ** inputs / 2 <= MOST_CHECKED_VECTORS


def checking_work(rows: int, vectors: int, dichotomies: int, steps: int) -> int:
    """About how many steps the checker takes to list neurons and to repeat a search."""
    return rows * (vectors // 50 + 8 * dichotomies) + steps * rows * (3 + dichotomies // 1024)


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
    work = 0
    if forms:
        slots = [each for form in forms for each in Slots.of(form, list(range(len(chosen))), ())]
        again = combine(Forest.of(found.lists, len(rows)), slots, chosen, caps, -found.links, deadline=deadline)
        if again.open:
            return None
        most = max(len(listed.values) for listed in found.lists)
        work = checking_work(len(rows), 0, most, again.steps)
    work += sum(checking_work(len(rows), vectors, len(listed.values), 0) for listed in found.lists)
    return {"kind": "combinations", "links": found.links} if work <= MOST_CHECKING else None
