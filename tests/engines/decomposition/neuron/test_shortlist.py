"""The list of all good dichotomies of one neuron, against trying out every one."""

import copy
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from bemi.certificate import CertificateError, Rows
from bemi.certificate.margins import MarginProof
from bemi.engines.decomposition.max_margin.dichotomies import Search
from bemi.engines.decomposition.max_margin.nodes import Budget, PartialNeuron
from bemi.engines.decomposition.neuron.linear_program import NeuronLP
from bemi.engines.decomposition.neuron.shortlist import Lister
from bemi.problem import Problem


@st.composite
def lists(draw):
    """Rows, groups of rows, a weight bound and a level."""
    rows, inputs = draw(st.integers(2, 6)), draw(st.integers(1, 6))
    signed = draw(st.booleans())
    values = st.lists(st.integers(-9 if signed else 0, 9), min_size=inputs, max_size=inputs)
    data = np.array(draw(st.lists(values, min_size=rows, max_size=rows)))
    groups = np.array([draw(st.integers(0, k)) for k in range(rows)])
    groups = groups[groups]  # a group is named after one of its rows
    while (groups[groups] != groups).any():
        groups = groups[groups]
    return data, groups, draw(st.integers(1, 3)), draw(st.integers(0, 20))


def all_dichotomies(lp: NeuronLP, groups):
    """Every dichotomy that respects the groups, both flips, with its bound."""
    for signs in itertools.product((1, -1), repeat=len(groups)):
        column = np.array(signs, dtype=np.int8)
        if (column == column[groups]).all():
            yield lp.solve(column).bound, signs


def fresh(lp: NeuronLP, groups, level: int, nodes: int = 10_000):
    lister = Lister(lp, groups, 10_000)
    while lister.more and lister.solved < nodes:
        lister.extend(level, min(50, nodes - lister.solved))
    return lister.shortlist()


def both_flips(listed):
    return {tuple((turn * signs).tolist()) for _, signs in listed.members for turn in (1, -1)}


@given(lists())
@settings(deadline=None, max_examples=150)
def test_nothing_above_the_level_is_missing(case):
    data, groups, weight_bound, level = case
    lp = NeuronLP(data, weight_bound)
    listed = fresh(lp, groups, level)
    assert listed.level == level
    assert both_flips(listed) == {signs for bound, signs in all_dichotomies(lp, groups) if bound > level}


@given(lists(), st.integers(1, 6))
@settings(deadline=None, max_examples=100)
def test_a_list_that_stops_early_says_so(case, nodes):
    data, groups, weight_bound, level = case
    lp = NeuronLP(data, weight_bound)
    listed = fresh(lp, groups, level, nodes)
    expected = {signs for bound, signs in all_dichotomies(lp, groups) if bound > listed.level}
    assert listed.level >= level
    assert both_flips(listed) == expected


@given(lists(), st.data())
@settings(deadline=None, max_examples=150)
def test_a_neuron_learns_what_its_members_share(case, data):
    rows, groups, weight_bound, level = case
    lp = NeuronLP(rows, weight_bound)
    listed = fresh(lp, groups, level)
    if not listed.members:
        return
    signs = np.array([data.draw(st.sampled_from((0, 0, 1, -1))) for _ in groups], dtype=np.int8)
    count = data.draw(st.integers(1, len(listed.members)))
    neuron = PartialNeuron(signs, np.arange(len(groups)), None, 10**9)
    fits = [
        (bound, turn * member)
        for bound, member in listed.members[:count]
        for turn in (1, -1)
        if ((signs == 0) | (signs == turn * member)).all()
    ]
    learned = listed.narrowed(neuron, count)
    if not fits:
        assert learned is None
        return
    table = np.array([member for _, member in fits])
    assert learned.bound == max(bound for bound, _ in fits)
    for a, b in itertools.product(range(len(groups)), repeat=2):
        assert (learned.group[a] == learned.group[b]) == (table[:, a] == table[:, b]).all()
    if signs.any():
        shared = np.where((table == 1).all(axis=0), 1, np.where((table == -1).all(axis=0), -1, 0))
        assert (learned.signs == shared).all()


@pytest.fixture(scope="module")
def small_row() -> Problem:
    """Digits with labels at random, one of them so faint that it holds all margins down."""
    X = load_digits().data.astype(int)
    X = X[np.random.default_rng(2).choice(len(X), 20, replace=False)]
    X[0] //= 8
    return Problem(X, np.repeat([[1], [-1]], 10, axis=0), (4,), 1)


@pytest.fixture(scope="module")
def proof(small_row):
    search = Search(small_row, Budget(3000))
    search.run()
    assert search.bound == search.incumbent.value
    return search.proof


def checked(problem: Problem, proof) -> int:
    rows = [tuple(row) for row in problem.data.tolist()]
    codes = [tuple(code) for code in problem.codes.tolist()]
    return MarginProof(Rows(rows, codes, problem.layers, problem.weight_bound), proof).bound()


def steps(proof, kind):
    """All lists in the proof that begin with this letter."""
    stack, found = [proof["tree"]], []
    while stack:
        here = stack.pop()
        if isinstance(here, list):
            if here and here[0] == kind:
                found.append(here)
            stack.extend(here)
    return found


def test_a_small_row_is_settled_by_a_list_and_the_proof_holds(small_row, proof):
    assert steps(proof, "N")
    assert steps(proof, "F")
    assert steps(proof, "V")
    assert checked(small_row, proof) == proof["bound"]


def test_false_lists_are_refused(small_row, proof):
    def refused(change, reason):
        mutant = copy.deepcopy(proof)
        change(mutant)
        with pytest.raises(CertificateError, match=reason):
            checked(small_row, mutant)

    def forget_the_members(mutant):
        for member in steps(mutant, "W"):
            member[0] = "L"

    def lower_the_level(mutant):
        steps(mutant, "N")[0][2] -= 1

    def claim_a_member_too_early(mutant):
        branch = steps({"tree": steps(mutant, "N")[0][3]}, "T")[0]
        branch[:] = ["W", [[0, 1]]]

    def leave_out_members(mutant):
        step = max(steps(mutant, "F"), key=lambda step: step[2])
        step[2] -= 1

    def use_it_for_a_heavy_neuron(mutant):
        for step in steps(mutant, "F"):
            step[1] = 0

    def drop_the_list(mutant):
        mutant["tree"] = [step for step in mutant["tree"] if step[0] != "N"]

    def drop_a_child(mutant):
        steps(mutant, "V")[0][3].pop()

    refused(forget_the_members, "not complete")
    refused(lower_the_level, "not complete")
    refused(claim_a_member_too_early, "free signs|without a sign")
    refused(leave_out_members, "left-out member|called closed")
    refused(use_it_for_a_heavy_neuron, "does not cover")
    refused(drop_the_list, "does not exist")
    refused(drop_a_child, "do not cover")


def test_a_list_used_too_deep_is_refused(small_row, proof):
    mutant = copy.deepcopy(proof)
    mutant["value"] -= 40
    with pytest.raises(CertificateError):
        checked(small_row, mutant)


def test_rows_that_are_not_opposed_close_nothing():
    problem = Problem(np.array([[-1, 3, -2], [0, 3, 1], [3, -2, 0]]), np.array([[1], [-1], [1]]), (3,), 1)
    search = Search(problem, Budget(2000))
    search.run()
    assert checked(problem, search.proof) == search.bound
    assert steps(search.proof, "A")
    for rows, reason in (([0, 1], "different codes"), ([0, 0], "not opposed")):
        mutant = copy.deepcopy(search.proof)
        for step in steps(mutant, "A"):
            step[1:] = rows
        with pytest.raises(CertificateError, match=reason):
            checked(problem, mutant)
