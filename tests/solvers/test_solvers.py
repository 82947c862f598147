"""Every installed backend keeps the same contract."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
from sklearn.base import clone

from bemi import BeMiClassifier, solvers
from bemi.limits import Limits
from bemi.programs import Builder, Solution, Status
from bemi.solvers import selftest


def hard_knapsack(items: int = 60):
    """A program that no solver finishes at its first node: many items of nearly the same worth per weight."""
    rng = np.random.default_rng(5)
    weight = rng.integers(1000, 2000, size=(5, items))
    builder = Builder()
    x = builder.columns(items, 0, 1, integer=True)
    builder.rows(np.broadcast_to(x, weight.shape), weight, upper=weight.sum(axis=1) // 2)
    worth = weight.sum(axis=0) // 100 + rng.integers(0, 3, size=items)
    return builder.program("max", np.repeat(x, worth))


def test_selftest_passes(backend):
    assert list(selftest.failures(solvers.get(backend).solve, integers_only=solvers.integers_only(backend))) == []


def test_selftest_catches_the_wrong_optimum_of_highspy_1_14_0():
    def wrong(milp, **kwargs) -> Solution:
        # That release answers 15 for the mixed cover: z = 5, x = 0.
        solution = solvers.get("highs").solve(milp, **kwargs)
        if not milp.integral_objective and len(milp.cost) == 2:
            return Solution.of(milp, Status.OPTIMAL, [0.0, 5.0], 15.0, 0.0)
        return solution

    assert [line for line in selftest.failures(wrong) if "answers 15" in line]


def test_selftest_catches_a_solver_of_integers_that_takes_anything():
    assert list(selftest.failures(solvers.get("highs").solve, integers_only=True)) == ["mixed cover: not refused"]


def test_start_is_used(backend):
    if not solvers.warm_starts(backend):
        pytest.skip("it cannot start from a given point")
    milp = hard_knapsack()
    reference = solvers.get("highs").solve(milp, limits=Limits(seconds=2))
    solution = solvers.get(backend).solve(milp, start=reference.x, limits=Limits(nodes=1))
    assert solution.objective >= reference.objective


def test_limits_hand_back_incumbent_and_bound(backend):
    milp = hard_knapsack()
    solve = solvers.get(backend).solve
    for limits in (Limits(nodes=1), Limits(seconds=0.3)):
        solution = solve(milp, start=np.zeros(60), limits=limits)
        assert solution.status is Status.LIMIT
        assert solution.x is not None or not solvers.warm_starts(backend)
        if solution.x is None:
            continue
        assert milp.residual(solution.x) < 1e-6
        assert solution.objective <= solution.bound < np.inf


def test_infeasible(backend):
    solution = solvers.get(backend).solve(selftest.infeasible())
    assert solution.status is Status.INFEASIBLE
    assert solution.x is None


def test_gap_stops_early(backend):
    milp = hard_knapsack()
    solution = solvers.get(backend).solve(milp, limits=Limits(gap=0.05, seconds=60))
    assert solution.status is Status.OPTIMAL
    assert abs(solution.bound - solution.objective) <= 0.05 * solution.objective + 1


def test_threads_may_change_from_call_to_call(backend):
    milp, truth = selftest.knapsack(0)
    for threads in (1, 2, 1):
        assert solvers.get(backend).solve(milp, limits=Limits(threads=threads)).objective == truth


def test_same_seed_and_node_limit_give_the_same_point(backend):
    milp = hard_knapsack()
    first, second = (solvers.get(backend).solve(milp, limits=Limits(nodes=20, seed=3)) for _ in range(2))
    assert np.array_equal(first.x, second.x)
    assert first.bound == second.bound


#: For every solver its own name of a node limit, or of another limit that ends it at once.
NATIVE = {
    "highs": {"mip_max_nodes": 1},
    "gurobi": {"NodeLimit": 1},
    "scip": {"limits__totalnodes": 1},
    "cpsat": {"max_number_of_conflicts": 1},
}


def test_native_options(backend):
    solve = solvers.get(backend).solve
    assert backend in NATIVE, f"add a limit of {backend} to NATIVE"
    assert solve(hard_knapsack(), **NATIVE[backend]).status is Status.LIMIT


def test_version(backend):
    assert solvers.get(backend).version()[0].isdigit()


def test_gurobi_without_a_licence_says_that_the_model_is_too_large():
    pytest.importorskip("gurobipy", reason="Gurobi is not installed")
    builder = Builder()
    x = builder.columns(3000, 0, 1, integer=True)
    builder.rows(x[None, :], np.ones(3000), upper=5)
    solution = solvers.get("gurobi").solve(builder.program("max", x))
    # On a machine with a licence there is nothing to complain about.
    assert "too large" in solution.message or solution.objective == 5


def test_unknown_solver_is_refused():
    with pytest.raises(ValueError, match="unknown solver 'cplex'; known: highs, gurobi, scip, cpsat"):
        solvers.get("cplex")
    for name in (None, ["highs"], ".", ""):
        with pytest.raises(ValueError, match="unknown solver"):
            solvers.get(name)


BACKEND = """
from bemi.solvers import highs

calls = []

def version():
    return "1.0"

def solve(milp, **options):
    calls.append(milp)
    return highs.solve(milp, **options)
"""


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A package with a solver, installed with an entry point of that name."""
    (tmp_path / "some_package").mkdir()
    (tmp_path / "some_package" / "__init__.py").write_text("")
    (tmp_path / "some_package" / "mine.py").write_text(BACKEND)
    (tmp_path / "some_package" / "nothing.py").write_text("")
    about = tmp_path / "some_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: some-package\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[bemi.solvers]\nmine = some_package.mine\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize("name", ["mine", "some_package.mine"])
def test_a_solver_of_another_package(elsewhere, name):
    backend = solvers.get(name)
    assert list(selftest.failures(backend.solve)) == []
    X, y = [[1, 0], [0, 1], [2, 0], [0, 2]], [0, 1, 0, 1]
    settings = {"hidden_layers": (), "engine": "monolithic", "node_limit": 5}
    before = len(backend.calls)
    model = clone(BeMiClassifier(**settings, solver=name)).fit(X, y)
    assert len(backend.calls) > before
    assert model.solver_ == f"{name} 1.0"
    assert "mine" in solvers.installed()


def test_a_module_that_is_no_solver_is_refused(elsewhere):
    with pytest.raises(ValueError, match=r"'some_package\.nothing' is not a solver: it has no function solve and no"):
        solvers.get("some_package.nothing")
    with pytest.raises(solvers.SolverNotInstalled, match="cannot be imported"):
        solvers.get("some_package.absent")


def test_missing_solver_is_named_with_its_extra(monkeypatch):
    import sys

    monkeypatch.delitem(sys.modules, "bemi.solvers.scip", raising=False)
    real = builtins.__import__

    def without_scip(name, *args, **kwargs):
        if name == "pyscipopt":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_scip)
    with pytest.raises(solvers.SolverNotInstalled, match=r"pip install 'bemi\[scip\]'"):
        solvers.get("scip")
    assert "scip" not in solvers.installed()
