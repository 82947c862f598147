"""Proofs by combinations of listed neurons: accepted when true, refused when they claim too much, in both checkers."""

from __future__ import annotations

import numpy as np
import pytest
from strategies import run_only

from bemi.certificate import CertificateError, Rows
from bemi.certificate.combinations import combined_links_bound, combined_margins_bound
from bemi.engines import initial_network
from bemi.limits import Limits
from bemi.problem import KeepMargins, Problem


def instance(seed: int) -> Problem:
    """A few rows of three or four inputs, pixels or signed, with one output and one or two hidden layers."""
    rng = np.random.default_rng(seed)
    bound = int(rng.choice([1, 1, 2]))
    hidden = [(1,), (2,), (3,), (2, 2), (3, 2), (2, 3), (2, 2, 2)][rng.integers(7)]
    inputs, rows = int(rng.integers(2, 4 if bound > 1 else 5)), int(rng.integers(2, 6))
    data = rng.integers(0, 20, (rows, inputs)) if seed % 2 else rng.integers(-6, 7, (rows, inputs))
    data[:, 0] += data.any(axis=1) == 0
    return Problem(data, rng.choice([-1, 1], (rows, 1)), hidden, bound)


def rows_of(problem: Problem) -> Rows:
    return Rows(problem.data.tolist(), problem.codes.tolist(), problem.layers, problem.weight_bound)


def refused(check, *arguments) -> bool:
    try:
        check(*arguments)
    except CertificateError:
        return True
    return False


@pytest.mark.parametrize("seed", range(40))
def test_true_claims_are_accepted_and_better_ones_refused(seed):
    problem = instance(seed)
    widest = run_only("mm", "lists", problem=problem, start=initial_network(problem), limits=Limits())
    if not widest.ran:
        return
    assert widest.proof == "certified"
    if widest.certificate is None:
        return  # the trivial bound
    proof = widest.certificate
    assert combined_margins_bound(rows_of(problem), proof) == widest.objective
    for wrong in ({"value": proof["value"] - 1}, {"any": proof["any"] - 1}, {"labels": proof["labels"] - 1}):
        changed = proof | wrong
        assert refused(combined_margins_bound, rows_of(problem), changed), wrong
    # A larger M proves less: either it is refused, or what it claims is true all the same.
    for loose in ({"any": proof["any"] + 3}, {"labels": proof["any"]}, {"value": proof["value"] + 5}):
        refused(combined_margins_bound, rows_of(problem), proof | loose)
    assert widest.network is not None
    margins = widest.network.margins(problem.data, problem.codes)
    smallest = run_only(
        "mw", "lists", problem=problem, start=widest.network, keep=KeepMargins(tuple(margins)), limits=Limits()
    )
    assert smallest.proof == "certified"
    known, proof = [m.tolist() for m in margins], smallest.certificate
    assert combined_links_bound(rows_of(problem), known, proof) == smallest.objective
    assert refused(combined_links_bound, rows_of(problem), known, proof | {"links": proof["links"] + 1})
    assert combined_links_bound(rows_of(problem), known, proof | {"links": 1}) == 1


def test_two_hidden_layers_of_four_neurons_are_certified():
    """Too many combinations for the second checker, which has no forms: without them, better claims are refused."""
    rng = np.random.default_rng(1)
    data = rng.integers(-10, 11, (10, 6))
    problem = Problem(data, rng.choice([-1, 1], (10, 1)), (4, 4), 1)
    widest = run_only("mm", "lists", problem=problem, start=initial_network(problem), limits=Limits())
    assert (widest.proof, widest.gap) == ("certified", 0)
    assert widest.network is not None
    assert widest.certificate is not None
    assert combined_margins_bound(rows_of(problem), widest.certificate) == widest.objective
    better = widest.certificate | {"value": widest.objective - 1}
    assert refused(combined_margins_bound, rows_of(problem), better)
    margins = [m.tolist() for m in widest.network.margins(problem.data, problem.codes)]
    keep = KeepMargins(tuple(map(np.array, margins)))
    smallest = run_only("mw", "lists", problem=problem, start=widest.network, keep=keep, limits=Limits())
    assert (smallest.proof, smallest.gap) == ("certified", 0)
    assert smallest.certificate is not None
    assert combined_links_bound(rows_of(problem), margins, smallest.certificate) == smallest.objective
    better = smallest.certificate | {"links": smallest.objective + 1}
    assert refused(combined_links_bound, rows_of(problem), margins, better)


GOOD = {"kind": "combinations", "value": 12, "any": 6, "labels": 3}


@pytest.mark.parametrize(
    "proof",
    [
        *({**GOOD, "value": value} for value in (-1, 1 << 40, True, 2.0, None)),
        *({**GOOD, "any": value} for value in (0, 1 << 30, "6")),
        *({**GOOD, "labels": value} for value in (-1, 7, [3])),
        {"kind": "combinations", "value": 12, "any": 6},
        {**GOOD, "level": 1},
    ],
)
def test_malformed_proofs_are_refused(proof):
    problem = Problem(np.array([[5, 1], [4, 2], [1, 5], [2, 4]]), np.array([[1], [1], [-1], [-1]]), (2,), 1)
    assert combined_margins_bound(rows_of(problem), GOOD) == 12
    assert refused(combined_margins_bound, rows_of(problem), proof)


@pytest.mark.parametrize("proof", [{"links": -1}, {"links": 1 << 40}, {"links": "4"}, {}, {"links": 4, "value": 1}])
def test_malformed_proofs_of_links_are_refused(proof):
    problem = Problem(np.array([[5, 1], [1, 5]]), np.array([[1], [-1]]), (2,), 1)
    margins = [[4, 6], [1]]
    assert combined_links_bound(rows_of(problem), margins, {"kind": "combinations", "links": 5}) == 5
    assert refused(combined_links_bound, rows_of(problem), margins, {"kind": "combinations", **proof})


def test_other_shapes_are_refused():
    data, codes = np.array([[5, 1], [1, 5]]), np.array([[1], [-1]])
    deep = Problem(data, codes, (5, 2), 1)
    several = Problem(data, np.array([[1, 1], [-1, 1]]), (2,), 1)
    wide = Problem(data, codes, (6,), 1)
    empty = Problem(np.array([[5, 1], [0, 0]]), codes, (2,), 1)
    for problem in (deep, several, wide, empty):
        assert refused(combined_margins_bound, rows_of(problem), GOOD)
