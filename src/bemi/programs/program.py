"""Mixed-integer linear programs as plain arrays, with indicator rows that bind only if a binary has a given value."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ALWAYS = -1
"""Value of :attr:`MILP.when` for a row without a condition."""


@dataclass(frozen=True, eq=False)
class MILP:
    """Minimise or maximise ``cost @ x`` subject to two-sided rows and columns, some of them integer.

    Row r, ``row_lower[r] <= A[r] @ x <= row_upper[r]``, binds only if ``x[when[r]] == value[r]``; if ``when[r]`` is
    :data:`ALWAYS`, it always binds.  Condition columns are binary.

    Columns marked ``implied`` are declared continuous, but are integers at every feasible point.
    """

    sense: Literal["min", "max"]
    cost: Floats
    A: sparse.csr_array
    row_lower: Floats
    row_upper: Floats
    col_lower: Floats
    col_upper: Floats
    integer: NDArray[np.bool_]
    implied: NDArray[np.bool_]
    when: Indices
    value: Indices

    @property
    def integral_objective(self) -> bool:
        """Whether every feasible point has an integer objective, so that bounds may be rounded."""
        used = self.cost != 0
        return bool(self.integer[used].all() and np.array_equal(self.cost, np.rint(self.cost)))

    def residual(self, x: ArrayLike) -> float:
        """Largest violation of any row that binds, any column bound and any integrality at ``x``; 0 if feasible."""
        x = np.asarray(x, dtype=np.float64)
        activity = self.A @ x
        below, above = self.row_lower - activity, activity - self.row_upper
        violation = np.maximum(below, above)
        conditional = self.when != ALWAYS
        idle = conditional & (np.rint(x[self.when]) != self.value)
        violation[idle] = 0.0
        parts = (
            violation,
            self.col_lower - x,
            x - self.col_upper,
            np.abs(x - np.rint(x))[self.integer],
        )
        return max((float(p.max(initial=0.0)) for p in parts), default=0.0)


def big_m(milp: MILP) -> tuple[Floats, Floats]:
    """By how much each side of each row must give way where the row does not bind; 0 for rows that always bind.

    ``lower - min(a x)`` and ``max(a x) - upper`` over the row's own activity range: never larger than needed, never one
    constant for all rows.
    """
    m_lower, m_upper = np.zeros((2, milp.A.shape[0]))
    for needed, side, sign in ((m_lower, milp.row_lower, 1.0), (m_upper, milp.row_upper, -1.0)):
        rows = np.flatnonzero((milp.when != ALWAYS) & np.isfinite(side))
        block = sign * milp.A[rows]
        smallest = block.maximum(0) @ milp.col_lower + block.minimum(0) @ milp.col_upper
        needed[rows] = np.maximum(sign * side[rows] - smallest, 0.0)
    return m_lower, m_upper


def linearize(milp: MILP) -> MILP:
    """The same program with every conditional row turned into big-M rows.

    A row ``a x >= lower`` that binds when ``b = 1`` becomes ``a x - M b >= lower - M``, and one that binds when
    ``b = 0`` becomes ``a x + M b >= lower``.  Upper sides likewise, with their own M; a row with two sides becomes two
    rows.  The feasible set stays the same.
    """
    conditional = milp.when != ALWAYS
    if not conditional.any():
        return milp
    m_lower, m_upper = big_m(milp)
    on = (milp.value == 1).astype(np.float64)
    free = np.full(len(on), np.inf)
    pieces = (
        # which rows, coefficient of the condition column, lower side, upper side
        (~conditional, np.zeros(len(on)), milp.row_lower, milp.row_upper),
        (conditional & np.isfinite(milp.row_lower), m_lower * (1 - 2 * on), milp.row_lower - m_lower * on, free),
        (conditional & np.isfinite(milp.row_upper), m_upper * (2 * on - 1), -free, milp.row_upper + m_upper * on),
    )
    blocks, lowers, uppers = [], [], []
    for chosen, coefficient, lower, upper in pieces:
        rows = np.flatnonzero(chosen)
        block = milp.A[rows]
        moved = np.flatnonzero(coefficient[rows])
        switch = sparse.csr_array((coefficient[rows][moved], (moved, milp.when[rows][moved])), shape=block.shape)
        blocks.append(block + switch)
        lowers.append(lower[rows])
        uppers.append(upper[rows])
    A = sparse.csr_array(sparse.vstack(blocks))
    always = np.full(A.shape[0], ALWAYS, dtype=np.int64)
    return replace(
        milp,
        A=A,
        row_lower=np.concatenate(lowers),
        row_upper=np.concatenate(uppers),
        when=always,
        value=np.zeros_like(always),
    )


class Builder:
    """Collects columns and rows, block by block, and makes a :class:`MILP` from them."""

    def __init__(self) -> None:
        self._columns: list[tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.bool_]]] = []
        self._rows: list[tuple[Indices, Indices, Floats]] = []
        self._sides: list[tuple[Floats, Floats, Indices, Indices]] = []
        self._n_columns = 0
        self._n_rows = 0

    def columns(
        self,
        shape: int | tuple[int, ...],
        lower: ArrayLike,
        upper: ArrayLike,
        *,
        integer: bool,
        implied: bool = False,
    ) -> Indices:
        """Add an array of columns and return their indices in that shape.

        ``implied`` marks columns that are declared continuous, but that the rows force to be integer.
        """
        count = math.prod(shape) if isinstance(shape, tuple) else shape
        index = self._n_columns + np.arange(count)
        self._n_columns += count

        def spread(bound: ArrayLike) -> Floats:
            return np.broadcast_to(np.asarray(bound, dtype=np.float64), shape).reshape(-1)

        self._columns.append((spread(lower), spread(upper), np.full(count, integer), np.full(count, implied)))
        return index.reshape(shape)

    def rows(
        self,
        columns: Indices,
        coefficients: ArrayLike,
        *,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
        when: Indices | int = ALWAYS,
        value: int = 0,
    ) -> None:
        """Add rows ``lower <= sum_t coefficients[..., t] x[columns[..., t]] <= upper``; other arguments broadcast."""
        shape = columns.shape[:-1]
        count = math.prod(shape)
        coefficients = np.broadcast_to(np.asarray(coefficients, dtype=np.float64), columns.shape)
        used = coefficients != 0
        row = np.broadcast_to((self._n_rows + np.arange(count)).reshape(*shape, 1), columns.shape)
        self._rows.append((row[used], columns[used], coefficients[used]))

        def spread(bound: ArrayLike, dtype: type) -> NDArray:
            return np.broadcast_to(np.asarray(bound, dtype=dtype), shape).reshape(-1)

        self._sides.append(
            (spread(lower, np.float64), spread(upper, np.float64), spread(when, np.int64), spread(value, np.int64))
        )
        self._n_rows += count

    def program(self, sense: Literal["min", "max"], objective: Indices, costs: ArrayLike = 1.0) -> MILP:
        """The program that minimises or maximises the sum of the ``objective`` columns, each times its cost."""
        cost = np.zeros(self._n_columns)
        np.add.at(cost, objective.reshape(-1), np.broadcast_to(costs, objective.shape).reshape(-1))
        col_lower, col_upper, integer, implied = (np.concatenate(part) for part in zip(*self._columns, strict=True))
        row, col, data = (np.concatenate(part) for part in zip(*self._rows, strict=True))
        row_lower, row_upper, when, value = (np.concatenate(part) for part in zip(*self._sides, strict=True))
        A = sparse.csr_array((data, (row, col)), shape=(self._n_rows, self._n_columns))
        return MILP(sense, cost, A, row_lower, row_upper, col_lower, col_upper, integer, implied, when, value)


class Status(Enum):
    """Why a solver stopped; each member has a message.  Whether it found a point is recorded separately."""

    OPTIMAL = "solved to the requested gap"
    INFEASIBLE = "proved that no point is feasible"
    LIMIT = "stopped at a time or node limit"
    ERROR = "the solver failed"

    @property
    def message(self) -> str:
        return self.value


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver returns.

    Attributes
    ----------
    status
        Why it stopped.
    x
        Best point found, integer columns rounded, or None if none was found.
    objective
        ``cost @ x``, or None.
    bound
        Proven bound on every feasible objective; infinite if there is none.
    seconds
        Wall time used.
    message
        The solver's own message if something went wrong.
    """

    status: Status
    x: Floats | None
    objective: float | None
    bound: float
    seconds: float
    message: str = ""

    @classmethod
    def of(
        cls, milp: MILP, status: Status, x: ArrayLike | None, bound: float | None, seconds: float, message: str = ""
    ) -> Solution:
        """Round a solver's point and bound to integers where they must be, and recompute the objective."""
        worst = math.inf if milp.sense == "max" else -math.inf
        bound = worst if bound is None or math.isnan(bound) else bound
        objective = None
        if x is not None:
            x = np.array(x, dtype=np.float64)
            x[milp.integer] = np.rint(x[milp.integer])
            objective = float(milp.cost @ x)
        if milp.integral_objective and math.isfinite(bound):
            bound = float(integer_bound(bound, maximised=milp.sense == "max"))
        return cls(status, x, objective, bound, seconds, message)


def integer_bound(bound: float, maximised: bool) -> int:
    """The integer that a solver's bound on an integer objective implies.

    The slack errs on the weak side: for a maximum, 8.9999999 and 9.0000001 both mean 9.
    """
    slack = 1e-6 * max(1.0, abs(bound))
    return math.floor(bound + slack) if maximised else math.ceil(bound - slack)


TIGHTEST = 1e-9
"""The smallest tolerance that all backends accept."""

LARGEST_COEFFICIENT = 1e8
"""Beyond this, even the tightest tolerance lets a binary be wrong by a tenth of a unit of pre-activation."""


def largest_coefficient(milp: MILP) -> float:
    """Largest coefficient of the linearized program: what a binary's rounding error is multiplied by."""
    return float(max(np.abs(part).max(initial=0.0) for part in (milp.A.data, *big_m(milp))))


def feasibility_tolerance(milp: MILP) -> float:
    """Tolerance at which the rounding error of a binary moves no row by more than a tenth of a unit."""
    return float(np.clip(0.1 / max(1.0, largest_coefficient(milp)), TIGHTEST, 1e-6))
