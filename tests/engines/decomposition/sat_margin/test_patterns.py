"""Sat-Margin with several outputs: the bound from the last layer, and networks that reach it."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from oracle import AllNetworks
from strategies import run_only

from bemi import Network
from bemi.certificate import CertificateError
from bemi.certificate.confidence import last_layer_bound
from bemi.engines import initial_network
from bemi.engines.decomposition import engine
from bemi.engines.decomposition.sat_margin.patterns import best_last_layers
from bemi.limits import Limits
from bemi.network import confidence_threshold
from bemi.problem import Problem, class_codes
from bemi.stages import get


def every_last_layer(neurons: int, weight_bound: int, rows: dict[tuple[int, ...], int]) -> int:
    """The most confident outputs over all last layers and all patterns, one by one and without any symmetry."""
    codes, counts = np.array(list(rows)), np.array(list(rows.values()))
    patterns = np.array(list(product((-1, 1), repeat=neurons)))
    columns = np.array(list(product(range(-weight_bound, weight_bound + 1), repeat=neurons)))
    threshold = confidence_threshold((0, neurons, codes.shape[1]), weight_bound)
    sums = columns @ patterns.T
    # confident[y][column, pattern]
    confident = {y: (y * sums >= threshold).astype(int) for y in (-1, 1)}
    best = 0
    for layer in product(range(len(columns)), repeat=codes.shape[1]):
        reached = [max(sum(confident[y][w] for y, w in zip(code, layer, strict=True))) for code in codes.tolist()]
        best = max(best, int(counts @ np.array(reached)))
    return best


@pytest.mark.parametrize(("neurons", "weight_bound", "outputs"), [(1, 2, 3), (2, 1, 3), (2, 2, 2), (3, 1, 2)])
def test_the_bound_is_that_of_all_last_layers(neurons, weight_bound, outputs):
    rng = np.random.default_rng(neurons)
    for _ in range(4):
        codes = rng.choice([-1, 1], (5, outputs))
        rows = {tuple(code): int(rng.integers(1, 4)) for code in codes.tolist()}
        found = best_last_layers(neurons, weight_bound, tuple(rows.items()))
        assert found.proved
        assert found.bound == every_last_layer(neurons, weight_bound, rows)
        each = [code for code, count in rows.items() for _ in range(count)]
        assert last_layer_bound(each, neurons, weight_bound, {"bound": found.bound}) == found.bound
        with pytest.raises(CertificateError, match="lets more outputs be confident"):
            last_layer_bound(each, neurons, weight_bound, {"bound": found.bound - 1})


def tiny(seed: int) -> Problem:
    """Two to five classes, two or three outputs, at most 3^10 networks."""
    rng = np.random.default_rng(seed)
    hidden, inputs, outputs = [((2,), 2, 2), ((1, 2), 1, 2), ((1,), 3, 3), ((2,), 2, 3), ((2, 1), 2, 2)][seed % 5]
    classes = int(rng.integers(2, 6))
    codes = class_codes(8)[:, -outputs:][:: 8 >> outputs] if outputs < 3 else class_codes(8)
    labels = rng.integers(0, classes, int(rng.integers(2, 7))) % len(codes)
    low = int(rng.choice([-4, 0]))
    return Problem(rng.integers(low, 6, (len(labels), inputs)), codes[labels], hidden, 1)


def test_tiny_problems_with_several_outputs_equal_brute_force():
    """The stage reaches the optimum, and the bound from the last layer is never below it."""
    closer = 0
    for seed in range(100):
        problem = tiny(seed)
        start = initial_network(problem)
        best = AllNetworks.of(problem).best("sm")
        found = run_only("sm", "patterns", problem=problem, start=start, limits=Limits())
        assert get("sm").value(problem, start) <= found.objective <= best <= found.bound
        assert found.objective == get("sm").value(problem, found.network)
        if found.certificate is not None:
            closer += 1
            codes = [tuple(code) for code in problem.codes.tolist()]
            assert last_layer_bound(codes, problem.layers[-2], 1, found.certificate) == found.bound
        report = engine.run("sm", problem, start=start, limits=Limits())
        assert report.objective == report.bound == best
    assert closer > 10


def digits(classes: int, each: int, hidden: tuple[int, ...], weight_bound: int = 1) -> Problem:
    """Rows of random bits, more of them than rows, so that a neuron separates any classes."""
    rng = np.random.default_rng(classes)
    data = rng.integers(0, 200, (classes * each, 300))
    return Problem(data, np.repeat(class_codes(classes), each, axis=0), hidden, weight_bound)


@pytest.mark.parametrize(
    ("hidden", "weight_bound", "expected", "complete"),
    [((4, 4), 1, 72, 12), ((4,), 1, 72, 12), ((5, 4), 3, 72, 12), ((3, 3), 1, 72, 12), ((2, 2), 1, 68, 8)],
)
def test_ten_classes_are_solved_and_proved(hidden, weight_bound, expected, complete):
    problem = digits(10, 2, hidden, weight_bound)
    report = engine.run("sm", problem, start=initial_network(problem), limits=Limits(nodes=1))
    assert report.objective == report.bound == expected == get("sm").value(problem, report.network)
    assert report.proof == "certified"
    assert report.certificate == {"kind": "last-layer", "bound": expected}
    assert problem.confident_rows(report.network).sum() == complete
    # Max-Margin can start from it.
    seen = problem.rows(problem.confident_rows(report.network))
    assert get("mm").value(seen, report.network) is not None


def test_wide_enough_layers_need_no_proof():
    problem = digits(10, 2, (6, 6))
    report = engine.run("sm", problem, start=initial_network(problem), limits=Limits(nodes=1))
    assert report.objective == report.bound == problem.codes.size
    assert report.certificate is None


def test_rows_count_as_often_as_their_code_occurs():
    """Where not every code can be confident, the rarest lose."""
    codes = np.repeat(class_codes(10), [1, 1, 5, 5, 1, 1, 5, 5, 5, 5], axis=0)
    data = np.random.default_rng(0).integers(0, 200, (len(codes), 300))
    problem = Problem(data, codes, (4, 4), 1)
    report = engine.run("sm", problem, start=initial_network(problem), limits=Limits(nodes=1))
    rows = Counter(map(tuple, codes.tolist()))
    assert report.bound == report.objective == best_last_layers(4, 1, tuple(sorted(rows.items()))).bound == 34 * 4 - 4


def test_a_layer_too_wide_to_list_leaves_the_bound_alone():
    rows = tuple((tuple(code), 1) for code in class_codes(10).tolist())
    found = best_last_layers(9, 1, rows)
    assert (found.bound, found.proved, found.best) == (40, False, ())
    short = best_last_layers(4, 1, rows, 1 << 10)
    assert (short.bound, short.proved) == (40, False)


def test_the_local_search_goes_on_where_no_neuron_separates():
    rng = np.random.default_rng(0)
    problem = Problem(rng.integers(-9, 10, (300, 5)), class_codes(10)[rng.integers(0, 10, 300)], (4, 4), 1)
    start = initial_network(problem)
    report = engine.run("sm", problem, start=start, limits=Limits(nodes=20))
    assert get("sm").value(problem, start) < report.objective < report.bound < problem.codes.size
    assert report.proof == "certified"


def test_two_equal_outputs_are_no_obstacle():
    """Outputs that always agree, in codes that are not those of classes."""
    data = np.random.default_rng(1).integers(0, 200, (6, 50))
    problem = Problem(data, np.repeat([[1, 1, 1], [-1, -1, -1]], 3, axis=0), (2,), 1)
    report = engine.run("sm", problem, start=Network((np.zeros((50, 2)), np.zeros((2, 3)))), limits=Limits(nodes=1))
    assert report.objective == report.bound == 18
