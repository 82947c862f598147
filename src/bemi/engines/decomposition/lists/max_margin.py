"""Max-Margin by lists: all neurons with large margins, combined in every way that the upper layers accept.

The list holds all neurons above a level, so what is not searched has a neuron below it.  Let V be the best sum of
margins, M the largest margin of all neurons, U that of neurons that are right on all rows, and let a form
(:mod:`bemi.engines.decomposition.lists.forms`) be worth g with n neurons, n_U of which must be right everywhere.  A
better network of that form with two neurons below the level l has at most

    g + 2 (l - 1) + (n - n_U - 2) M + n_U U.

If only one is below, the others are listed: so they are combined without it, and it adds l - 1.  The level falls until
all this is no more than V for every form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bemi.engines.decomposition.lists.bitset_tree import Forest
from bemi.engines.decomposition.lists.combination import combine
from bemi.engines.decomposition.lists.forms import MOST_DEEP, MOST_NEURONS, Form, Slots, without_neuron
from bemi.engines.decomposition.lists.neuron_list import MOST_DICHOTOMIES, Lister, NeuronList, seconds_needed
from bemi.engines.decomposition.lists.proofs import MOST_CHECKED_VECTORS, MOST_CHECKING, checking_work
from bemi.engines.decomposition.lists.upper_layers import widest_slots
from bemi.engines.decomposition.neuron.widest import widest
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.stages.result import Outcome

MOST_VECTORS = 2e10
"""Weight vectors of a neuron up to which they are listed: some ten seconds."""

CHEAP_VECTORS = 1e8
"""Weight vectors up to which lists are a matter of tenths of a second."""

NEURON_SHARE = 0.25
"""Part of the time for the widest neuron, with the labels and without."""

LIST_SHARE, SECONDS_BEFORE = 0.9, 0.1
"""Part of the time that the first list may take, with so many seconds to find the forms; otherwise none is begun."""

MOST_ROWS = 500
"""Rows up to which lists and trees are small."""

MOST_WEIGHT_BOUND = 7
"""P up to which forms are listed."""

FIRST_LIST, FIRST_DEAR_LIST, GROWTH = 20_000, 500, 8
"""Dichotomies to aim at in the first list, the same for many vectors, and how many times as many come next."""

STEPS_PER_NODE = 20_000
"""How a node limit translates into questions to trees."""


def can_list(problem: Problem) -> bool:
    """Whether a problem has one output, few enough inputs, and upper layers whose forms are known."""
    hidden = problem.hidden_layers
    if not hidden or problem.codes.shape[1] > 1 or problem.biased or problem.soft is not None:
        return False
    if max(hidden) > (MOST_NEURONS if len(hidden) == 1 else MOST_DEEP) or problem.weight_bound > MOST_WEIGHT_BOUND:
        return False
    if len(problem.data) > MOST_ROWS:
        return False
    return len(problem.live) * math.log(2 * problem.weight_bound + 1) <= math.log(MOST_VECTORS)


def applies(problem: Problem, state: StageState) -> bool:
    """Whether the strategy is for such a problem."""
    return can_list(problem)


def signed_rows(problem: Problem) -> Integers:
    """Each distinct row times its code, live inputs only: a neuron is right where its sum on them is positive."""
    return np.unique(problem.data[:, problem.live] * problem.codes, axis=0)


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: the best combination of listed neurons, and a bound on all others."""
    rows = signed_rows(problem)
    if not np.abs(rows).sum(axis=1).all():
        return Finding(outcome=Outcome.INFEASIBLE)  # a row of zeros gives no neuron a margin
    needed = SECONDS_BEFORE + seconds_needed(rows.shape[1], problem.weight_bound)
    if limits.seconds is not None and needed > LIST_SHARE * limits.seconds:
        return Finding()
    combining = _Combining(problem, rows, limits, state.value)
    combining.run()
    if combining.best is None and combining.bound == 0 and state.value is None:
        return Finding(outcome=Outcome.INFEASIBLE)
    proof = combining.proof()
    return Finding(
        combining.best, bound=combining.bound, proof=proof, certified=proof is not None, outcome=Outcome.LIMIT
    )


@dataclass
class _Combining:
    """Lists and combinations, until nothing better is possible."""

    problem: Problem
    rows: Integers
    limits: Limits
    value: int | None

    def __post_init__(self) -> None:
        self.clock = self.limits.deadline()
        self.steps = math.inf if self.limits.nodes is None else self.limits.nodes * STEPS_PER_NODE
        self.best: Network | None = None
        self.lister = Lister(self.rows, self.problem.weight_bound)
        self.size = self.problem.layers[1]
        self.slots = widest_slots(self.problem.hidden_layers, self.problem.weight_bound)
        caps = self.problem.margin_caps()
        self.widest = caps[0]  # M
        self.right = caps[0]  # U
        self.single: Integers | None = None
        self.bound = self.size * caps[0] + max(slots.form.value for slots in self.slots)

    def run(self) -> None:
        """Lower the level until the bound meets the value."""
        wanted = float(FIRST_LIST if self.lister.vectors < CHEAP_VECTORS else FIRST_DEAR_LIST)
        level = self.lister.level_of(wanted)
        single = widest(self.rows, np.ones(len(self.rows), np.int64), self.problem.weight_bound, self._share())
        self.single = single.weights
        self.right = self.right if single.bound is None else single.bound
        unsigned = self.problem.data[:, self.problem.live]  # where no input has both signs, that is simple
        wide = widest(unsigned, np.zeros(len(unsigned), np.int64), self.problem.weight_bound, self._share())
        self.widest = self.widest if wide.bound is None else wide.bound
        self.right = min(self.right, self.widest)
        while True:
            listing = Deadline()
            listed = self.lister.list(level, deadline=self.clock)
            seconds = listing.elapsed
            self._combine(listed)
            if not listed.complete or self.clock.passed or self.bound <= self._enough() or level == 1:
                return
            wanted = max(wanted, 2 * len(listed.values)) * GROWTH
            below = max(self._needed(), self.lister.level_of(min(wanted, MOST_DICHOTOMIES)), 1)
            left = self.clock.left
            if min(level - 1, below) < self.lister.hopeless_below or (left is not None and left < seconds):
                return  # a longer list takes longer
            level = min(level - 1, below)

    def _share(self) -> Deadline:
        return self.clock.share(NEURON_SHARE)

    def _enough(self) -> float:
        value = self.value or 0
        return value + self.limits.gap * max(1, value)

    def _needed(self) -> int:
        """The level below which no neuron is part of a better network."""
        least = self.widest
        for slots in self.slots:
            caps = self._caps(slots)
            least = min(least, *((self.value or 0) + 1 - slots.form.value - (sum(caps) - cap) for cap in caps))
        return least

    def _caps(self, slots: Slots) -> list[int]:
        """What bounds the margin of each slot's neuron."""
        return [self.right if forced else self.widest for forced in slots.force[0, 0]]

    def _combine(self, listed: NeuronList) -> None:
        """Search all forms, and set the bound."""
        if listed.complete:
            self.widest = int(listed.values[0]) if len(listed.values) else min(self.widest, listed.level - 1)
            self.right = min(self.right, self.widest)
        if self.single is not None:
            value = int((self.rows @ self.single).min())
            if value < listed.level:
                listed = listed.with_neuron(self.rows, self.single, value)
        if not len(listed.values):
            self.bound = min(self.bound, max(slots.form.value + sum(self._caps(slots)) for slots in self.slots))
            return
        forest = Forest.of([listed], len(self.rows))
        possible = [slots for slots in self.slots if self.right or not (slots.force[0, 0] > 0).any()]
        bound = 0
        found = combine(
            *(forest, possible, np.zeros(self.size, np.int64), np.full(self.size, self.widest), self.value or 0),
            steps=self.steps,
            deadline=self.clock,
        )
        self.steps -= found.steps
        if found.entries is not None:
            assert found.form is not None
            self.value = found.value
            self.best = combined_network(self.problem, [listed] * self.size, forest, found.form, found.entries)
        for slots in possible:
            caps = self._caps(slots)
            total = slots.form.value + sum(caps)
            if slots in found.open or not listed.complete:
                bound = max(bound, total)
        if listed.complete and not found.open and listed.level > 1:
            bound = self._below(forest, possible, listed.level - 1)
        self.bound = min(self.bound, max(bound, self.value or 0))

    def _below(self, forest: Forest, possible: Sequence[Slots], most: int) -> int:
        """What bounds networks with one or more neurons below the list's level, which have at most ``most``."""
        bound, size = self.value or 0, self.size
        forms = {slots.form: slots for slots in possible}
        single: list[tuple[Form, int, int]] = []
        for form, slots in forms.items():
            caps = self._caps(slots)
            losses = sorted(cap - min(cap, most) for cap, free in zip(caps, slots.free, strict=True) if not free)
            total = form.value + sum(caps)
            if len(losses) > 1:
                bound = max(bound, total - losses[0] - losses[1])
            for place, j in enumerate(slots.order):
                if not slots.free[place]:
                    single.append((form, j, min(caps[place], most)))
        # One neuron is below, and the others are in the list.
        for form, j, margin in single:
            if size == 1:
                bound = max(bound, form.value + margin)
                continue
            worth = Form(0, form.value + margin, ())
            slots_without = [replace(slots, form=worth) for slots in without_neuron(form, size, j)]
            alone, caps_without = np.zeros(size - 1, np.int64), np.full(size - 1, self.widest)
            found = combine(forest, slots_without, alone, caps_without, bound, steps=self.steps, deadline=self.clock)
            self.steps -= found.steps
            bound = max(bound, found.value)
            if found.open:
                caps = self._caps(forms[form])
                bound = max(bound, form.value + sum(caps) - min(cap - min(cap, most) for cap in caps))
        return bound

    def proof(self) -> dict[str, Any] | None:
        """The proof that nothing beats the value; None if the checker cannot replay it in its time (R64)."""
        if len(self.problem.hidden_layers) > 1 or self.value is None or self.bound > self.value or self.clock.passed:
            return None
        level = max(1, min(self.right + 1, self._needed()))
        vectors = self.lister.vectors
        if vectors > MOST_CHECKED_VECTORS:
            return None
        listed = self.lister.list(level, deadline=self.clock)
        if not listed.complete:
            return None
        if len(listed.values):
            forest = Forest.of([listed], len(self.rows))
            alone, caps = np.zeros(self.size, np.int64), np.full(self.size, self.widest)
            again = combine(forest, self.slots, alone, caps, self.value, deadline=self.clock)
            if again.open or checking_work(len(self.rows), vectors, len(listed.values), again.steps) > MOST_CHECKING:
                return None
        return {"kind": "combinations", "value": self.value, "any": self.widest, "labels": self.right}


def combined_network(
    problem: Problem, lists: Sequence[NeuronList], forest: Forest, form: Form, entries: Integers
) -> Network:
    """The network of some entries of the forest, one from each neuron's list."""
    first = np.zeros((problem.data.shape[1], len(entries)), dtype=np.int64)
    for j, entry in enumerate(entries.tolist()):
        first[problem.live, j] = forest.weights(lists, j, entry)
    return Network((first, *(np.array(layer) for layer in form.upper)), problem.weight_bound)
