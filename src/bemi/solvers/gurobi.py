"""Gurobi, through gurobipy; without a licence it solves models of up to 2,000 rows and columns."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import gurobipy
import numpy as np
from gurobipy import GRB
from numpy.typing import ArrayLike

from bemi.limits import Limits
from bemi.programs.program import MILP, Solution, Status, feasibility_tolerance, linearize

_STATUS = {
    GRB.OPTIMAL: Status.OPTIMAL,
    GRB.INFEASIBLE: Status.INFEASIBLE,
    # Every program here is bounded, so "infeasible or unbounded" means infeasible.
    GRB.INF_OR_UNBD: Status.INFEASIBLE,
    GRB.TIME_LIMIT: Status.LIMIT,
    GRB.NODE_LIMIT: Status.LIMIT,
    GRB.ITERATION_LIMIT: Status.LIMIT,
    GRB.SOLUTION_LIMIT: Status.LIMIT,
    GRB.INTERRUPTED: Status.LIMIT,
    GRB.WORK_LIMIT: Status.LIMIT,
    GRB.MEM_LIMIT: Status.LIMIT,
}


def version() -> str:
    """Version of the installed gurobipy."""
    return importlib.metadata.version("gurobipy")


def solve(milp: MILP, *, start: ArrayLike | None = None, limits: Limits | None = None, **native: Any) -> Solution:
    """Solve a program; ``native`` are Gurobi parameters by their own names."""
    limits = limits or Limits()
    clock = limits.deadline()
    flat = linearize(milp)
    tolerance = feasibility_tolerance(milp)
    parameters = {
        "OutputFlag": 0,
        "Threads": limits.threads,
        "Seed": limits.seed,
        "MIPGap": limits.gap,
        # An integer objective that is within less than 1 of its bound is optimal.
        "MIPGapAbs": 0.999 if flat.integral_objective else 0.0,
        "IntFeasTol": tolerance,
        "FeasibilityTol": tolerance,
        **native,
    }
    if limits.nodes is not None:
        parameters["NodeLimit"] = limits.nodes

    try:
        with gurobipy.Env(params={"OutputFlag": 0, "LogToConsole": 0}) as env, gurobipy.Model(env=env) as model:
            if clock.left is not None:
                parameters["TimeLimit"] = clock.left
            for name, value in parameters.items():
                model.setParam(name, value)
            kinds = np.where(flat.integer, GRB.INTEGER, GRB.CONTINUOUS)
            x = model.addMVar(len(flat.cost), lb=flat.col_lower, ub=flat.col_upper, obj=flat.cost, vtype=kinds)
            for sense, side in ((">", flat.row_lower), ("<", flat.row_upper)):
                rows = np.flatnonzero(np.isfinite(side))
                if len(rows):
                    model.addMConstr(flat.A[rows], x, sense, side[rows])
            model.ModelSense = GRB.MAXIMIZE if flat.sense == "max" else GRB.MINIMIZE
            if start is not None:
                x.Start = np.asarray(start, dtype=np.float64)
            model.optimize()
            status = _STATUS.get(model.Status, Status.ERROR)
            point = x.X if model.SolCount else None
            bound = model.ObjBound if status is not Status.INFEASIBLE else None
            message = "" if status is not Status.ERROR else f"Gurobi stopped with status {model.Status}"
    except gurobipy.GurobiError as error:
        return Solution.of(milp, Status.ERROR, None, None, clock.elapsed, f"Gurobi: {error}")
    return Solution.of(milp, status, point, bound, clock.elapsed, message)
