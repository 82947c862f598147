"""Good integer weights of one output: descents from rounded weights, and kicks out of their local optima.

A dive lets the linear program round a few weights, solves it anew, and rounds some more.  Most dives search near the
best weights so far: a weight keeps its value where the linear program agrees with it, and some others keep theirs at
random.  The rest are rounded in several steps, the least fractional ones first, so that the weights still free can make
up for what rounding did to the rows.

Only rows near a hinge decide which move is best.  A row whose margin is so far above all its targets, or below some of
them, that no weights of interest change that is linear in the weights: it is worth its share of one vector, the *pull*.
What the loops compute is then never more than the objective, and equal to it unless such a row has moved past a target.
So weights that look no better than the best ones need no look at the other rows; if weights look better, all rows are
looked at, and those that have moved past a target become near.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.soft.program import LinearProgram, Relaxed
from bemi.engines.decomposition.soft.search_kernel import descend, exchange
from bemi.engines.decomposition.soft.terms import Floats, SoftRows
from bemi.exact import Integers
from bemi.limits import FOREVER, Deadline

KICKS = 200
"""Maximum kicks of a search."""

_KICK = 3  # weights that a kick moves
_ROUNDED_EVERY = 4  # kicks, of which one rounds all weights at random
_PARTNERS = 48  # moves that are tried in pairs
_ROUNDING = 1e-9  # of an objective, relative: sums in another order differ by less
_WORK = 3 * 10**7  # products between two looks at the clock
_NEVER = -1e30  # a target below all margins
_ENTRIES = 3 * 10**7  # of the near rows at the start
_NEAR = 0.5  # rows whose margin is this close to a target are near from the start; rounding moves it by 0.3


class NearRows:
    """The rows near a hinge, and what the others are worth: ``constant - pull.w`` (see the module).

    Attributes
    ----------
    rows, columns, factors, limits
        The near rows as integers in both orders, by what they are multiplied to be a_k, and their c_k.
    pull, constant
        The sums of ``c_k a_k`` and of ``c_k T_h`` over the hinges far above their rows' margins.
    """

    def __init__(self, soft: SoftRows, sums: Floats) -> None:
        self._soft = soft
        self._short = sums[None, :] < soft.heights[:, None]
        distance = np.abs(sums[None, :] - soft.heights[:, None]).min(axis=0)
        most = _ENTRIES // max(1, len(soft.low))
        reach = _NEAR if len(distance) <= most else min(_NEAR, float(np.partition(distance, most)[most]))
        self._choose(distance <= reach)

    def _choose(self, near: NDArray[np.bool_]) -> None:
        soft = self._soft
        self._near = near
        places = np.flatnonzero(near)
        self.rows = soft.data[places]
        self.columns = np.ascontiguousarray(self.rows.T)
        self.factors, self.limits = soft.factors[places], soft.limits[places]
        far = np.where(near, 0.0, self._short * soft.limits)
        self.pull = soft.gains(far)
        self.constant = float(soft.heights @ far.sum(axis=1))

    def widened(self, sums: Floats) -> bool:
        """Add the rows that these sums show to be on the other side of a target; returns whether there are any."""
        moved = ((sums[None, :] < self._soft.heights[:, None]) != self._short).any(axis=0) & ~self._near
        if moved.any():
            self._choose(self._near | moved)
        return bool(moved.any())


@dataclass(frozen=True, eq=False)
class Search:
    """The search for one output, optionally with a price per link."""

    soft: SoftRows
    near: NearRows
    link_price: float = 0.0

    @classmethod
    def of(cls, soft: SoftRows, near: NDArray | None = None) -> Search:
        """The search around some weights, without a price of links."""
        return cls(soft, NearRows(soft, soft.sums(np.zeros(len(soft.low)) if near is None else near)))

    def descend(self, weights: Integers, deadline: Deadline = FOREVER, cutoff: float = np.inf) -> float:
        """Improve integer weights in place by moves of one weight and of two; returns the objective.

        With a limit on links, a link may also be exchanged for another.  If the objective is at least ``cutoff``, the
        value returned need only be between the two.
        """
        while True:
            value, finished = self._descended(weights, deadline)
            if value >= cutoff or not self.near.widened(self.soft.sums(weights)):
                return value
            if not finished:
                value, _ = self._until(descend, weights, deadline, 0, work=0)
                return value

    def _descended(self, weights: Integers, deadline: Deadline) -> tuple[float, bool]:
        """Descend as far as the near rows tell: the value, and whether it finished."""
        value = np.inf
        while True:
            value, finished = self._until(descend, weights, deadline, _PARTNERS)
            if self.soft.max_links is None or not finished:
                return value, finished
            better, finished = self._until(exchange, weights, deadline)
            if better > value - _ROUNDING * max(1.0, abs(value)) or not finished:
                return better, finished

    def _until(
        self,
        loop: Callable[..., tuple[float, bool]],
        weights: Integers,
        deadline: Deadline,
        *options: int,
        work: int | None = None,
    ) -> tuple[float, bool]:
        """Run a compiled loop in pieces, between which the clock is read: the value, and whether it finished."""
        soft, near, targets = self.soft, self.near, sorted(self.soft.heights, reverse=True)
        first, second = targets[0], targets[1] if len(targets) > 1 else _NEVER
        while True:
            used = int(np.count_nonzero(weights[soft.counted]))
            free = len(weights) if soft.max_links is None else soft.max_links - used
            value, finished = loop(
                *(near.columns, near.rows, near.factors, near.pull, weights, near.limits, first, second),
                *(soft.low, soft.high, soft.counted, free, self.link_price, *options, _WORK if work is None else work),
            )
            if finished or work is not None or deadline.passed:
                return value + near.constant, finished

    def rounded(self, near: Floats, deadline: Deadline = FOREVER, cutoff: float = np.inf) -> tuple[Integers, float]:
        """Continuous weights, rounded within all limits and improved; and the objective, see :meth:`descend`."""
        weights = np.clip(np.rint(near), self.soft.low, self.soft.high).astype(np.int64)
        self.thinned(weights, np.abs(near))
        return weights, self.descend(weights, deadline, cutoff)

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
            value = self.descend(trial, deadline, lowest)
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


DIVES = 24
"""Maximum dives of a search."""

KICKS_PER_DIVE = 60
"""Kicks before the first dive and after each."""

_ROUNDED = 0.4  # share of the fractional weights that a step of a dive rounds
_KEPT = 0.4  # chance that a weight keeps its value although the linear program disagrees
_AFRESH = 4  # dives, of which one keeps nothing
_NOISE = 0.2  # added to the distances from the nearest integers, so that dives differ
_WHOLE = 1e-6
_ITERATIONS = 5000  # of the simplex method in a step


def improved(
    program: LinearProgram,
    search: Search,
    weights: Integers,
    relaxed: Relaxed,
    *,
    dives: int,
    seed: int,
    deadline: Deadline,
    enough: float,
) -> tuple[Integers, float]:
    """Weights at least as good as those given, and their objective; stops at an objective of ``enough``.

    ``relaxed`` is the linear program's solution over all weights.
    """
    soft = search.soft
    # Kicks are cheap and often enough.
    best, lowest = search.kicked(weights, relaxed.weights, KICKS_PER_DIVE, seed, deadline, enough)
    rng = np.random.default_rng(seed)
    for dive in range(dives):
        if deadline.passed or lowest <= enough:
            break
        kept = (np.abs(relaxed.weights - best) < _WHOLE) | (rng.random(len(best)) < _KEPT)
        kept &= dive % _AFRESH > 0
        low, high = np.where(kept, best, soft.low), np.where(kept, best, soft.high)
        rounded, _ = search.rounded(_dive(program, low, high, rng, deadline), deadline)
        trial, value = search.kicked(rounded, relaxed.weights, KICKS_PER_DIVE, seed + dive + 1, deadline, enough)
        if value < lowest - 1e-9:
            best, lowest = trial, value
    return best, lowest


def _dive(
    program: LinearProgram, low: Integers, high: Integers, rng: np.random.Generator, deadline: Deadline
) -> Floats:
    """Weights of the linear program once rounding has left no fractional one, or time is up."""
    while True:
        weights = program.solve(low, high, deadline, _ITERATIONS).weights
        distance = np.abs(weights - np.rint(weights))
        loose = np.flatnonzero((distance > _WHOLE) & (low < high))
        if not len(loose) or deadline.passed:
            return weights
        order = np.argsort(distance[loose] + _NOISE * rng.random(len(loose)), kind="stable")
        chosen = loose[order[: max(1, int(_ROUNDED * len(loose)))]]
        low[chosen] = high[chosen] = np.clip(np.rint(weights[chosen]), low[chosen], high[chosen]).astype(np.int64)
