"""Programs as data: conditional rows, residuals, linearization, rounding of bounds."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemi.programs import MILP, Builder, Solution, Status, linearize


@st.composite
def conditional_programs(draw: st.DrawFn) -> MILP:
    """Small all-integer programs whose rows depend on two binaries."""
    builder = Builder()
    switch = builder.columns(2, 0, 1, integer=True)
    x = builder.columns(2, -2, 3, integer=True)
    for _ in range(draw(st.integers(1, 4))):
        coefficients = draw(st.lists(st.integers(-3, 3), min_size=2, max_size=2))
        lower = draw(st.one_of(st.just(-np.inf), st.integers(-6, 6)))
        upper = draw(st.one_of(st.just(np.inf), st.integers(-6, 6)))
        when = draw(st.sampled_from((-1, int(switch[0]), int(switch[1]))))
        builder.rows(x[None, :], coefficients, lower=lower, upper=upper, when=when, value=draw(st.integers(0, 1)))
    return builder.program("max", x)


@given(conditional_programs())
def test_linearize_keeps_the_feasible_set(milp):
    flat = linearize(milp)
    assert (flat.when == -1).all()
    for point in product((0, 1), (0, 1), range(-2, 4), range(-2, 4)):
        feasible = milp.residual(point) == 0
        assert (flat.residual(point) < 1e-9) == feasible


def test_linearize_uses_the_smallest_possible_m():
    builder = Builder()
    switch = builder.columns(1, 0, 1, integer=True)
    x = builder.columns(2, -1, 1, integer=True)
    builder.rows(x[None, :], [5.0, 7.0], lower=3, when=switch, value=1)
    flat = linearize(builder.program("max", x))
    # 5 x1 + 7 x2 is at least -12, so the row gives way by 3 + 12 and not more.
    assert flat.A.toarray().tolist() == [[-15.0, 5.0, 7.0]]
    assert flat.row_lower.tolist() == [-12.0]


def test_residual_counts_every_kind_of_violation():
    builder = Builder()
    x = builder.columns(2, 0, 3, integer=True)
    builder.rows(x[None, :], [1.0, 1.0], upper=4)
    milp = builder.program("max", x)
    assert milp.residual([1, 3]) == 0
    assert milp.residual([2, 3]) == pytest.approx(1)
    assert milp.residual([-2, 0]) == pytest.approx(2)
    assert milp.residual([0.25, 0]) == pytest.approx(0.25)


def test_residual_ignores_rows_that_do_not_bind():
    builder = Builder()
    x = builder.columns(2, 0, 5, integer=True)
    builder.rows(x[None, 1:], [1.0], upper=2, when=x[:1], value=1)
    milp = builder.program("max", x)
    assert milp.residual([0, 5]) == 0
    assert milp.residual([1, 5]) == pytest.approx(3)


def test_integer_objectives_have_integer_bounds():
    builder = Builder()
    x = builder.columns(1, 0, 9, integer=True)
    builder.rows(x[None, :], [1.0], upper=8)
    milp = builder.program("max", x)
    assert milp.integral_objective
    assert Solution.of(milp, Status.LIMIT, None, 7.9, 0.0).bound == 7
    assert Solution.of(milp, Status.LIMIT, None, 7.9999999, 0.0).bound == 8
    assert Solution.of(milp, Status.LIMIT, None, None, 0.0).bound == math.inf
    rounded = Solution.of(milp, Status.OPTIMAL, [2.9999999], 3.0, 0.0)
    assert rounded.x.tolist() == [3.0]
    assert rounded.objective == 3.0
