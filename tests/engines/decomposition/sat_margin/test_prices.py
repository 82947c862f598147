"""Prices of rows: one neuron against all weight vectors, the bound against all networks, forged proofs."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import AllNetworks

from bemi import BeMiClassifier, save, verify
from bemi.certificate import CertificateError, Rows
from bemi.certificate.confidence import confident_bound
from bemi.engines import initial_network, observed
from bemi.engines.decomposition import engine
from bemi.engines.decomposition.neuron import exhaustive
from bemi.engines.decomposition.sat_margin import alternation, prices
from bemi.limits import FOREVER, Limits
from bemi.problem import Problem


def noisy(rows: int, inputs: int, hidden: int, bound: int = 1, seed: int = 0) -> Problem:
    """Signed rows whose codes are random, so that no network fits them."""
    rng = np.random.default_rng(seed)
    data = rng.integers(-9, 10, (rows, inputs))
    return Problem(data, rng.choice([-1, 1], (rows, 1)), (hidden,), bound)


def checked(problem: Problem, proof: dict) -> int:
    return confident_bound(
        Rows(problem.data.tolist(), problem.codes.tolist(), problem.layers, problem.weight_bound), proof
    )


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("inputs", "bound"), [(5, 1), (3, 2), (2, 5)])
def test_the_best_neuron_is_the_best_of_all(inputs, bound, strict):
    rng = np.random.default_rng(inputs)
    data, targets = rng.integers(-3, 4, (12, inputs)), rng.choice([-1, 1], 12)
    worth = rng.integers(0, 9, 12)
    every = np.array(list(product(range(-bound, bound + 1), repeat=inputs)))
    sums = every @ data.T
    agrees = np.where(targets > 0, sums >= (1 if strict else 0), sums <= -1)
    values = np.sort(agrees @ worth)[::-1]
    found = exhaustive.best_agreement(data, targets, worth, bound, room=3, strict=strict)
    assert found.complete
    assert found.most == values[0]
    assert found.values.tolist() == values[:3].tolist()
    above = exhaustive.best_agreement(data, targets, worth, bound, level=int(values[0]), strict=strict)
    assert above.weights.shape[1] == 0
    assert above.most == values[0]


def test_large_numbers_are_searched_in_64_bits():
    """Sums or prices beyond 32 bits give the same neurons."""
    problem, codes = noisy(20, 5, 3), noisy(20, 5, 3).codes[:, 0]
    worth = np.arange(1, 21)
    small = exhaustive.best_agreement(problem.data, codes, worth, 1, room=3)
    wide = exhaustive.best_agreement(problem.data << 30, codes, worth, 1, room=3)
    dear = exhaustive.best_agreement(problem.data, codes, worth << 30, 1, room=3)
    assert wide.values.tolist() == small.values.tolist()
    assert (dear.values >> 30).tolist() == small.values.tolist()
    assert (wide.weights == small.weights).all()
    assert (dear.weights == small.weights).all()


def test_a_search_that_gives_up_says_so(monkeypatch):
    problem = noisy(20, 8, 3)
    monkeypatch.setattr(exhaustive, "MOST_AGREEMENT_NODES", 50)
    codes = problem.codes[:, 0]
    assert not exhaustive.best_agreement(problem.data, codes, np.ones(20, dtype=np.int64), 1).complete
    assert prices.priced_bound(problem, initial_network(problem), FOREVER) is None


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.sampled_from(((2, 3, 1), (3, 2, 1), (2, 2, 1), (2, 1, 3), (1, 3, 1), (3, 1, 2))),
    rows=st.integers(1, 12),
    seed=st.integers(0, 10**6),
)
def test_the_bound_holds_for_all_networks(sizes, rows, seed):
    inputs, hidden, bound = sizes
    problem = noisy(rows, inputs, hidden, bound, seed)
    best = AllNetworks.of(problem).best("sm")
    found = prices.priced_bound(problem, initial_network(problem), FOREVER)
    assert found is not None
    assert best <= found.bound == checked(problem, found.proof)


def test_quotas_are_what_the_output_needs():
    quotas, ratio = prices._quotas((13, 5, 1), 1)
    assert [1, 1, 1, 1, 0, 3] in [[a // (q[-1] // 3) for a in q] for q in quotas if q[-1] % 3 == 0]
    assert ratio * 3 == 4


PROBLEM = noisy(40, 5, 5)


@pytest.fixture(scope="module")
def proof() -> dict:
    found = prices.priced_bound(PROBLEM, initial_network(PROBLEM), FOREVER)
    assert found is not None
    assert found.bound == checked(PROBLEM, found.proof) < 40
    return found.proof


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p: p.update(most=p["most"] - 1), "right on rows that are worth more"),
        (lambda p: p.update(quotas=[q for q in p["quotas"] if q[-2]]), "no quota fits"),
        (lambda p: p["quotas"].append([1, 1, 1, 1, 1, 5]) or p.update(quotas=p["quotas"][-1:]), "no quota fits"),
        (lambda p: p.update(quotas=[[0] * 6]), "a quota does not fit"),
        (lambda p: p["prices"].pop(), "not one price per row"),
        (lambda p: p["prices"].__setitem__(0, p["unit"] + 1), "a price is not in"),
        (lambda p: p["prices"].__setitem__(0, -1), "a price is not in"),
        (lambda p: p.update(order=p["order"][1:]), "does not have every input once"),
        (lambda p: p.update(order=[0] * 5), "does not have every input once"),
        (lambda p: p.update(unit=0), "bad unit"),
        (lambda p: p.update(most=True), "bad value of a neuron"),
    ],
)
def test_forged_proofs_are_refused(proof, change, reason):
    forged = copy.deepcopy(proof)
    change(forged)
    with pytest.raises(CertificateError, match=reason):
        checked(PROBLEM, forged)


def test_a_proof_is_about_one_hidden_layer_and_one_output(proof):
    with pytest.raises(CertificateError, match="prices are for one hidden layer"):
        checked(replace(PROBLEM, hidden_layers=(5, 2)), proof)
    with pytest.raises(CertificateError, match="prices are for one output"):
        checked(replace(PROBLEM, codes=np.repeat(PROBLEM.codes, 2, axis=1)), proof)


def test_the_work_of_the_checker_is_limited(proof, monkeypatch):
    monkeypatch.setattr("bemi.certificate.confidence._MOST_NODES", 100)
    with pytest.raises(CertificateError, match="too many neurons to try"):
        checked(PROBLEM, proof)


def test_alternation_only_improves():
    start = initial_network(PROBLEM)
    found = alternation.alternated(PROBLEM, start, restarts=30, seed=0, deadline=FOREVER)
    assert PROBLEM.confident_rows(found).sum() > PROBLEM.confident_rows(start).sum()
    again = alternation.alternated(PROBLEM, start, restarts=30, seed=0, deadline=FOREVER)
    assert again == found


def test_the_stage_reports_a_certified_bound_below_the_number_of_rows():
    found = engine.run("sm", PROBLEM, start=initial_network(PROBLEM), limits=Limits(nodes=20))
    assert found.proof == "certified"
    assert found.objective <= found.bound == checked(PROBLEM, found.certificate) < 40


def test_a_model_with_prices_is_verified(tmp_path):
    classifier = BeMiClassifier((5,), stages=("sm",), node_limit=5, time_limit=None)
    save(classifier.fit(PROBLEM.data, PROBLEM.codes[:, 0]), tmp_path / "m")
    (report,) = classifier.reports_.values()
    assert report["sm"].certificate is not None
    assert verify(tmp_path / "m").certified["sm"] == 1


def around_a_plane(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 60, (50, 6))
    data[:, -1] += 30
    sums = data[:, 0] - data[:, 1] + data[:, 2] - data[:, 3]
    return Problem(data, np.where(sums + rng.normal(0, 36, 50) > 0, 1, -1)[:, None], (5,), 1)


def test_the_clock_has_no_say_in_sat_margin(monkeypatch):
    """With a time limit the search counts its steps, and ends before the limit."""
    monkeypatch.setattr(alternation, "RESTARTS_PER_SECOND", 0.1)
    problem, limits = around_a_plane(0), Limits(seconds=100.0)
    assert alternation.restarts_within(limits) == 10
    start = initial_network(problem)
    clock = limits.deadline()
    with observed(without={"solver"}) as contributions:
        first, second = (engine.run("sm", problem, start=start, limits=limits) for _ in range(2))
    assert "alternation" in [c.strategy for c in contributions]
    assert first.network == second.network
    assert clock.elapsed < 50
