"""What only CP-SAT has: integers alone, conditions without big M, and a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from functools import partial
from itertools import product

import numpy as np
import psutil
import pytest
from soft_margins import soft_margins

from bemi import solvers
from bemi.limits import Limits
from bemi.programs import Builder, Status

if "cpsat" not in solvers.installed():
    pytest.skip("solver cpsat is not installed", allow_module_level=True)
from bemi.solvers import cpsat

REFUSAL = "CP-SAT takes programs of bounded integers only; use highs, gurobi or scip"


def test_many_conditional_programs_against_brute_force():
    # Programs that share no column are one program, whose optimum is the sum of theirs: one process for all of them.
    rng = np.random.default_rng(0)
    points = np.array(list(product((0, 1), (0, 1), range(-2, 4), range(-2, 4))))
    builder = Builder()
    objective, costs, truth, solvable = [], [], 0, 0
    for _ in range(300):
        rows = []
        allowed = np.full(len(points), True)
        for _ in range(rng.integers(1, 5)):
            coefficients, when, value = rng.integers(-3, 4, 2), rng.integers(-1, 2), rng.integers(0, 2)
            lower = rng.choice([-np.inf, *np.arange(-6, 6, 0.5)])
            upper = rng.choice([np.inf, *np.arange(-6, 6, 0.5)])
            rows.append((coefficients, lower, upper, when, value))
            activity = points[:, 2:] @ coefficients
            idle = (when >= 0) & (points[:, when] != value)
            allowed &= idle | ((lower <= activity) & (activity <= upper))
        if not allowed.any():
            continue
        solvable += 1
        switch = builder.columns(2, 0, 1, integer=True)
        x = np.concatenate(
            [builder.columns(1, -2, 3, integer=True), builder.columns(1, -2.5, 3.5, integer=False, implied=True)]
        )
        for coefficients, lower, upper, when, value in rows:
            condition = switch[when] if when >= 0 else -1
            builder.rows(x[None], coefficients, lower=lower, upper=upper, when=condition, value=value)
        objective.append(x)
        costs.append(rng.integers(-3, 4, 2))
        truth += (points[:, 2:] @ costs[-1])[allowed].max()
    assert solvable > 100
    solution = cpsat.solve(builder.program("max", np.array(objective), np.array(costs)))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == solution.bound == truth


def integer_program(*, lower=0, upper=5, coefficient=1.0, cost=1.0, integer=True, implied=False, **row):
    builder = Builder()
    x = builder.columns(2, lower, upper, integer=integer, implied=implied)
    builder.rows(x[None], [coefficient, 1.0], **{"upper": 4.5, **row})
    return builder.program("max", x, cost)


@pytest.mark.parametrize(
    "change",
    [
        {"integer": False},
        {"coefficient": 0.5},
        {"coefficient": 1e300},
        {"cost": 0.5},
        {"upper": np.inf},
        {"lower": -np.inf},
    ],
)
def test_anything_but_bounded_integers_is_refused(change):
    solution = cpsat.solve(integer_program(**change))
    assert (solution.status, solution.message, solution.x) == (Status.ERROR, REFUSAL, None)


def test_sums_that_overflow_are_refused():
    solution = cpsat.solve(integer_program(coefficient=2.0**40, upper=2.0**40, lower=-(2.0**40)))
    assert solution.status is Status.ERROR
    assert solution.message == "CP-SAT: Possible integer overflow in constraint"


def test_a_column_without_an_integer_is_infeasible():
    assert cpsat.solve(integer_program(lower=0.2, upper=0.8)).status is Status.INFEASIBLE


def test_a_program_without_an_objective_needs_a_feasible_point():
    milp = integer_program(cost=0.0, lower=1)
    solution = cpsat.solve(milp)
    assert solution.status is Status.OPTIMAL
    assert milp.residual(solution.x) == 0
    assert solution.objective == solution.bound == 0


def test_unknown_parameters_are_refused():
    with pytest.raises(ValueError, match="CP-SAT does not know the parameter cuts=1"):
        cpsat.solve(integer_program(), cuts=1)


def test_the_log_and_lists_of_names_are_parameters_too(capfd):
    solution = cpsat.solve(integer_program(), log_search_progress=True, ignore_subsolvers=["max_lp"])
    assert solution.objective == 4
    assert "CpSolverResponse" in capfd.readouterr().err
    # OR-Tools stays out of this process.
    assert not [name for name in sys.modules if name.partition(".")[0] == "ortools"]


def test_no_time_leaves_the_start_and_the_bound_of_the_columns():
    milp = integer_program()
    solution = cpsat.solve(milp, start=[1.0, 2.0], limits=Limits(seconds=0))
    assert (solution.status, solution.objective, solution.bound) == (Status.LIMIT, 3, 10)
    assert cpsat.solve(milp, start=[3.0, 2.0], limits=Limits(seconds=0)).x is None


def test_a_process_that_dies_is_an_error(tmp_path, monkeypatch):
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit(3)")
    monkeypatch.setattr(cpsat, "PROCESS", broken)
    solution = cpsat.solve(integer_program())
    assert solution.status is Status.ERROR
    assert solution.message == "CP-SAT: its process ended with code 3 and no answer"


ENDLESS = """
import numpy as np
from bemi.programs.program import Builder
from bemi.solvers import cpsat

rng = np.random.default_rng(5)
weight = rng.integers(1000, 2000, size=(5, 300))
builder = Builder()
x = builder.columns(300, 0, 1, integer=True)
builder.rows(np.broadcast_to(x, weight.shape), weight, lower=weight.sum(axis=1) // 2, upper=weight.sum(axis=1) // 2)
cpsat.solve(builder.program("max", x))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_the_process_ends_with_its_parent(how):
    # Where the tests run in the background of a shell, interrupts are ignored, and children inherit that.
    heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    parent = subprocess.Popen([sys.executable, "-c", ENDLESS], stderr=subprocess.DEVNULL, preexec_fn=heeds)
    deadline = time.monotonic() + 60
    watched = psutil.Process(parent.pid)
    # After that much work it has read its program and searches.
    while not (children := watched.children()) or children[0].cpu_times().user < 1.2:
        assert parent.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    parent.send_signal(how)
    parent.wait(timeout=60)
    assert psutil.wait_procs(children, timeout=60)[1] == []


@pytest.mark.parametrize("engine", ["monolithic", "decomposition"])
def test_soft_margins_are_refused(engine):
    model = soft_margins(solver="cpsat", engine=engine)
    with pytest.raises(ValueError, match="solver 'cpsat' solves programs of integers only"):
        model.fit([[0], [1]], [0, 1])


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "bemi.solvers.cpsat")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(solvers.SolverNotInstalled, match=r"pip install 'bemi\[cpsat\]'"):
        solvers.get("cpsat")
