"""CP-SAT of OR-Tools, for pure integer programs; one process per call, see ``cpsat_process.py``."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bemi.limits import Limits
from bemi.programs.program import MILP, Floats, Indices, Solution, Status

if importlib.util.find_spec("ortools") is None:
    raise ImportError("ortools")

INTEGERS_ONLY = True

PROCESS = Path(__file__).with_name("cpsat_process.py")

LARGEST = 2.0**53
"""Beyond this, a double cannot tell an integer from its neighbours."""

_STATUS = {
    "OPTIMAL": Status.OPTIMAL,
    "FEASIBLE": Status.LIMIT,
    "UNKNOWN": Status.LIMIT,
    "INFEASIBLE": Status.INFEASIBLE,
    "MODEL_INVALID": Status.ERROR,
}


def version() -> str:
    """Version of the installed OR-Tools."""
    return importlib.metadata.version("ortools")


def solve(milp: MILP, *, start: ArrayLike | None = None, limits: Limits | None = None, **native: Any) -> Solution:
    """Solve a pure integer program; ``native`` are CP-SAT parameters by their own names.

    CP-SAT has no nodes: ``limits.nodes`` limits its conflicts.
    """
    limits = limits or Limits()
    clock = limits.deadline()
    parameters = {
        "num_workers": limits.threads,
        "random_seed": limits.seed,
        "relative_gap_limit": limits.gap,
        **({} if limits.nodes is None else {"max_number_of_conflicts": limits.nodes}),
        **native,
    }

    def result(status: Status, x: ArrayLike | None, bound: float | None, message: str = "") -> Solution:
        return Solution.of(milp, status, x, bound, clock.elapsed, message)

    if not _has_integers_only(milp):
        return result(
            Status.ERROR, None, None, "CP-SAT takes programs of bounded integers only; use highs, gurobi or scip"
        )
    lower, upper = np.ceil(milp.col_lower), np.floor(milp.col_upper)
    if (lower > upper).any():
        return result(Status.INFEASIBLE, None, None)
    point = None if start is None else np.rint(start)
    answer = _ask(
        {
            "parameters": parameters,
            # The other process does not share this one's clock.
            "deadline": None if clock.left is None else time.time() + clock.left,
            "maximise": milp.sense == "max",
            "cost": milp.cost.astype(np.int64),
            "lower": lower.astype(np.int64),
            "upper": upper.astype(np.int64),
            "starts": milp.A.indptr,
            "columns": milp.A.indices,
            "coefficients": milp.A.data.astype(np.int64),
            "row_lower": _side(np.ceil(milp.row_lower)),
            "row_upper": _side(np.floor(milp.row_upper)),
            "when": milp.when,
            "value": milp.value,
            "start": None if point is None else point.astype(np.int64),
        }
    )
    if "unknown_parameter" in answer:
        raise ValueError(f"CP-SAT does not know the parameter {answer['unknown_parameter']}")
    status = _STATUS.get(answer["status"], Status.ERROR)
    if status is Status.ERROR:
        return result(status, None, None, f"CP-SAT: {answer['message'] or answer['status']}")
    if status is Status.INFEASIBLE:
        return result(status, None, None)
    x, bound = answer["x"], answer["bound"]
    if x is None and point is not None and milp.residual(point) == 0:
        # The time was up before the search began.
        x = point
    if bound is None:
        ends = milp.cost * lower, milp.cost * upper
        bound = float((np.maximum(*ends) if milp.sense == "max" else np.minimum(*ends)).sum())
    return result(status, x, bound)


def _has_integers_only(milp: MILP) -> bool:
    """Whether all columns are bounded integers and all coefficients and costs are integers."""
    numbers = np.concatenate([milp.A.data, milp.cost])
    return bool(
        (milp.integer | milp.implied).all()
        and np.array_equal(numbers, np.rint(numbers))
        and max(np.abs(part).max(initial=0.0) for part in (numbers, milp.col_lower, milp.col_upper)) <= LARGEST
    )


def _side(values: Floats) -> Indices:
    """Sides of rows for CP-SAT, with the 64-bit extremes for infinity."""
    ends = np.iinfo(np.int64)
    sides = np.clip(values, -(2.0**62), 2.0**62).astype(np.int64)
    sides[values == -np.inf], sides[values == np.inf] = ends.min, ends.max
    return sides


def _ask(request: dict[str, Any]) -> dict[str, Any]:
    """The answer of a new process, which ends with this call, whatever ends the call."""
    # Out of the terminal's group, so that Ctrl-C reaches this process alone, which then ends the other.
    command = [sys.executable, "-P", str(PROCESS)]
    given = b""
    try:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                pickle.dump(request, process.stdin)
                process.stdin.flush()
                given = process.stdout.read()
            except BaseException:
                process.kill()
                raise
    except BrokenPipeError:
        pass  # it ended before it had read the program
    if not given:
        return {"status": "", "message": f"its process ended with code {process.returncode} and no answer"}
    return pickle.loads(given)
