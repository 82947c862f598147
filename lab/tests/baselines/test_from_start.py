"""Every system from a network that is written down, against brute force over all networks of a tiny architecture."""

from __future__ import annotations

import numpy as np
import pytest
from bemi_lab.baselines import SYSTEMS, BaselineClassifier, improvement
from bemi_lab.baselines.improvement import AT_ITS_BEST, UNCHANGED, improved
from bemi_lab.baselines.starts import Start, fitting_network
from bemi_lab.baselines.systems import PRICE
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bemi import solvers
from bemi.engines.monolithic import min_weight_goal
from bemi.limits import FOREVER, Limits
from bemi.stages import Outcome, StageResult

from .brute_force import Case, Networks, largest_margin, signs_and_margins

needs_cp = pytest.mark.skipif("cpsat" not in solvers.installed(), reason="solver cpsat is not installed")

SEEDS = st.integers(0, 2**32 - 1)


def two_classes(seed: int, rows: int = 4) -> Case:
    """Rows of two classes, and an architecture with few enough networks to try all."""
    rng = np.random.default_rng(seed)
    inputs, hidden = [(2, (1,)), (1, (2,)), (1, (1, 1)), (2, (2,))][rng.choice(4, p=[0.4, 0.3, 0.2, 0.1])]
    labels = np.arange(rows) % 2
    data = rng.integers(-6, 6, (rows, inputs), endpoint=True) + 4 * np.stack([labels, -labels], axis=1)[:, :inputs]
    return Case(data, np.where(labels[:, None] == np.arange(2), 1, -1), hidden)


def given_start(case: Case) -> Start:
    start = fitting_network(case.problem, FOREVER, seed=0)
    assume(start.network is not None)
    return start


def trained(name: str, case: Case, start: Start) -> list[StageResult]:
    return SYSTEMS[name].train(case.problem, Limits(), "highs", start)


WORTH = {
    "mip-max-margin": lambda nets, case: np.where(nets.right(case), nets.margins(case), np.nan),
    "mip-min-weight": lambda nets, case: np.where(nets.right(case), -nets.links(), np.nan),
    "max-correct": lambda nets, case: nets.correct(case),
    "min-hinge": lambda nets, case: -nets.hinge(case),
    "sat-margin": lambda nets, case: nets.confident(case),
    "min-neurons": lambda nets, case: nets.confident(case) - PRICE * nets.neurons(),
}
"""What networks are worth, larger being better; all definitions are brute force's own."""


@pytest.mark.parametrize("name", WORTH)
@settings(max_examples=12)
@given(seed=SEEDS)
def test_small_instances_are_solved_as_well_as_by_brute_force(name, seed):
    case = two_classes(seed)
    start = given_start(case)
    report = trained(name, case, start)[-1]
    best = float(np.nanmax(WORTH[name](Networks.all_of(case), case)))
    maximised = name not in ("mip-min-weight", "min-hinge")
    assert float(report.objective) * (1 if maximised else -1) == pytest.approx(best, rel=1e-9)
    assert WORTH[name](Networks.of(report.network), case)[0] == pytest.approx(best, rel=1e-9)
    assert report.objective == report.bound


@settings(max_examples=12)
@given(SEEDS)
def test_fewest_neurons_after_the_most_confident_outputs(seed):
    case = two_classes(seed)
    first, second = trained("min-neurons-after", case, given_start(case))
    everything = Networks.all_of(case)
    confident = everything.confident(case)
    assert first.objective == confident.max()
    assert second.objective == everything.neurons()[confident == confident.max()].min()


@needs_cp
@settings(max_examples=2)
@given(SEEDS)
def test_constraint_programs_agree_with_brute_force_too(seed):
    case = two_classes(seed)
    start, everything = given_start(case), Networks.all_of(case)
    right = everything.right(case)
    smallest = sum(np.abs(sums).min(axis=1).sum(axis=1) for sums in everything.sums(case))
    assert trained("cp-max-margin", case, start)[-1].objective == smallest[right].max()
    assert trained("cp-min-weight", case, start)[-1].objective == everything.links()[right].min()


@needs_cp
@settings(max_examples=6)
@given(SEEDS)
def test_hybrids_start_from_the_network(seed):
    case = two_classes(seed)
    start = given_start(case)
    found, wider = trained("ha", case, start)
    assert found.network == start.network
    signs, margins = signs_and_margins(case, wider.network)
    inputs = [case.data, *signs[:-1]]
    for layer, wanted in enumerate(signs_and_margins(case, start.network)[0]):
        assert np.array_equal(signs[layer], wanted)
        best = [largest_margin(inputs[layer], 1, s, 1) for s in wanted.T]
        assert margins[layer].tolist() == pytest.approx(best)
    found, best = trained("hw", case, start)
    assert found.network == start.network
    everything = Networks.all_of(case)
    assert float(best.objective) == pytest.approx(everything.margins(case)[everything.right(case)].max())


@pytest.mark.parametrize("name", ["batches", "gd-b", "gd-t"])
@settings(max_examples=6)
@given(seed=SEEDS)
def test_searches_without_a_program_are_never_worse_than_their_start(name, seed):
    case = two_classes(seed)
    start = given_start(case)
    report = SYSTEMS[name].train(case.problem, Limits(nodes=5), "highs", start)[-1]
    right = Networks.of(report.network).right(case)
    if name == "batches":
        assert report.objective == Networks.of(report.network).confident(case)[0]
        assert report.objective >= Networks.of(start.network).confident(case)[0]
    elif name == "gd-t":
        assert right, "most rows right comes first, and the start has all of them"
    else:
        sums = report.network.pre_activations(case.problem.data)[-1]
        missing = np.maximum(0, 1 - case.problem.codes * sums / np.sqrt(case.problem.layers[-2]))
        assert report.objective == pytest.approx((missing**2).mean())


def three_classes(seed: int) -> Case:
    """Six rows around three corners: too many networks to try all."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(3), 2)
    data = 9 * (2 * np.eye(3, dtype=int) - 1)[labels] + rng.integers(-6, 6, (6, 3), endpoint=True)
    return Case(data, np.where(labels[:, None] == np.arange(3), 1, -1), (2,))


@needs_cp
@pytest.mark.parametrize("name", WORTH)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_another_solver_on_the_published_program_agrees(name, seed):
    problem = three_classes(seed).problem
    start = fitting_network(problem, FOREVER)
    assert start.network is not None
    ours = SYSTEMS[name].train(problem, Limits(), "highs", start)[-1]
    published = SYSTEMS[name].train(problem, Limits(), "cpsat")[-1]
    assert ours.objective == published.objective == ours.bound == published.bound


# What is said of it.

EASY = Case(np.array([[9, 0], [0, 9]]), np.array([[1, -1], [-1, 1]]), (3,))
"""Whatever the start is, all its outputs are confident."""


def test_a_start_that_reaches_the_bound_is_returned_as_it_is():
    start = fitting_network(EASY.problem, FOREVER)
    (report,) = trained("min-hinge", EASY, start)
    assert report.network == start.network
    assert (report.objective, report.message, report.outcome) == (0, AT_ITS_BEST, Outcome.OPTIMAL)


def test_a_start_that_nothing_improves_is_returned_and_named(monkeypatch):
    monkeypatch.setattr(improvement, "LARGEST_COLUMNS", 0)
    start = fitting_network(EASY.problem, FOREVER).network
    goal = min_weight_goal(EASY.problem)
    report = improved(goal, start, iter([start]), Limits(), FOREVER, "highs")
    assert report.network == start
    assert (report.message, report.outcome) == (UNCHANGED, Outcome.LOCAL)
    assert (report.objective, report.bound) == (start.links, goal.trivial)


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_users_see(name):
    if SYSTEMS[name].needs_cp and "cpsat" not in solvers.installed():
        pytest.skip("solver cpsat is not installed")
    rows = np.array([[8, -7, -8], [7, -9, -8], [-8, 8, -9], [-7, 7, -7], [-8, -9, 7], [-9, -7, 8]])
    labels = np.array(["left", "left", "middle", "middle", "right", "right"])
    classifier = BaselineClassifier(name, hidden_layers=(4,), node_limit=20, random_state=0, from_start=True)
    if not SYSTEMS[name].takes_start:
        with pytest.raises(ValueError, match="finds its own start"):
            classifier.fit(rows, labels)
        return
    classifier.fit(rows, labels)
    assert next(iter(classifier.reports_)) == "start"
    given = classifier.reports_["start"]
    assert given.network is classifier.start_
    assert given.objective is not None
    # Counts of confident outputs, prices of neurons and weights without zeros may be worth a wrong row.
    if name not in ("gd-b", "min-neurons", "batches"):
        assert np.array_equal(classifier.outputs(rows), np.where(labels[:, None] == classifier.classes_, 1, -1))
        assert classifier.score(rows, labels) == 1


def test_without_a_start_the_system_trains_as_published():
    rows, labels = [[3, 1], [3, 1], [1, 3]], [0, 1, 1]
    classifier = BaselineClassifier("sat-margin", hidden_layers=(2,), time_limit=5.0, from_start=True).fit(rows, labels)
    assert classifier.start_ is None
    assert "separable" in classifier.reports_["start"].message
    assert classifier.reports_["sat-margin"].objective == 4


def test_constant_inputs_of_toro_icarte_have_no_links():
    """The second input is 5 in all rows: with it, one neuron would have a larger margin."""
    rows, labels = np.array([[3, 5], [1, 5], [-3, 5], [-2, 5]]), [0, 0, 1, 1]
    for from_start in (False, True):
        classifier = BaselineClassifier("mip-max-margin", hidden_layers=(2,), from_start=from_start).fit(rows, labels)
        assert not classifier.network_.weights[0][1].any()
        assert classifier.score(rows, labels) == 1
        # As if the input were not there.
        alone = BaselineClassifier("mip-max-margin", hidden_layers=(2,)).fit(rows[:, :1], labels)
        assert classifier.reports_["max-margin"].objective == alone.reports_["max-margin"].objective
    other = BaselineClassifier("sat-margin", hidden_layers=(2,)).fit(rows, labels)
    assert other.input_scaling_(rows)[0, 1] == 10_000


def test_from_start_is_true_or_false():
    with pytest.raises(ValueError, match="from_start must be one of False, True"):
        BaselineClassifier("gd-t", from_start="yes").fit([[1], [2]], [0, 1])


def test_a_program_that_is_too_large_is_not_solved_as_a_whole(monkeypatch):
    def never(*_, **__):
        raise AssertionError("no solver")

    monkeypatch.setattr(improvement, "LARGEST_COLUMNS", 0)
    monkeypatch.setattr(improvement, "solve_goal", never)
    start = fitting_network(EASY.problem, FOREVER)
    (report,) = trained("mip-min-weight", EASY, start)
    assert report.objective < start.network.links
    assert report.message.startswith("the best of ")
