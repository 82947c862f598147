"""CP-SAT in a separate process: reads one program from standard input, writes the answer to standard output.

Run by path, never imported: OR-Tools bundles its own HiGHS, which cannot share a process with highspy, and importing
bemi imports highspy.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from typing import Any

from ortools.sat.python import cp_model


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    # CP-SAT's own output, such as its log, must not mix with the bytes of the answer.
    os.dup2(2, 1)
    request = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with answers:
        pickle.dump(_answer(request), answers)


def _end_with_parent() -> None:
    """End once standard input is closed: the parent is gone, or no longer wants the answer."""
    os.read(0, 1)
    os._exit(1)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    solver = cp_model.CpSolver()
    for name, value in request["parameters"].items():
        try:
            if isinstance(value, (list, tuple)):
                getattr(solver.parameters, name).extend(value)
            else:
                setattr(solver.parameters, name, value)
        except (AttributeError, TypeError, ValueError):
            return {"unknown_parameter": f"{name}={value!r}"}
    model = cp_model.CpModel()
    _fill(model.proto, request)
    if request["deadline"] is not None:
        solver.parameters.max_time_in_seconds = max(0.0, request["deadline"] - time.time())
    status = solver.status_name(solver.solve(model))
    answer: dict[str, Any] = {"status": status, "x": None, "bound": None, "message": ""}
    # Without a point, the bound may be an unproved 0.
    if status in ("OPTIMAL", "FEASIBLE"):
        answer |= {"x": list(solver.response_proto.solution), "bound": solver.best_objective_bound}
    if status == "MODEL_INVALID":
        # The first words say what is wrong, the rest is the constraint.
        answer["message"] = model.validate().split(":")[0]
    return answer


def _fill(proto: Any, request: dict[str, Any]) -> None:
    """Columns, rows, objective and hint of a program; lists are much faster than single numbers."""
    lower, upper, starts, columns, coefficients = (
        request[name].tolist() for name in ("lower", "upper", "starts", "columns", "coefficients")
    )
    for bounds in zip(lower, upper, strict=True):
        proto.variables.add().domain.extend(bounds)
    rows = zip(*(request[name].tolist() for name in ("row_lower", "row_upper", "when", "value")), strict=True)
    for row, (least, most, when, value) in enumerate(rows):
        constraint = proto.constraints.add()
        if when >= 0:
            constraint.enforcement_literal.append(when if value else -when - 1)
        linear = constraint.linear
        if least > most:
            # No value is feasible; CP-SAT needs that as 0 = 1.
            linear.domain.extend((1, 1))
            continue
        entries = slice(starts[row], starts[row + 1])
        linear.vars.extend(columns[entries])
        linear.coeffs.extend(coefficients[entries])
        linear.domain.extend((least, most))
    cost = request["cost"]
    used = cost.nonzero()[0]
    if len(used):
        # CP-SAT minimises; a negative factor restores the sign of the objective and its bound.
        sign = -1 if request["maximise"] else 1
        proto.objective.vars.extend(used.tolist())
        proto.objective.coeffs.extend((sign * cost[used]).tolist())
        proto.objective.scaling_factor = float(sign)
    if request["start"] is not None:
        proto.solution_hint.vars.extend(range(len(lower)))
        proto.solution_hint.values.extend(request["start"].tolist())


main()
