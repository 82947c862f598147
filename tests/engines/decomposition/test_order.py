"""Which strategy settles what, and when the solver is asked."""

from __future__ import annotations

import numpy as np
import pytest

from bemi.engines import Finding, initial_network, observed
from bemi.engines.decomposition import engine
from bemi.limits import Limits
from bemi.problem import Problem
from bemi.stages import Outcome

INFEASIBLE = Problem(
    np.array([[-4, -5, -4, 0], [0, -1, 1, 4], [3, -2, -2, 1], [0, 3, -1, -4], [3, -1, -2, 2]]),
    np.array([[-1], [1], [1], [1], [-1]]),
    (4, 4),
    1,
)
"""Five dichotomies, none of which together give the codes without a sum of 0; solvers take minutes to find out."""


def test_infeasibility_is_settled_by_the_list():
    with observed(without={"solver"}):
        found = engine.run("mm", INFEASIBLE, start=initial_network(INFEASIBLE), limits=Limits(seconds=30))
    assert found.outcome is Outcome.INFEASIBLE


@pytest.mark.parametrize(("seconds", "solved"), [(0.2, False), (30.0, True)])
def test_a_solver_takes_over_while_it_has_the_time(monkeypatch, seconds, solved):
    """Eight digits on a 4 x 4 grid: the best network has 905, linear programs prove 910; 312 columns."""
    monkeypatch.setattr(engine, "COLUMNS_PER_ROOT_SECOND", 10)
    rows = [
        *(
            [0, 32, 22, 20, 9, 45, 48, 18, 7, 46, 36, 1, 0, 24, 6, 0],
            [0, 33, 16, 0, 7, 44, 2, 0, 28, 51, 41, 4, 4, 34, 36, 0],
        ),
        *(
            [0, 27, 34, 0, 5, 51, 15, 0, 22, 59, 60, 5, 0, 20, 33, 0],
            [0, 35, 11, 0, 7, 37, 22, 1, 32, 46, 52, 5, 3, 30, 18, 0],
        ),
        *(
            [0, 22, 47, 32, 2, 59, 54, 12, 2, 21, 41, 0, 0, 6, 32, 0],
            [0, 45, 40, 0, 5, 43, 56, 3, 0, 0, 18, 19, 0, 29, 43, 17],
        ),
        *(
            [0, 30, 56, 1, 7, 39, 37, 4, 0, 11, 27, 6, 0, 13, 43, 3],
            [0, 38, 52, 0, 0, 53, 57, 10, 5, 13, 19, 23, 3, 38, 45, 22],
        ),
    ]
    problem = Problem(np.array(rows), np.repeat([[1], [-1]], 4, axis=0), (4, 4), 1)
    asked = []

    def solver(problem, state, limits):
        asked.append(state.goal.name)
        return Finding()

    monkeypatch.setattr(engine.monolithic, "solve", solver)
    with observed(without={"lists"}):  # which settle it
        found = engine.run("mm", problem, start=initial_network(problem), limits=Limits(seconds=seconds))
    assert found.objective == 905
    assert asked == (["mm"] if solved else [])
