"""Min-Weight without margins: separators, networks made of them, and bounds, against brute force."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import AllNetworks, tiny_problems
from sklearn.datasets import load_digits
from strategies import run_only

from bemi import BeMiClassifier, save, verify
from bemi.certificate import CertificateError, Rows
from bemi.certificate import separators as checked
from bemi.certificate.separators import separation_bound
from bemi.engines import initial_network
from bemi.engines.decomposition import engine
from bemi.engines.decomposition.min_weight import separators
from bemi.engines.decomposition.min_weight import with_labels as nomargins
from bemi.engines.decomposition.min_weight.separators import Separator, Task
from bemi.limits import Limits
from bemi.network import sign
from bemi.problem import Problem
from bemi.stages import get
from bemi.training import train

NO_LIMIT = Limits()
FEW = Limits(nodes=2)

CODES = {2: [[1], [-1]], 3: [[1, 1], [1, -1], [-1, 1]]}


@st.composite
def classes_of_rows(draw: st.DrawFn) -> Problem:
    """Two or three classes, weights up to 3 where few of them leave brute force possible."""
    shapes = [((1,), 2, 1, 3), ((1,), 3, 1, 2), ((2,), 2, 1, 1), ((2,), 2, 2, 1), ((1, 1), 2, 1, 2), ((2, 2), 2, 1, 1)]
    hidden, inputs, outputs, bound = draw(st.sampled_from([*shapes, ((), 2, 1, 3), ((), 2, 2, 2), ((), 3, 1, 3)]))
    rows = draw(st.integers(1, 6))
    cell = st.integers(draw(st.sampled_from((-3, 0))), draw(st.sampled_from((1, 3, 40))))
    data = draw(st.lists(st.lists(cell, min_size=inputs, max_size=inputs), min_size=rows, max_size=rows))
    labels = draw(st.lists(st.sampled_from(CODES[outputs + 1]), min_size=rows, max_size=rows))
    return Problem(np.array(data), np.array(labels), hidden, bound)


def checked_bound(problem: Problem, proof: dict) -> int:
    rows = Rows(problem.data.tolist(), problem.codes.tolist(), problem.layers, problem.weight_bound)
    return separation_bound(rows, proof)


def referee(problem: Problem) -> None:
    """Bounds hold, the checker finds the same ones, and with the solver's help value and bound are brute force's."""
    best = AllNetworks.of(problem).best("mw")
    start = initial_network(problem)
    alone = run_only("mw", "separators", problem=problem, start=start, limits=FEW)
    if alone.ran:
        assert best is not None
        assert alone.objective == get("mw").value(problem, alone.network)
        assert checked_bound(problem, alone.certificate) == alone.bound <= best <= alone.objective
    if best is not None:
        for support in range(1, nomargins.MOST_LEAST + 1):
            assert checked_bound(problem, {"support": support}) <= best
    together = engine.run("mw", problem, start=start, limits=NO_LIMIT)
    assert together.objective == together.bound == best
    assert together.proof != "certified" or checked_bound(problem, together.certificate) == best


@settings(max_examples=120)
@given(problem=tiny_problems())
def test_it_equals_brute_force(problem):
    referee(problem)


@settings(max_examples=120)
@given(problem=classes_of_rows())
def test_two_and_three_classes_equal_brute_force(problem):
    referee(problem)


@pytest.mark.slow
@settings(max_examples=10_000)
@given(problem=st.one_of(tiny_problems(), classes_of_rows()))
def test_it_equals_brute_force_at_length(problem):
    referee(problem)


@settings(max_examples=60)
@given(problem=classes_of_rows())
def test_after_sat_margin_it_equals_brute_force_on_the_rows_that_are_left(problem):
    trained = train(problem, ("sm", "mw"), time_limit=None)
    seen = problem.rows(problem.confident_rows(trained.reports["sm"].network))
    mw = trained.reports["mw"]
    assume(len(seen.data))
    assert mw.objective == mw.bound == AllNetworks.of(seen).best("mw")


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    inputs, rows, bound = draw(st.integers(1, 4)), draw(st.integers(1, 6)), draw(st.integers(1, 3))
    cell = st.integers(draw(st.sampled_from((-5, 0))), 5)
    data = draw(st.lists(st.lists(cell, min_size=inputs, max_size=inputs), min_size=rows, max_size=rows))
    plus = draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
    turn = draw(st.booleans())
    return Task(np.array(data), np.array(plus), bound, 1, (turn, turn))


def smallest_by_trying(task: Task) -> int | None:
    """Fewest links of one neuron that separates, by trying out all weights."""
    values = range(-task.bound, task.bound + 1)
    weights = np.array(list(product(values, repeat=task.data.shape[1])))
    positive = task.data @ weights.T >= 0
    right = (positive == task.plus[:, None]).all(axis=0)
    if task.may_turn[0]:
        right |= (positive != task.plus[:, None]).all(axis=0)
    return int(np.count_nonzero(weights[right], axis=1).min()) if right.any() else None


@settings(max_examples=400)
@given(task=tasks())
def test_up_to_four_links_are_tried_out_completely(task):
    best = smallest_by_trying(task)
    exact = {links: separators.with_links(task, links) for links in (1, 2, 3, 4)}
    for links, found in exact.items():
        if found is not None:
            assert found.separates(task.data, task.plus)
            assert np.count_nonzero(found.weights) == links
            assert not found.turned or task.may_turn[0]
    # A constant + needs no link, which is no business of a separator.
    if best in exact:
        assert exact[best] is not None
    assert best is None or all(found is None for links, found in exact.items() if links < best)


def test_walks_find_what_is_there_and_repeat_themselves():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 50, (30, 40))
    for count, weights in ((1, [2, -1, -1, 1]), (2, [1, -1]), (3, [1, -1])):
        used = rng.permutation(40)[: count * len(weights)].reshape(count, -1)
        planted = np.zeros((40, count), dtype=np.int64)
        for j, inputs in enumerate(used):
            planted[inputs, j] = weights
        plus = sign(sign(data @ planted).sum(axis=1)) > 0
        task = Task(data, plus, 2, count, (True, True))
        cost = Separator(planted, np.ones(count, dtype=np.int64), False).cost
        first, second = (separators.walked(task, None, 2, proposals=1_000_000, seed=1) for _ in range(2))
        assert first.separates(data, plus)
        assert first.cost <= cost + 1
        assert np.array_equal(first.weights, second.weights)


def test_stripping_keeps_what_rows_need():
    rng = np.random.default_rng(1)
    data = rng.integers(-9, 10, (10, 20))
    weights = rng.integers(-2, 3, 20)
    plus = data @ weights >= 0
    task = Task(data, plus, 2, 1, (True, True))
    found = separators.stripped(task, weights, False)
    assert found.separates(data, plus)
    assert np.count_nonzero(found.weights) < np.count_nonzero(weights)
    turned = separators.stripped(Task(data, ~plus, 2, 1, (True, True)), weights, True)
    assert turned.separates(data, ~plus)


def digits(classes: tuple[int, ...], per_class: int = 10, hidden: tuple[int, ...] = (4, 4), bound: int = 1) -> Problem:
    X, y = load_digits(return_X_y=True)
    chosen = np.concatenate([np.flatnonzero(y == c)[:per_class] for c in classes])
    return Problem(X[chosen], np.repeat(CODES[len(classes)], per_class, axis=0), hidden, bound)


@pytest.mark.parametrize("hidden", [(), (1,), (3,), (4, 4), (2, 1, 3)])
@pytest.mark.parametrize("pair", list(combinations((1, 4, 8, 9), 2)))
def test_digits_need_a_handful_of_links(hidden, pair):
    problem = digits(pair, hidden=hidden)
    mw = train(problem, ("sm", "mw"), time_limit=None, limits=Limits(nodes=50)).reports["mw"]
    assert mw.objective == get("mw").value(problem, mw.network)
    assert mw.objective <= len(hidden) + 7
    assert checked_bound(problem, mw.certificate) == mw.bound
    assert len(hidden) + 1 <= mw.bound <= mw.objective


@pytest.mark.parametrize("hidden", [(2,), (4, 4)])
def test_three_classes_of_digits(hidden):
    problem = digits((0, 1, 2), 8, hidden)
    mw = train(problem, ("sm", "mw"), time_limit=None, limits=Limits(nodes=50)).reports["mw"]
    assert mw.objective <= 4 * len(hidden) + 8
    assert checked_bound(problem, mw.certificate) == mw.bound >= 2 * len(hidden) + 2


def test_one_output_may_follow_from_the_two_other_classes():
    # Inputs 0 and 1 tell the first and the last class from the others; the second class has no input of its own.
    data = np.array([[0, 1, 3], [0, 2, 5], [1, 2, 4], [2, 1, 1], [3, 0, 2], [2, 0, 6]])
    codes = np.repeat(CODES[3], 2, axis=0)
    for hidden in ((2,), (2, 2)):
        problem = Problem(data, codes, hidden, 1)
        report = run_only("mw", "separators", problem=problem, start=initial_network(problem), limits=FEW)
        assert report.objective == report.bound == 2 * len(hidden) + 3


def test_constant_outputs_cost_a_link_or_nothing():
    data = np.array([[1, 2], [3, 1]])
    for code, links in (([1, 1], 0), ([1, -1], 1), ([-1, -1], 2)):
        problem = Problem(data, np.array([code, code]), (2, 2), 1)
        report = run_only("mw", "separators", problem=problem, start=initial_network(problem), limits=FEW)
        assert report.objective == report.bound == links
    alone = Problem(data, np.array([[-1], [-1]]), (), 1)
    assert run_only("mw", "separators", problem=alone, start=initial_network(alone), limits=FEW).objective == 1


def test_rows_that_no_separator_can_tell_apart_keep_a_stripped_network():
    # The sign of a product: four corners, each class at two opposite ones.
    rng = np.random.default_rng(2)
    data = rng.integers(1, 9, (60, 2)) * rng.choice([-1, 1], (60, 2))
    problem = Problem(data, np.where(data[:, :1] * data[:, 1:] > 0, 1, -1), (4, 3), 1)
    trained = train(problem, ("sm", "mw"), time_limit=4.0)
    seen = problem.rows(problem.confident_rows(trained.reports["sm"].network))
    mw = trained.reports["mw"]
    assert mw.objective == get("mw").value(seen, mw.network) >= mw.bound


def test_contradicting_rows_are_infeasible():
    problem = Problem(np.array([[3, 1], [3, 1]]), np.array([[1], [-1]]), (2,), 1)
    report = engine.run("mw", problem, start=initial_network(problem), limits=NO_LIMIT)
    assert not report.ran
    assert "no network satisfies" in report.message


@pytest.mark.parametrize("seconds", [0.0, 0.01])
def test_short_limits_still_give_a_network(seconds):
    problem = digits((4, 9), 40)
    start = initial_network(problem)
    report = engine.run("mw", problem, start=start, limits=Limits(seconds=seconds))
    assert report.objective == get("mw").value(problem, report.network) <= start.links


@pytest.mark.parametrize("proof", [None, [], {}, {"support": 0}, {"support": 6}, {"support": True}, {"support": "2"}])
def test_malformed_proofs_are_refused(proof):
    with pytest.raises(CertificateError):
        checked_bound(digits((0, 1)), proof)


@settings(max_examples=200)
@given(task=tasks(), links=st.sampled_from((2, 3)))
def test_joined_sides_are_tried_out_completely(task, links):
    values = range(-task.bound, task.bound + 1)
    weights = [w for w in product(values, repeat=task.data.shape[1]) if np.count_nonzero(w)]
    sides = {(np.count_nonzero(w), y, tuple(y * (2 * (task.data @ w >= 0) - 1) > 0)) for w in weights for y in (1, -1)}
    wanted = [tuple(task.plus), tuple(~task.plus)]
    covers = (tuple(np.logical_or(a, b)) in wanted for (m, _, a), (n, _, b) in combinations(sides, 2) if m + n == links)
    twice = links == 2 and any(m == 1 and side in wanted for m, _, side in sides)
    assert separators.joined(task, links) == (any(covers) or twice)


def test_no_more_is_tried_out_than_the_checker_repeats():
    assert nomargins.LARGEST_PAIR_BOUND <= checked.LARGEST_PAIR_BOUND


@pytest.mark.parametrize("features", [1, 2])
def test_very_large_weights_take_no_longer(features, tmp_path):
    X = np.array([[1, 2], [2, 1], [5, 1], [1, 6], [-2, -9]])[:, :features]
    classifier = BeMiClassifier((3,), weight_bound=4000, stages=("sm", "mw"), time_limit=1).fit(X, [0, 1, 1, 0, 1])
    save(classifier, tmp_path / "m")
    assert verify(tmp_path / "m", budget=1).networks == 1
