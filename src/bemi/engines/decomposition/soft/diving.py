"""Better integer weights by dives: the linear program rounds a few weights, is solved anew, rounds some more.

Most dives search near the best weights so far: a weight keeps its value where the linear program agrees with it, and
some others keep theirs at random.  The rest are rounded in several steps, the least fractional ones first, so that the
weights still free can make up for what rounding did to the rows.
"""

from __future__ import annotations

import numpy as np

from bemi.engines.decomposition.soft.program import LinearProgram, Relaxed
from bemi.engines.decomposition.soft.search import Search
from bemi.engines.decomposition.soft.terms import Floats
from bemi.exact import Integers
from bemi.limits import Deadline

DIVES = 12
"""Maximum dives of a search."""

KICKS = 60
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
    best, lowest = search.kicked(weights, relaxed.weights, KICKS, seed, deadline, enough)
    rng = np.random.default_rng(seed)
    for dive in range(dives):
        if deadline.passed or lowest <= enough:
            break
        kept = (np.abs(relaxed.weights - best) < _WHOLE) | (rng.random(len(best)) < _KEPT)
        kept &= dive % _AFRESH > 0
        low, high = np.where(kept, best, soft.low), np.where(kept, best, soft.high)
        rounded, _ = search.rounded(_dive(program, low, high, rng, deadline), deadline)
        trial, value = search.kicked(rounded, relaxed.weights, KICKS, seed + dive + 1, deadline, enough)
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
