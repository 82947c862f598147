"""SCIP, through PySCIPOpt."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import numpy as np
import pyscipopt
from numpy.typing import ArrayLike

from bemi.limits import Limits
from bemi.programs.program import MILP, Solution, Status, feasibility_tolerance, linearize

_STATUS = {
    "optimal": Status.OPTIMAL,
    "gaplimit": Status.OPTIMAL,
    "infeasible": Status.INFEASIBLE,
    # Every program here is bounded, so "infeasible or unbounded" means infeasible.
    "inforunbd": Status.INFEASIBLE,
    "timelimit": Status.LIMIT,
    "nodelimit": Status.LIMIT,
    "totalnodelimit": Status.LIMIT,
    "stallnodelimit": Status.LIMIT,
    "memlimit": Status.LIMIT,
    "userinterrupt": Status.LIMIT,
}


def version() -> str:
    """Version of the installed PySCIPOpt and of the SCIP inside it."""
    scip = pyscipopt.Model()
    return f"{importlib.metadata.version('PySCIPOpt')} (SCIP {scip.getMajorVersion()}.{scip.getMinorVersion()})"


def solve(milp: MILP, *, start: ArrayLike | None = None, limits: Limits | None = None, **native: Any) -> Solution:
    """Solve a program; ``native`` are SCIP parameters by their own names, with ``__`` for ``/``.

    SCIP's branch and bound runs on one thread, regardless of ``limits.threads``.
    """
    limits = limits or Limits()
    clock = limits.deadline()
    flat = linearize(milp)
    tolerance = feasibility_tolerance(milp)
    parameters = {
        "limits/gap": limits.gap,
        # An integer objective that is within less than 1 of its bound is optimal.
        "limits/absgap": 0.999 if flat.integral_objective else 0.0,
        "randomization/randomseedshift": limits.seed,
        "numerics/feastol": tolerance,
        **{name.replace("__", "/"): value for name, value in native.items()},
    }
    if limits.nodes is not None:
        parameters["limits/totalnodes"] = limits.nodes

    model = pyscipopt.Model()
    model.hideOutput()
    columns = [
        model.addVar(lb=lower, ub=upper, vtype="I" if integer else "C", obj=cost)
        for lower, upper, integer, cost in zip(flat.col_lower, flat.col_upper, flat.integer, flat.cost, strict=True)
    ]
    if flat.sense == "max":
        model.setMaximize()
    A = flat.A
    for row, (lower, upper) in enumerate(zip(flat.row_lower, flat.row_upper, strict=True)):
        entries = slice(A.indptr[row], A.indptr[row + 1])
        terms = zip(A.data[entries].tolist(), A.indices[entries].tolist(), strict=True)
        activity = pyscipopt.quicksum(value * columns[col] for value, col in terms)
        if entries.start == entries.stop:
            if lower > 0 or upper < 0:
                return Solution.of(milp, Status.INFEASIBLE, None, None, clock.elapsed)
            continue
        left = float(lower) if np.isfinite(lower) else None
        right = float(upper) if np.isfinite(upper) else None
        if left is not None or right is not None:
            model.addCons(pyscipopt.ExprCons(activity, lhs=left, rhs=right))
    if start is not None:
        given = model.createSol()
        for column, value in zip(columns, np.asarray(start, dtype=np.float64).tolist(), strict=True):
            model.setSolVal(given, column, value)
        model.addSol(given)
    if clock.left is not None:
        parameters["limits/time"] = clock.left
    for name, value in parameters.items():
        try:
            model.setParam(name, value)
        except (KeyError, LookupError, ValueError) as error:
            raise ValueError(f"SCIP does not know the parameter {name}={value!r}") from error
    model.optimize()
    native_status = model.getStatus()
    status = _STATUS.get(native_status, Status.ERROR)
    point = None
    if model.getNSols() and status is not Status.INFEASIBLE:
        best = model.getBestSol()
        point = [model.getSolVal(best, column) for column in columns]
    bound = model.getDualbound() if status is not Status.INFEASIBLE else None
    if bound is not None and abs(bound) >= model.infinity():
        bound = None
    message = "" if status is not Status.ERROR else f"SCIP stopped with status {native_status}"
    return Solution.of(milp, status, point, bound, clock.elapsed, message)
