"""Min-Weight by decomposition against brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import AllNetworks, keeping, networks, tiny_problems
from strategies import run_only

from bemi import Network
from bemi.certificate import Rows
from bemi.certificate.links import links_bound
from bemi.engines import initial_network, monolithic
from bemi.engines.decomposition.neuron.few_links import DENOMINATOR, LinksLP, exact_links_bound, fewer_links
from bemi.limits import Limits
from bemi.problem import Problem
from bemi.stages import Outcome, get

NO_LIMIT = Limits()


def with_margins(problem: Problem) -> tuple[Network, list[np.ndarray]] | None:
    """The solver's max-margin network and its margins, if there is one."""
    mm = monolithic.run("mm", problem, start=initial_network(problem), limits=NO_LIMIT)
    return (mm.network, mm.network.margins(problem.data, problem.codes)) if mm.ran else None


def replayed(problem: Problem, margins: list[np.ndarray], proof) -> int:
    """What the checker makes of a proof."""
    rows = Rows(problem.data.tolist(), problem.codes.tolist(), problem.layers, problem.weight_bound)
    return links_bound(rows, [m.tolist() for m in margins], proof)


def referee(problem: Problem, start: Network, margins: list[np.ndarray], limits: Limits = NO_LIMIT) -> None:
    result = run_only("mw", "turns", problem=problem, start=start, keep=keeping(margins), limits=limits)
    best = AllNetworks.of(problem).best("mw", margins)
    assert result.ran
    assert result.stage == "mw"
    assert result.proof == "certified"
    assert result.objective == result.links == get("mw").value(problem, result.network, keeping(margins))
    assert result.bound <= best <= result.objective <= start.links
    assert result.certificate["bound"] == result.bound == replayed(problem, margins, result.certificate)


@settings(max_examples=120)
@given(problem=tiny_problems())
def test_bound_and_links_enclose_brute_force(problem):
    found = with_margins(problem)
    assume(found is not None)
    referee(problem, *found)


@settings(max_examples=200)
@given(data=st.data(), problem=tiny_problems())
def test_any_network_and_any_smaller_margins(data, problem):
    # Margins of 0 and below leave signs open, and outputs that may be wrong.
    start = data.draw(networks(problem))
    margins = [m - data.draw(st.integers(0, 3)) for m in start.margins(problem.data, problem.codes)]
    referee(problem, start, margins)


@settings(max_examples=50)
@given(problem=tiny_problems())
def test_any_limit_leaves_a_valid_bound(problem):
    found = with_margins(problem)
    assume(found is not None)
    for limits in (Limits(nodes=1), Limits(nodes=3, seed=7), Limits(seconds=0.0), Limits(gap=1.0)):
        referee(problem, *found, limits)


@pytest.mark.slow
@settings(max_examples=10_000)
@given(problem=tiny_problems())
def test_bound_and_links_enclose_brute_force_at_length(problem):
    test_bound_and_links_enclose_brute_force.hypothesis.inner_test(problem)


def images(rows: int, seed: int, hidden: tuple[int, ...] = (3, 2)) -> Problem:
    """Two overlapping kinds of small pictures."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 200, (2, 60)) * (rng.random((2, 60)) < 0.6)
    labels = np.arange(rows) % 2
    data = np.clip(kinds[labels] + rng.integers(-60, 60, (rows, 60)), 0, 255)
    return Problem(data, np.where(labels, -1, 1)[:, None], hidden, 1)


def one_splitter(problem: Problem) -> Network:
    """The initial network with all first-layer neurons but the first made constant."""
    network = initial_network(problem)
    first = np.array(network.weights[0])
    first[:, 1:] = problem.weight_bound
    weights = [first, *(np.zeros_like(w) for w in network.weights[1:])]
    for w in weights[1:]:
        w[0] = problem.weight_bound  # only the first neuron speaks
    return Network(tuple(weights), problem.weight_bound)


@pytest.mark.parametrize("seed", range(4))
def test_pictures_keep_their_margins_and_lose_links(seed):
    problem = images(12, seed)
    start = one_splitter(problem)
    margins = start.margins(problem.data, problem.codes)
    assert get("mm").value(problem, start) is not None
    result = run_only("mw", "turns", problem=problem, start=start, keep=keeping(margins), limits=NO_LIMIT)
    again = run_only("mw", "turns", problem=problem, start=start, keep=keeping(margins), limits=NO_LIMIT)
    assert result.objective < start.links
    assert 0 < result.bound <= result.objective
    assert result.gap < 0.2
    assert again.network == result.network
    assert again.certificate == result.certificate


def test_merges_and_forced_signs_leave_nothing_to_branch_on():
    problem = images(12, 0)
    start = one_splitter(problem)
    margins = start.margins(problem.data, problem.codes)
    proof = run_only("mw", "turns", problem=problem, start=start, keep=keeping(margins), limits=NO_LIMIT).certificate
    tags = [step[0] for step in proof["tree"]]
    assert set(tags) == {"X", "D", "B"}
    # The others are constant, and the labels force the first neuron's signs.
    excluded = [step for step in proof["tree"] if step[0] == "X"]
    assert {step[4] for step in excluded} == {-1}
    assert sum(step[1] == [1, 2] for step in excluded) == len(problem.data) - 1
    assert [step[1] for step in proof["tree"] if step[0] == "B"][:2] == [[0], [1, 2]]


def test_a_splitting_neuron_that_nothing_needs_becomes_a_cheaper_one():
    problem = images(12, 0)
    start = one_splitter(problem)
    first = np.array(start.weights[0])
    first[:, 2] = first[:, 0]
    margins = start.margins(problem.data, problem.codes)
    margins[0][2] = margins[0][0]
    both = Network((first, *start.weights[1:]), 1)
    result = run_only("mw", "turns", problem=problem, start=both, keep=keeping(margins), limits=NO_LIMIT)
    alone = run_only("mw", "turns", problem=problem, start=start, keep=keeping(margins), limits=NO_LIMIT)
    assert not result.network.splitting_neurons(problem.data)[2]
    assert result.objective == alone.objective


def test_every_neuron_must_separate_where_the_upper_margins_say_so():
    problem = images(10, 1, (3,))
    start = initial_network(problem)
    margins = start.margins(problem.data, problem.codes)
    assert margins[1].tolist() == [3]
    result = run_only("mw", "turns", problem=problem, start=start, keep=keeping(margins), limits=NO_LIMIT)
    # Counting alone relates all rows, and the three neurons are interchangeable.
    assert [step[0] for step in result.certificate["tree"]].count("D") == len(problem.data) - 1
    assert [step[1] for step in result.certificate["tree"] if step[0] == "B"] == [[0, 1, 2]] * 2
    assert result.gap < 0.2


def test_a_start_without_the_margins_is_handed_back():
    problem = images(6, 0)
    start = one_splitter(problem)
    margins = [m + 1 for m in start.margins(problem.data, problem.codes)]
    result = run_only("mw", "turns", problem=problem, start=start, keep=keeping(margins), limits=NO_LIMIT)
    assert not result.ran
    assert result.network == start
    assert "does not keep the margins" in result.message


def test_no_hidden_layer_and_repeated_rows():
    problem = images(8, 2, ())
    problem = replace(
        problem, data=np.concatenate([problem.data, problem.data]), codes=np.concatenate([problem.codes, problem.codes])
    )
    start = initial_network(problem)
    margins = start.margins(problem.data, problem.codes)
    result = run_only("mw", "turns", problem=problem, start=start, keep=keeping(margins), limits=NO_LIMIT)
    assert result.bound <= result.objective <= start.links
    assert {step[0] for step in result.certificate["tree"]} == {"B"}
    assert replayed(problem, margins, result.certificate) == result.bound


def test_a_stage_that_is_not_within_its_gap_says_why_it_ended():
    problem = images(12, 0)
    start = one_splitter(problem)
    keep = keeping(start.margins(problem.data, problem.codes))
    hurried = run_only("mw", "turns", problem=problem, start=start, keep=keep, limits=Limits(nodes=1))
    assert hurried.gap > 0
    assert hurried.message == Outcome.LIMIT.sentence
    patient = run_only("mw", "turns", problem=problem, start=start, keep=keep, limits=Limits(seconds=20.0))
    assert patient.gap == 0 or patient.message
    assert patient.gap < hurried.gap


@settings(max_examples=100)
@given(data=st.data())
def test_one_neuron_program_is_a_bound(data):
    rows, inputs, bound = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4)), data.draw(st.integers(1, 2))
    cells = st.lists(st.integers(-5, 5), min_size=inputs, max_size=inputs)
    X = np.array(data.draw(st.lists(cells, min_size=rows, max_size=rows)))
    every = np.stack(np.meshgrid(*[np.arange(-bound, bound + 1)] * inputs), axis=-1).reshape(-1, inputs)
    start = every[data.draw(st.integers(0, len(every) - 1))]
    signs = np.where(X @ start >= 0, 1, -1)
    margin = int(np.abs(X @ start).min())
    assume(margin >= 1)
    best = np.count_nonzero(every[((every @ X.T) * signs >= margin).all(axis=1)], axis=1).min()
    relaxed = LinksLP(X, bound).solve(signs.astype(np.int8), margin)
    assert 0 <= relaxed.bound <= best
    weights = fewer_links(X, signs, bound, margin, relaxed, start, proposals=2000)
    assert (signs * (X @ weights)).min() >= margin
    assert best <= np.count_nonzero(weights) <= np.count_nonzero(start)


def test_large_numbers_are_multiplied_exactly():
    X = np.array([[10**8, 3], [5, 10**8]])
    mu = ((0, 5 * DENOMINATOR), (1, 7 * DENOMINATOR))
    # 12 m - (|5e8 + 35| - 1) - (|15 + 7e8| - 1) with m = 10^8
    assert exact_links_bound(X, np.array([1, 1], dtype=np.int8), 1, 10**8, mu) == max(0, 12 * 10**8 - 12 * 10**8 - 48)
    assert exact_links_bound(X, np.array([1, 1], dtype=np.int8), 1, 10**8 + 5, mu) == 12
