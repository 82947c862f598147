"""The widest neuron: against all weight vectors, its proofs in both checkers, and two hidden neurons in closed form."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from both_checkers import compared, outcome
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import AllNetworks
from second_checker import one_neuron
from strategies import run_only

from bemi import BeMiClassifier, save, verify
from bemi.certificate import CertificateError, Rows, Work
from bemi.certificate import widest as checker
from bemi.engines import initial_network
from bemi.engines.decomposition import engine, two_neurons
from bemi.engines.decomposition.max_margin.search import distinct_rows
from bemi.engines.decomposition.neuron import all_weights, weight_trees
from bemi.engines.decomposition.neuron import widest as neuron
from bemi.limits import FOREVER, Deadline, Limits
from bemi.problem import Problem, sum_of_margins
from bemi.stages import Outcome


def margins(data, signs, bound):
    """The margin of every weight vector."""
    sums = np.array(list(product(range(-bound, bound + 1), repeat=data.shape[1]))) @ data.T
    return np.where(signs == 0, np.abs(sums), sums * signs).min(axis=1)


def replayed(data, signs, bound, proof, work=None):
    """What a proof about one neuron shows, which both checkers must agree on."""
    rows = Rows(data.tolist(), [(1,)] * len(data), [data.shape[1], 2, 1], bound, work)
    view = {"rows": rows.rows, "codes": rows.codes, "layers": rows.layers, "P": bound}
    first = outcome(lambda: checker.neuron_bound(rows, signs.tolist(), proof))
    compared("neuron", first, lambda: one_neuron(view, signs.tolist(), proof))
    if first[0] != "accepted":
        raise first[1]
    return first[1]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_the_margin_is_the_largest_and_its_proof_shows_that(data):
    draw = data.draw
    inputs, bound = draw(st.sampled_from([(1, 3), (2, 2), (3, 2), (4, 1), (5, 1)]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    count, largest = draw(st.integers(1, 7)), draw(st.sampled_from([2, 9, 300, 10**7]))
    rows = rng.integers(draw(st.sampled_from([-largest, 0])), largest + 1, (count, inputs))
    signs = np.array(draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=count, max_size=count)))
    signs *= draw(st.sampled_from([0, 1]))
    with pytest.MonkeyPatch.context() as patch:
        # Halves of all sizes, and few thresholds, which leave more neurons to test.
        for module in (all_weights, checker):
            patch.setattr(module, "_SECOND_HALF", draw(st.sampled_from([1, 3, 10, 20_000])))
        patch.setattr(all_weights, "_THRESHOLDS", draw(st.sampled_from([2, 256])))
        # Every way to search: linear programs are cut short, or do without trying all weights.
        patch.setattr(neuron, "FEW_NEURONS", draw(st.sampled_from([1, 10**9])))
        patch.setattr(weight_trees, "PROOF_NODES", draw(st.sampled_from([1, 20_000])))
        patch.setattr(neuron, "_FIRST_NODES", draw(st.sampled_from([2, 250])))
        patch.setattr(checker, "_MOST_THRESHOLDS", draw(st.sampled_from([8, 256])))
        found = neuron.widest(rows, signs, bound, FOREVER)
        most = max(0, int(margins(rows, signs, bound).max()))
        assert found.bound == found.margin == most
        if not most:
            assert found.weights is None
            return
        sums = rows @ found.weights
        assert np.where(signs == 0, np.abs(sums), sums * signs).min() == most
        assert replayed(rows, signs, bound, found.proof) == most
        if most > 1:
            with pytest.raises(CertificateError):
                replayed(rows, signs, bound, [most - 1, found.proof[1]])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_tree_is_accepted_proves_what_it_says(data):
    draw = data.draw
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    rows, signs = rng.integers(-5, 6, (4, 3)), rng.integers(-1, 2, 4)
    numbers = st.integers(-1, 4)
    leaves = st.one_of(
        st.just(["A"]), st.builds(lambda m: ["L", m], st.lists(st.tuples(numbers, numbers).map(list), max_size=3))
    )
    trees = st.recursive(
        leaves,
        lambda t: st.one_of(
            st.tuples(st.just("T"), numbers, t, t | st.none()), st.tuples(st.just("W"), numbers, numbers, t, t)
        ),
        max_leaves=6,
    )
    most = int(margins(rows, signs, 2).max())
    claimed, tree = draw(st.integers(0, 12)), _lists(draw(trees))
    try:
        assert replayed(rows, signs, 2, [claimed, tree]) == claimed
    except CertificateError:
        return
    assert most <= claimed


def _lists(tree):
    return [_lists(part) if isinstance(part, tuple | list) else part for part in tree]


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), given_signs=st.booleans(), nodes=st.sampled_from([1, 3, 10]))
def test_a_search_that_is_cut_short_has_a_bound_and_its_proof(seed, given_signs, nodes):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-9, 10, (6, 3))
    rows[:, 0] += rows[:, 0] == 0
    signs = rng.choice([-1, 1], 6) if given_signs else np.zeros(6, int)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neuron, "MOST_NEURONS", 1)
        patch.setattr(neuron, "FEW_NEURONS", 1)
        patch.setattr(weight_trees, "PROOF_NODES", nodes)
        patch.setattr(neuron, "PROOF_DICHOTOMIES", 2 * nodes + 2)
        patch.setattr(neuron, "_AT_ONCE", 2 * nodes + 2)
        found = neuron.widest(rows, signs, 3, FOREVER)
        # With time left, the search goes on without a proof.
        best = neuron.widest(rows, signs, 3, Limits(seconds=1e6).deadline())
    most = max(0, int(margins(rows, signs, 3).max()))
    assert found.margin <= best.margin == most == best.bound <= found.bound
    for result in (found, best):
        if result.bound and result.proof is not None:
            assert replayed(rows, signs, 3, result.proof) == result.bound


def test_branches_on_rows_and_weights():
    rows, free, leaf = np.array([[3, -1], [-2, 4]]), np.zeros(2, int), ["L", [[0, 1], [1, 1]]]
    found = neuron.widest(rows, free, 1, FOREVER)
    assert found.margin == 4
    half = ["T", 1, ["A"], ["A"]]
    assert replayed(rows, free, 1, [4, ["T", 0, half, half]]) == 4
    assert replayed(rows, free, 1, [4, ["T", 0, half, None]]) == 4
    for tree in (["T", 0, ["T", 1, ["A"], None], None], ["W", 0, 0, ["T", 0, half, None], ["A"]]):
        with pytest.raises(CertificateError, match="a branch is missing"):
            replayed(rows, free, 1, [4, tree])
    by_weights = ["W", 1, -1, ["A"], ["W", 1, 0, ["A"], ["A"]]]
    assert replayed(rows, free, 1, [4, by_weights]) == 4
    both = np.ones(2, int)
    # g = (1, 3): at most (1 + 3) / 2, and with the second weight at 0 or less (1 + 0) / 2.
    assert replayed(rows, both, 1, [2, ["W", 1, 0, leaf, leaf]]) == 2
    with pytest.raises(CertificateError, match="a leaf of a neuron's tree is open"):
        replayed(rows, both, 1, [1, ["W", 1, 0, leaf, leaf]])


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ("A", "malformed"),
        ([], "malformed"),
        ([["A"]], "malformed"),
        (["A", 1], "malformed"),
        (["L"], "malformed"),
        (["L", [[2, 1]]], "on a row without a sign"),
        (["T", 0, ["A"], ["A"]], "has a sign already"),
        (["T", 3, ["A"], ["A"]], "bad row"),
        (["W", 2, 0, ["A"], ["A"]], "bad input"),
        (["W", 0, 1, ["A"], ["A"]], "bad weight"),
        (["W", 0, 0, ["W", 0, 0, ["A"], ["A"]], ["A"]], "bad weight"),
    ],
)
def test_malformed_trees_are_refused(tree, words):
    rows, signs = np.array([[1, 2], [2, -1], [1, 1]]), np.array([1, 1, 0])
    with pytest.raises(CertificateError, match=words):
        replayed(rows, signs, 1, [3, tree])


def test_the_checker_counts_its_work_and_the_engine_knows():
    rng = np.random.default_rng(0)
    rows, signs = rng.integers(-10, 11, (20, 12)), np.zeros(20, int)
    found = neuron.widest(rows, signs, 1, FOREVER)
    with pytest.raises(CertificateError, match="million steps"):
        replayed(rows, signs, 1, found.proof, Work(0.5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neuron, "MOST_STEPS", 1000)
        assert neuron.widest(rows, signs, 1, FOREVER).proof is None


def test_without_time_there_is_hardly_a_bound():
    rng = np.random.default_rng(0)
    found = neuron.widest(rng.integers(-10, 11, (40, 20)), np.zeros(40, int), 1, Deadline.after(0.0))
    assert found.margin < found.bound
    assert found.proof is None


ONE_OUTPUT = [((1,), 2, 2), ((1,), 3, 1), ((2,), 2, 1), ((2,), 3, 1), ((2, 1), 2, 1), ((2, 2), 2, 1), ((1, 1), 2, 2)]


@settings(max_examples=200, deadline=None)
@given(
    shape=st.sampled_from(ONE_OUTPUT), count=st.integers(1, 7), seed=st.integers(0, 10**6), low=st.sampled_from((-6, 0))
)
def test_closed_form_against_all_networks(shape, count, seed, low):
    hidden, inputs, bound = shape
    rng = np.random.default_rng(seed)
    problem = Problem(rng.integers(low, 9, (count, inputs)), rng.choice([-1, 1], (count, 1)), hidden, bound)
    best = AllNetworks.of(problem).best("mm")
    start = initial_network(problem)
    goal = engine.monolithic.stage_goal("mm", problem)
    state = engine.portfolio.StageState(goal, start, engine.KEEP_LABELS, Limits(), "highs")
    found = two_neurons.search(problem, state, Limits())
    if best is None:
        assert found.outcome is Outcome.INFEASIBLE
    elif len(hidden) == 1:
        assert found.bound == sum_of_margins(problem, found.network) == best
        distinct = distinct_rows(problem)
        rows = Rows(distinct.data.tolist(), distinct.codes.tolist(), distinct.layers, bound)
        assert checker.widest_bound(rows, found.proof) == best
    else:
        assert found.outcome is None


@settings(max_examples=200, deadline=None)
@given(
    shape=st.sampled_from([s for s in ONE_OUTPUT if len(s[0]) == 1] + [((2,), 2, 3)]),
    count=st.integers(1, 9),
    seed=st.integers(0, 10**6),
    largest=st.sampled_from((2, 9, 400)),
)
def test_one_neuron_is_enough_for_sat_margin(shape, count, seed, largest):
    hidden, inputs, bound = shape
    rng = np.random.default_rng(seed)
    codes = rng.choice([-1, 1], (count, 1))
    problem = Problem(rng.integers(-largest, largest + 1, (count, inputs)), codes, hidden, bound)
    start = initial_network(problem)
    found = run_only("sm", "one neuron", problem=problem, start=start, limits=Limits())
    assert found.objective == found.bound == AllNetworks.of(problem).best("sm")


def test_two_neurons_are_certified_from_end_to_end(tmp_path):
    rng = np.random.default_rng(4)
    X = rng.integers(-10, 11, (30, 12))
    weights = rng.integers(-1, 2, 12)
    X = X[X @ weights != 0]
    classifier = BeMiClassifier((2,), stages=("mm",), gap=0.0, time_limit=60).fit(X, (X @ weights < 0).astype(int))
    (reports,) = classifier.reports_.values()
    assert (reports["mm"].gap, reports["mm"].proof) == (0.0, "certified")
    assert reports["mm"].certificate["kind"] == "single-neurons"
    save(classifier, tmp_path / "model")
    assert verify(tmp_path / "model").certified == {"mm": 1}
