"""A few small programs with known answers: does an installed backend solve them?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from bemi.limits import Limits
from bemi.programs.program import MILP, Builder, Solution, Status


def mixed_cover() -> tuple[MILP, float]:
    """min 2x + 3z,  x + z >= 4.5,  x >= 0 continuous,  z >= 0 integer:  9 at x = 4.5.

    highspy 1.14.0 answers 15.
    """
    builder = Builder()
    x = builder.columns(1, 0, np.inf, integer=False)
    z = builder.columns(1, 0, np.inf, integer=True)
    builder.rows(np.array([[x[0], z[0]]]), [1.0, 1.0], lower=4.5)
    # A builder's objective has unit costs; repeated columns add up.
    return builder.program("min", np.array([x[0]] * 2 + [z[0]] * 3)), 9.0


def knapsack(seed: int) -> tuple[MILP, float]:
    """A random 0-1 knapsack with a condition between two items, solved by trying all 256 choices."""
    rng = np.random.default_rng(seed)
    weight, worth = rng.integers(1, 30, size=(2, 8))
    room = int(weight.sum() // 2)
    builder = Builder()
    x = builder.columns(8, 0, 1, integer=True)
    builder.rows(x[None, :], weight, upper=room)
    builder.rows(x[None, 1:2], [1.0], upper=0, when=np.array([x[0]]), value=1)
    choices = np.array(list(product((0, 1), repeat=8)))
    allowed = (choices @ weight <= room) & ~((choices[:, 0] == 1) & (choices[:, 1] == 1))
    return builder.program("max", np.repeat(x, worth)), float((choices @ worth)[allowed].max())


def infeasible() -> MILP:
    """2 x = 1 with x integer."""
    builder = Builder()
    x = builder.columns(1, 0, 5, integer=True)
    builder.rows(x[None, :], [2.0], lower=1, upper=1)
    return builder.program("max", x)


def failures(solve: Callable[..., Solution], *, integers_only: bool = False) -> Iterator[str]:
    """What a backend gets wrong, one line each; nothing if it is correct.

    A backend for pure integer programs must reject all others.
    """
    cases = [(f"knapsack {seed}", *knapsack(seed)) for seed in range(3)]
    if not integers_only:
        cases = [("mixed cover", *mixed_cover()), *cases]
    elif solve(mixed_cover()[0], limits=Limits()).status is not Status.ERROR:
        yield "mixed cover: not refused"
    for name, milp, truth in cases:
        solution = solve(milp, limits=Limits())
        if solution.status is not Status.OPTIMAL or solution.objective is None:
            yield f"{name}: {solution.message or solution.status.message}, the optimum is {truth:g}"
        elif abs(solution.objective - truth) > 1e-6:
            yield f"{name}: answers {solution.objective:g}, the optimum is {truth:g}"
        elif abs(solution.bound - truth) > 1e-6:
            yield f"{name}: proves {solution.bound:g}, the optimum is {truth:g}"
    if solve(infeasible(), limits=Limits()).status is not Status.INFEASIBLE:
        yield "infeasible program: not recognized"
