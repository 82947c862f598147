"""Proofs by shapes: what is refused."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from bemi.certificate import CertificateError, Rows
from bemi.certificate.margins import MarginProof
from bemi.engines.decomposition.max_margin.dichotomies import Search
from bemi.engines.decomposition.max_margin.nodes import Budget
from bemi.problem import Problem, class_codes


@pytest.fixture(scope="module")
def proved() -> tuple[Rows, dict]:
    """Six classes with four rows each; the first layer has four neurons."""
    rng = np.random.default_rng(1)
    centres = rng.integers(20, 200, (6, 30))
    data = np.concatenate([np.clip(c + rng.integers(-60, 61, (4, 30)), 0, 255) for c in centres])
    order = np.lexsort(data.T[::-1])
    problem = Problem(data[order], np.repeat(class_codes(8)[:6], 4, axis=0)[order], (4, 4), 1)
    search = Search(problem, Budget(1000))
    search.run()
    return Rows(problem.data.tolist(), problem.codes.tolist(), problem.layers, 1), search.proof


def steps_of(tree: list, kind: str) -> list[list]:
    """All steps of a kind in a proof."""
    found = []
    for step in tree:
        if step[0] == kind:
            found.append(step)
        if step[0] in ("S", "T", "V"):
            for child in step[3]:
                found += steps_of(child, kind)
    return found


def refusal(rows: Rows, proof: dict) -> str | None:
    try:
        MarginProof(rows, proof).bound()
    except CertificateError as error:
        return str(error)
    return None


def test_the_proof_holds_and_uses_shapes_and_trees(proved):
    rows, proof = proved
    assert MarginProof(rows, proof).bound() == proof["bound"]
    steps = steps_of(proof["tree"], "Y")
    assert any(step[3] for step in steps)
    assert any(tree[1][2] for step in steps for tree in step[4])


def changed(proof: dict, change) -> dict:
    new = copy.deepcopy(proof)
    for step in steps_of(new["tree"], "Y"):
        change(step)
    return new


def without_a_case(step: list) -> None:
    for _, tree in step[4]:
        if tree[2]:
            tree[2].pop()


def other_marks(step: list) -> None:
    step[2] = [step[2][1], *step[2][1:]]


def too_few_marks(step: list) -> None:
    step[2] = step[2][:-1]


def wrong_digit(step: list) -> None:
    for entry in step[3]:
        entry[0][0] = 4


def negative(step: list) -> None:
    for entry in step[3]:
        entry[1][0][1] = -1


def row_of_no_member(step: list) -> None:
    for _, tree in step[4]:
        tree[1] = 10**6


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (without_a_case, "the patterns of a row are not covered"),
        (other_marks, "one marked row for each code"),
        (wrong_digit, "bad digit"),
        (negative, "bad multiplier"),
        (row_of_no_member, "bad row"),
        (too_few_marks, "one marked row for each code"),
        (lambda step: step.pop(), "a step is malformed"),
    ],
)
def test_false_steps_are_refused(proved, change, reason):
    rows, proof = proved
    assert reason in refusal(rows, changed(proof, change))


def test_shapes_need_merged_rows():
    """Without merges nothing is known about the wide neuron: a row alone has one code, which says nothing."""
    rows = Rows([[5, 1], [1, 5], [4, 4], [3, 1]], [[1, 1], [1, -1], [-1, 1], [-1, -1]], [2, 3, 2], 1)
    proof = {"value": 0, "tiers": [0, 0, 1], "cap": [8, 2, ["L", [[2, 1]]]], "tree": []}
    reasons = []
    for step in (["Y", 0, [0], [], []], ["Y", 0, [0, 1, 2, 3], [], []]):
        reasons.append(refusal(rows, proof | {"tree": [step, ["O"]]}))
    assert reasons[0] is None
    assert "marked row" in reasons[1]
    flat = proof | {"tiers": [0, 0, 0], "tree": [["Y", 0, [0], [], []], ["O"]]}
    assert "higher tier" in refusal(rows, flat)
    assert MarginProof(rows, proof | {"tree": [["Y", 0, [0], [], []], ["O"]]}).bound() >= 24
