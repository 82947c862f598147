"""HiGHS, through highspy: the default backend."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import highspy
import numpy as np
from numpy.typing import ArrayLike

from bemi.limits import Limits
from bemi.programs.program import MILP, Solution, Status, feasibility_tolerance, linearize

_STATUS = {
    highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
    # Every program here is bounded, so "infeasible or unbounded" means infeasible.
    highspy.HighsModelStatus.kUnboundedOrInfeasible: Status.INFEASIBLE,
    highspy.HighsModelStatus.kTimeLimit: Status.LIMIT,
    highspy.HighsModelStatus.kIterationLimit: Status.LIMIT,
    highspy.HighsModelStatus.kSolutionLimit: Status.LIMIT,
    highspy.HighsModelStatus.kInterrupt: Status.LIMIT,
    highspy.HighsModelStatus.kObjectiveBound: Status.OPTIMAL,
    highspy.HighsModelStatus.kObjectiveTarget: Status.LIMIT,
}


def version() -> str:
    """Version of the installed highspy."""
    return importlib.metadata.version("highspy")


def _model(milp: MILP) -> highspy.HighsLp:
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = milp.A.shape
    lp.sense_ = highspy.ObjSense.kMaximize if milp.sense == "max" else highspy.ObjSense.kMinimize
    lp.col_cost_ = milp.cost
    lp.col_lower_, lp.col_upper_ = milp.col_lower, milp.col_upper
    lp.row_lower_, lp.row_upper_ = milp.row_lower, milp.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = milp.A.indptr
    lp.a_matrix_.index_ = milp.A.indices
    lp.a_matrix_.value_ = milp.A.data
    if milp.integer.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(flag)] for flag in milp.integer]
    return lp


def solve(milp: MILP, *, start: ArrayLike | None = None, limits: Limits | None = None, **native: Any) -> Solution:
    """Solve a program; ``native`` are HiGHS options by their own names."""
    limits = limits or Limits()
    clock = limits.deadline()
    flat = linearize(milp)
    tolerance = feasibility_tolerance(milp)
    options = {
        "output_flag": False,
        "threads": limits.threads,
        "parallel": "off" if limits.threads == 1 else "on",
        "random_seed": limits.seed,
        "mip_rel_gap": limits.gap,
        # An integer objective that is within less than 1 of its bound is optimal.
        "mip_abs_gap": 0.999 if flat.integral_objective else 0.0,
        "mip_feasibility_tolerance": tolerance,
        "primal_feasibility_tolerance": min(1e-7, tolerance),
        **native,
    }
    if clock.left is not None:
        options["time_limit"] = clock.left
    if limits.nodes is not None:
        options["mip_max_nodes"] = min(limits.nodes, highspy.kHighsIInf)
    highs = highspy.Highs()
    # HiGHS has one thread pool per process and rejects another size until it is reset.
    highspy.Highs.resetGlobalScheduler(True)
    for name, value in options.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise ValueError(f"HiGHS does not know the option {name}={value!r}")
    if highs.passModel(_model(flat)) == highspy.HighsStatus.kError:
        return Solution.of(milp, Status.ERROR, None, None, clock.elapsed, "HiGHS rejected the model")
    if start is not None:
        given = highspy.HighsSolution()
        given.col_value = np.asarray(start, dtype=np.float64)
        given.value_valid = True
        highs.setSolution(given)
    highs.run()
    native_status = highs.getModelStatus()
    status = _STATUS.get(native_status, Status.ERROR)
    info = highs.getInfo()
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    x = highs.getSolution().col_value if found and status is not Status.INFEASIBLE else None
    if milp.integer.any():
        bound = info.mip_dual_bound
    else:
        bound = info.objective_function_value if status is Status.OPTIMAL else None
    message = "" if status is not Status.ERROR else f"HiGHS: {highs.modelStatusToString(native_status)}"
    return Solution.of(milp, status, x, bound, clock.elapsed, message)
