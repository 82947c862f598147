"""The tree of boxes: where the linear program leaves a gap, it closes it."""

from dataclasses import replace

import numpy as np
import pytest
from strategies import run_only

from bemi.certificate.arithmetic import Rows
from bemi.certificate.softmargins import Restrictions, SoftMargins
from bemi.engines.decomposition.soft import margins
from bemi.engines.decomposition.soft import margins as module
from bemi.engines.decomposition.soft.resolution import choose_resolution
from bemi.limits import Limits
from bemi.problem.problem import Problem
from bemi.stages.result import Outcome


def noisy_bits(rows=60, inputs=13, weight_bound=3, hinges=1, max_links=None, price=3.0):
    rng = np.random.default_rng(3)
    data = np.concatenate([rng.choice([-1, 1], (rows, inputs - 1)), np.ones((rows, 1), dtype=int)], axis=1)
    codes = np.where(data[:, :6].sum(axis=1) + rng.normal(0, 2, rows) > 0, 1, -1)[:, None]
    problem = Problem(data, codes, (), weight_bound, uncounted=(inputs - 1,))
    soft, start = choose_resolution(problem, price, hinges, max_links)
    return replace(problem, soft=soft), start


def size(tree):
    return 1 if "multipliers" in tree else 1 + sum(map(size, tree["children"]))


def replayed(problem, result):
    """The bound that the independent checker finds in the certificate."""

    def written(value):
        return f"{value.numerator:x}/{value.denominator:x}"

    rows = Rows(problem.data.tolist(), problem.codes.tolist(), list(problem.layers), problem.weight_bound)
    soft = {
        "price": written(problem.soft.price),
        "resolutions": [written(t) for t in problem.soft.resolutions],
        "hinges": problem.soft.hinges,
        "max_links": problem.soft.max_links,
    }
    checker = SoftMargins(rows, soft, Restrictions(uncounted=frozenset(problem.uncounted)))
    weights = [matrix.tolist() for matrix in result.network.weights]
    assert checker.objective(weights) == result.objective
    return checker.bound(result.certificate)


@pytest.mark.parametrize(("hinges", "max_links"), [(1, None), (2, None), (1, 4), (2, 4)])
def test_it_closes_the_gap_that_the_root_leaves(hinges, max_links):
    problem, start = noisy_bits(hinges=hinges, max_links=max_links)
    root = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=0))
    whole = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=3000, gap=1e-4))
    assert size(root.certificate["outputs"][0]) == 1
    assert size(whole.certificate["outputs"][0]) > 1
    assert root.gap > 1e-3 > 1e-4 >= whole.gap
    assert root.bound < whole.bound <= replayed(problem, whole) <= whole.objective <= root.objective
    assert root.bound <= replayed(problem, root)


def test_a_node_limit_makes_it_reproducible():
    problem, start = noisy_bits(max_links=4)
    runs = [
        run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=15, seed=2)) for _ in range(2)
    ]
    assert runs[0].network == runs[1].network
    assert runs[0].certificate == runs[1].certificate
    assert 1 < size(runs[0].certificate["outputs"][0]) <= 31


def test_a_hopeless_gap_is_given_up(monkeypatch):
    problem, start = noisy_bits(rows=80, inputs=40, price=30.0, weight_bound=1)
    monkeypatch.setattr(margins, "NODES", 33)
    result = run_only("soft", "outputs", problem=problem, start=start, limits=Limits())
    assert size(result.certificate["outputs"][0]) <= 2 * module._FIRST_LOOK + 1
    assert result.gap > 0
    assert result.outcome is Outcome.LOCAL
    assert "rises too slowly" in result.message


def test_a_limit_is_named():
    problem, start = noisy_bits(rows=80, inputs=40, price=30.0, weight_bound=1)
    result = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=3, gap=0))
    assert result.outcome is Outcome.LIMIT
    assert result.message == Outcome.LIMIT.sentence


def test_a_proof_stays_small(monkeypatch):
    problem, start = noisy_bits()
    monkeypatch.setattr(module, "_MULTIPLIERS", 500)
    result = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=3000))
    leaves = []

    def collect(tree):
        if "multipliers" in tree:
            leaves.append(len(tree["multipliers"]))
        else:
            for child in tree["children"]:
                collect(child)

    collect(result.certificate["outputs"][0])
    assert sum(leaves) < 500 + 3 * len(problem.data)


def test_depth_is_limited(monkeypatch):
    problem, start = noisy_bits()
    monkeypatch.setattr(module, "_DEPTH", 2)
    result = run_only("soft", "outputs", problem=problem, start=start, limits=Limits(nodes=3000))
    assert size(result.certificate["outputs"][0]) <= 7
    assert result.bound <= replayed(problem, result)
