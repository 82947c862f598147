"""Max-Margin by lists: all neurons with large margins, combined in every way that the upper layers accept.

The list holds all neurons above a level, so what is not searched has a neuron below it.  Let V be the best sum of
margins, M the largest margin of all neurons, U that of neurons that are right on all rows, and let a form
(:mod:`bemi.engines.decomposition.lists.forms`) be worth g with n neurons, n_U of which must be right everywhere.  A
better network of that form with two neurons below the level l has at most

    g + 2 (l - 1) + (n - n_U - 2) M + n_U U.

If only one is below, the others are listed: they are combined, and the last neuron is asked for where they leave room
for a better network (:mod:`bemi.engines.decomposition.lists.unlisted`).  So the level falls until two neurons below it
cannot make a better network.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from bemi.engines.decomposition.lists.bitset_tree import Forest
from bemi.engines.decomposition.lists.combination import combine, trees_for
from bemi.engines.decomposition.lists.forms import (
    MOST_DEEP,
    MOST_NEURONS,
    Form,
    Slots,
    neurons_that_decide,
    one_of_each_kind,
    output_margin,
)
from bemi.engines.decomposition.lists.proofs import can_be_checked, can_be_replayed
from bemi.engines.decomposition.lists.unlisted import STEPS_PER_SECOND, Unlisted
from bemi.engines.decomposition.lists.upper_layers import widest_slots
from bemi.engines.decomposition.neuron.all_weights import MOST_DICHOTOMIES, AllWeights, NeuronList, seconds_needed
from bemi.engines.decomposition.neuron.widest import widest
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.limits import FOREVER, Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.stages.result import Outcome, Proof

MOST_VECTORS = 2e10
"""Weight vectors of a neuron up to which they are listed: some ten seconds."""

CHEAP_VECTORS = 1e8
"""Weight vectors up to which lists are a matter of tenths of a second."""

NEURON_SHARE = 0.25
"""Part of the time for the widest neuron, with the labels and without."""

LIST_SHARE, SECONDS_BEFORE = 0.5, 0.1
"""Part of the time that a list may take, with so many seconds to find the forms; otherwise none is begun."""

PATIENCE = 2.0
"""How many times as long as everything before it a search may take before a longer list is tried."""

PROOF_SECONDS = 1.0
"""A proof may take as long, or :data:`PATIENCE` times as long as the search."""

IMPATIENCE = 0.3
"""The same for the questions of a list that cannot be the last."""

SECONDS_PER_NEURON = 2e-7
"""What a neuron of a list takes, about; different ones often have the same dichotomy."""

MOST_ROWS = 500
"""Rows up to which lists and trees are small."""

MOST_WEIGHT_BOUND = 7
"""P up to which forms are listed."""

FIRST_LIST, FIRST_DEAR_LIST, GROWTH = 20_000, 500, 8
"""Dichotomies to aim at in the first list, the same for many vectors, and how many times as many come next."""

STEPS_PER_NODE = 20_000
"""How a node limit translates into questions to trees, each about a microsecond."""


def can_list(problem: Problem, limits: Limits) -> bool:
    """Whether a problem has one output, upper layers of known forms, and few enough inputs for the node limit."""
    hidden = problem.hidden_layers
    if not hidden or problem.codes.shape[1] > 1 or problem.biased or problem.soft is not None:
        return False
    if max(hidden) > (MOST_NEURONS if len(hidden) == 1 else MOST_DEEP) or problem.weight_bound > MOST_WEIGHT_BOUND:
        return False
    if len(problem.data) > MOST_ROWS:
        return False
    inputs, bound = len(problem.live), problem.weight_bound
    if inputs * math.log(2 * bound + 1) > math.log(MOST_VECTORS):
        return False
    return STEPS_PER_SECOND * seconds_needed(inputs, bound) <= LIST_SHARE * steps_of(limits)


def steps_of(limits: Limits) -> float:
    """The steps of lists and questions to trees that a node limit allows."""
    return math.inf if limits.nodes is None else limits.nodes * STEPS_PER_NODE


def applies(problem: Problem, state: StageState) -> bool:
    """Whether the strategy is for such a problem."""
    return can_list(problem, state.limits)


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
    combining = Combining(problem, rows, limits, state.value)
    combining.run()
    if combining.best is None and combining.bound == 0 and state.value is None:
        return Finding(outcome=Outcome.INFEASIBLE)
    proof = combining.proof()
    support: Proof = "computed" if proof is None else "certified"
    return Finding(combining.best, bound=combining.bound, proof=proof, support=support, outcome=Outcome.LIMIT)


@dataclass
class Combining:
    """Lists and combinations, until nothing better is possible.

    Attributes
    ----------
    problem, rows, limits
        What is searched, its distinct rows times their codes, and when to stop.
    value
        Only networks with a larger sum of margins are of interest; then that of the best one.
    least_output
        The smallest margin of the output that is of interest.
    best, bound
        The best network found, and what no network exceeds.
    """

    problem: Problem
    rows: Integers
    limits: Limits
    value: int | None
    least_output: int = 1

    def __post_init__(self) -> None:
        self.clock = self.limits.deadline()
        self.steps = steps_of(self.limits)
        self.best: Network | None = None
        self.every = AllWeights(self.rows, self.problem.weight_bound)
        self.size = self.problem.layers[1]
        self.slots = [
            slots
            for slots in widest_slots(self.problem.hidden_layers, self.problem.weight_bound)
            if output_margin(slots.form, self.size) >= self.least_output
        ]
        caps = self.problem.margin_caps()
        self.widest = caps[0]  # M
        self.right = caps[0]  # U
        self.right_is_known = False
        self.open = 0  # what bounds combinations of listed neurons that were not tried
        self.singles: list[Integers] = []
        self._trees: tuple[NeuronList, Forest] | None = None
        self.unlisted = Unlisted(self.rows, self.every)
        self.bound = self.size * caps[0] + max(slots.form.value for slots in self.slots)

    def run(self) -> None:
        """Lower the level until the bound meets the value."""
        single = widest(self.rows, np.ones(len(self.rows), np.int64), self.problem.weight_bound, self._share())
        unsigned = self.problem.data[:, self.problem.live]  # where no input has both signs, that is simple
        wide = widest(unsigned, np.zeros(len(unsigned), np.int64), self.problem.weight_bound, self._share())
        self.singles = [each.weights for each in (wide, single) if each.weights is not None]
        self.right_is_known = single.margin == single.bound
        self.right, self.widest = min(single.bound, wide.bound), wide.bound
        listed = NeuronList.of(self.rows, self.widest + 1, ())
        self._combine(listed, self.clock)
        wanted = float(FIRST_LIST if self.every.vectors < CHEAP_VECTORS else FIRST_DEAR_LIST)
        before = len(listed.values)
        while self.bound > self._enough() and not self.clock.passed and self.steps > 0:
            enough, last, count = self._level_for_one(), self._last_level(), len(listed.values)
            too_many = min(count * count / max(before, 100), self.every.vectors / 2) > MOST_DICHOTOMIES
            if listed.level <= max(enough, last) or too_many:
                # A longer list leaves fewer questions.
                final = listed.level <= last or too_many
                self._ask(listed, self.clock if final else self._patience(PATIENCE))
            elif self.every.vectors >= CHEAP_VECTORS and self.clock.left is not None:
                # The next list may take all the time that is left.
                self._ask(listed, self._patience(IMPATIENCE))
            if listed.level <= last or self.bound <= self._enough() or self.clock.passed:
                break
            level = max(last, self.every.level_of(wanted), enough if listed.level > enough else 1)
            level = min(level, max(enough, listed.level - 1 - listed.level // 8), listed.level - 1)
            longer = self.every.list(level, self.clock.share(LIST_SHARE))
            self.steps -= STEPS_PER_SECOND * seconds_needed(self.rows.shape[1], self.problem.weight_bound)
            if not longer.complete:
                if not too_many:
                    self._ask(listed, self.clock)
                break
            listed, before = longer, count
            final = level <= last or self.clock.left is None
            self._combine(listed, self.clock if final else self._patience(PATIENCE))
            wanted = max(wanted, 2 * len(listed.values)) * GROWTH

    def _last_level(self) -> int:
        """The level of a list that takes all the time."""
        left = self.clock.left
        return 1 if left is None else self.every.level_of(LIST_SHARE * left / SECONDS_PER_NEURON)

    def _share(self) -> Deadline:
        return self.clock.share(NEURON_SHARE)

    def _patience(self, factor: float) -> Deadline:
        """So many times as long as everything before, but no longer than there is time."""
        seconds, left = factor * self.clock.elapsed, self.clock.left
        return Deadline.after(seconds if left is None else min(seconds, left))

    def _enough(self) -> float:
        return 0.0 if self.value is None else self.value + self.limits.gap * max(1, self.value)

    def _needed(self) -> int:
        """The level below which no neuron is part of a better network."""
        least = self.widest
        for slots in self.slots:
            caps = self._caps(slots)
            least = min(least, *((self.value or 0) + 1 - slots.form.value - (sum(caps) - cap) for cap in caps))
        return least

    def _level_for_one(self) -> int:
        """The level below which no better network has two neurons."""
        level = self.widest
        for slots in self.slots:
            caps = sorted(cap for cap, free in zip(self._caps(slots), slots.free, strict=True) if not free)
            others = slots.form.value + sum(self._caps(slots)) - sum(caps[:2])
            left = (self.value or 0) - others
            level = min(level, max(left - caps[0], left // 2) + 1) if len(caps) > 1 else level
        return level

    def _caps(self, slots: Slots) -> list[int]:
        """What bounds the margin of each slot's neuron."""
        return [self.right if forced else self.widest for forced in slots.force[0, 0]]

    def _combine(self, listed: NeuronList, deadline: Deadline) -> None:
        """Search all forms, and set the bound."""
        self.widest = int(listed.values[0]) if len(listed.values) else min(self.widest, listed.level - 1)
        self.right = min(self.right, self.widest)
        forest, possible = self._forest(listed)
        self.open = self._search(forest, possible, deadline=deadline)
        self.bound = min(self.bound, max(self._below(possible, listed.level - 1), self.open, self.value or 0))

    def _forest(self, listed: NeuronList) -> tuple[Forest, list[Slots]]:
        """The trees of a list with the best single neurons, and the forms that are possible."""
        if self._trees is None or self._trees[0] is not listed:
            self._trees = None  # makes room
            known = listed.joined(NeuronList.of(self.rows, listed.level, self.singles))
            self._trees = listed, trees_for([known], len(self.rows), self.slots, self.clock)
        return self._trees[1], [slots for slots in self.slots if self.right or not (slots.force[0, 0] > 0).any()]

    def _search(
        self,
        forest: Forest,
        slots: Sequence[Slots],
        caps: Integers | None = None,
        beaten: int | None = None,
        deadline: Deadline | None = None,
    ) -> int:
        """Search forms, and keep what is better; returns what bounds it."""
        caps = np.full(self.size, self.widest) if caps is None else caps
        found = combine(
            *(forest, slots, np.zeros(self.size, np.int64), caps, beaten or self.value or 0),
            unlisted=[self.unlisted] * self.size,
            steps=self.steps,
            deadline=deadline or self.clock,
        )
        self.steps -= found.steps
        if found.first is not None and found.form is not None:
            self.value = found.value
            self.best = combined_network(self.problem, found.first, found.form)
        return found.bound

    def _below(self, possible: Sequence[Slots], most: int) -> int:
        """What bounds networks with neurons below the list's level, which have at most ``most``."""
        bound = 0
        for slots in possible if most else ():
            caps, losses = self._caps(slots), self._losses(slots, most)
            bound = max(bound, slots.form.value + sum(caps) - losses[0])
        return bound

    def _losses(self, slots: Slots, most: int) -> list[int]:
        """How much less than their bounds neurons of a form have below a margin, the least first."""
        caps = zip(self._caps(slots), slots.free, strict=True)
        return sorted(cap - min(cap, most) for cap, free in caps if not free)

    def _ask(self, listed: NeuronList, deadline: Deadline) -> None:
        """Bound networks with neurons below the list: the last one is asked for if it is the only one."""
        forest, possible = self._forest(listed)
        most, bound = listed.level - 1, max(self.open, self.value or 0)
        for slots in possible:
            losses = self._losses(slots, most)
            if len(losses) > 1:
                bound = max(bound, slots.form.value + sum(self._caps(slots)) - losses[0] - losses[1])
        for form, slots in {slots.form: slots for slots in possible}.items():
            deciding = neurons_that_decide(form, self.size, also_right=not self.right_is_known)
            for j in one_of_each_kind(form, deciding, self.size):
                limits = np.zeros(self.size, dtype=np.int64)
                limits[list(slots.order)] = self._caps(slots)
                limits[j] = min(limits[j], most)
                asked = _with_unlisted(form, self.size, j)
                bound = max(bound, self._search(forest, asked, limits, max(bound, self.value or 0), deadline))
        self.bound = min(self.bound, max(bound, self.value or 0))

    def proof(self) -> dict[str, Any] | None:
        """The proof that nothing beats the value; None if the checker cannot replay it in its time (R64)."""
        if self.value is None or self.bound > self.value:
            return None
        if not can_be_checked(self.rows.shape[1], self.problem.weight_bound):
            return None
        self.widest = int(self.every.best(np.zeros(len(self.rows), np.int64), FOREVER).values[0])
        self.right = min(self.right, self.widest)
        listed = self.every.list(max(1, min(self.right + 1, self.widest, self._needed())), FOREVER)
        alone, caps = np.zeros(self.size, np.int64), np.full(self.size, self.widest)
        shape = self.problem.hidden_layers, self.problem.weight_bound
        timed = self.clock.left is not None
        deadline = Deadline.after(max(PROOF_SECONDS, PATIENCE * self.clock.elapsed)) if timed else FOREVER
        replayed = listed.complete and can_be_replayed(
            len(self.rows), self.every.vectors // 2, shape, [listed], self.slots, alone, caps, self.value, deadline
        )
        if not replayed:
            return None
        return {"kind": "combinations", "value": self.value, "any": self.widest, "labels": self.right}


@lru_cache(maxsize=256)
def _with_unlisted(form: Form, size: int, neuron: int) -> tuple[Slots, ...]:
    return tuple(Slots.of(form, (0,) * size, (), unlisted=neuron))


def combined_network(problem: Problem, first: Integers, form: Form) -> Network:
    """The network of a first layer of live inputs, and the layers of a form."""
    weights = np.zeros((problem.data.shape[1], first.shape[1]), dtype=np.int64)
    weights[problem.live] = first
    return Network((weights, *(np.array(layer) for layer in form.upper)), problem.weight_bound)
