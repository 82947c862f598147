"""Good integer weights of one output: descents from rounded weights, and kicks out of their local optima."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.soft import search_kernel as kernel
from bemi.engines.decomposition.soft.terms import Floats, SoftRows
from bemi.exact import Integers
from bemi.limits import FOREVER, Deadline

KICKS = 200
"""Maximum kicks of a search."""

_KICK = 3  # weights that a kick moves
_ROUNDED_EVERY = 4  # kicks, of which one rounds all weights at random
_PARTNERS = 48  # moves that are tried in pairs
_WORK = 3 * 10**7  # products between two looks at the clock
_NEVER = -1e30  # a target below all margins


@dataclass(frozen=True, eq=False)
class Search:
    """The search for one output, optionally with a price per link."""

    soft: SoftRows
    columns: Floats
    link_price: float = 0.0

    @classmethod
    def of(cls, soft: SoftRows) -> Search:
        """The search without a price of links."""
        return cls(soft, np.ascontiguousarray(soft.rows.T))

    def descend(self, weights: Integers, deadline: Deadline = FOREVER) -> float:
        """Improve integer weights in place by moves of one weight and of two; returns the objective.

        With a limit on links, a link may also be exchanged for another.
        """
        value = np.inf
        while True:
            value, finished = self._until(kernel.descend, weights, deadline, _PARTNERS)
            if self.soft.max_links is None or not finished:
                return value
            better, finished = self._until(kernel.exchange, weights, deadline)
            if better > value - 1e-9 or not finished:
                return better

    def _until(
        self, loop: Callable[..., tuple[float, bool]], weights: Integers, deadline: Deadline, *options: int
    ) -> tuple[float, bool]:
        """Run a compiled loop in pieces, between which the clock is read: the objective, and whether it finished."""
        soft, targets = self.soft, sorted(self.soft.heights, reverse=True)
        first, second = targets[0], targets[1] if len(targets) > 1 else _NEVER
        while True:
            used = int(np.count_nonzero(weights[soft.counted]))
            free = len(weights) if soft.max_links is None else soft.max_links - used
            value, finished = loop(
                *(self.columns, weights, soft.limits, first, second, soft.low, soft.high, soft.counted, free),
                *(self.link_price, *options, _WORK),
            )
            if finished or deadline.passed:
                return value, finished

    def rounded(self, near: Floats, deadline: Deadline = FOREVER) -> tuple[Integers, float]:
        """Continuous weights, rounded within all limits and improved; and the objective."""
        weights = np.clip(np.rint(near), self.soft.low, self.soft.high).astype(np.int64)
        self.thinned(weights, np.abs(near))
        return weights, self.descend(weights, deadline)

    def thinned(self, weights: Integers, strength: Floats) -> None:
        """Set the weakest counted weights to zero until there are no more links than allowed."""
        if self.soft.max_links is None:
            return
        linked = np.flatnonzero(self.soft.counted & (weights != 0))
        surplus = len(linked) - self.soft.max_links
        if surplus > 0:
            weights[linked[np.argsort(strength[linked], kind="stable")[:surplus]]] = 0

    def kicked(
        self, weights: Integers, near: Floats, kicks: int, seed: int, deadline: Deadline, enough: float = -np.inf
    ) -> tuple[Integers, float]:
        """Move some weights the other way than they were rounded, and descend again; stops at an objective ``enough``.

        Some kicks round all weights afresh, at random.  With a limit on links, kicks remove some links and put others
        in.
        """
        best = weights.copy()
        lowest = self.descend(best, deadline)
        rng = np.random.default_rng(seed)
        loose = np.flatnonzero(np.abs(near - np.rint(near)) > 1e-6)
        for kick in range(kicks):
            if deadline.passed or lowest <= enough:
                break
            trial = best.copy()
            if self.soft.max_links is not None:
                self._relink(trial, near, rng)
            elif not len(loose):
                break
            elif kick % _ROUNDED_EVERY == 0:
                trial[loose] = self._allowed(loose, np.floor(near[loose] + rng.random(len(loose))))
            else:
                chosen = rng.choice(loose, min(_KICK, len(loose)), replace=False)
                up, down = np.ceil(near[chosen]), np.floor(near[chosen])
                trial[chosen] = self._allowed(chosen, np.where(trial[chosen] >= up, down, up))
            value = self.descend(trial, deadline)
            if value < lowest - 1e-9:
                best, lowest = trial, value
        return best, lowest

    def _allowed(self, chosen: NDArray[np.intp], values: Floats) -> Integers:
        return np.clip(values, self.soft.low[chosen], self.soft.high[chosen]).astype(np.int64)

    def _relink(self, trial: Integers, near: Floats, rng: np.random.Generator) -> None:
        """Remove up to a few links at random and put others in, preferably those with large continuous weights."""
        soft = self.soft
        linked = np.flatnonzero(soft.counted & (trial != 0))
        if len(linked):
            trial[rng.choice(linked, min(len(linked), int(rng.integers(1, _KICK + 1))), replace=False)] = 0
        empty = np.flatnonzero(soft.counted & (trial == 0) & (soft.low < soft.high))
        room = (soft.max_links or 0) - int(np.count_nonzero(trial[soft.counted]))
        if len(empty) and room > 0:
            chances = np.abs(near[empty]) + 0.1
            chosen = rng.choice(empty, min(room, len(empty)), replace=False, p=chances / chances.sum())
            side = np.where(near[chosen] >= 0, 1, -1)
            trial[chosen] = self._allowed(chosen, side)
