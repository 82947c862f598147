"""Decision values agree with labels, for every vote there can be."""

from itertools import combinations, product

import numpy as np
import pytest

from bemi.ensemble.voting import class_decisions, pair_decision, vote
from bemi.problem.problem import ABSTAIN


def check_all_votes(subsets, classes, *, abstaining, by_evidence):
    """Every combination of votes with several kinds of evidence: equal, none, random, and nearly equal."""
    subsets = np.array(subsets)
    choices = [[*members, *([ABSTAIN] if abstaining else [])] for members in subsets.tolist()]
    every = np.array(list(product(*choices)))
    rng = np.random.default_rng(len(every))
    nearly = 2**54 + rng.integers(0, 2, every.shape)
    for evidence in (np.ones_like(every), np.zeros_like(every), rng.integers(0, 2**31, every.shape), nearly):
        outcome = vote(
            every, subsets, classes, evidence=(lambda chosen, e=evidence: e[chosen]) if by_evidence else None
        )
        values = class_decisions(outcome, every, evidence, subsets)
        labelled = outcome.label != ABSTAIN
        assert labelled.all() or not by_evidence
        assert np.array_equal(values.argmax(axis=1)[labelled], outcome.label[labelled])
        # Fewer votes are never made up for by evidence.
        standing = outcome.counts / np.bincount(subsets.reshape(-1), minlength=classes)
        rows, better, worse = np.nonzero(standing[:, :, None] > standing[:, None, :] + 1e-9)
        assert (values[rows, better] > values[rows, worse]).all()


@pytest.mark.parametrize("by_evidence", [True, False])
@pytest.mark.parametrize("classes", [3, 4, 5])
def test_all_pairs(classes, by_evidence):
    check_all_votes(list(combinations(range(classes), 2)), classes, abstaining=False, by_evidence=by_evidence)


@pytest.mark.parametrize("by_evidence", [True, False])
@pytest.mark.parametrize(
    ("subsets", "classes"),
    [
        (list(combinations(range(4), 3)), 4),
        ([(0, 1, 2)], 3),
        ([(0, 1, 2), (2, 3, 4), (1, 2, 3), (0, 3, 4)], 5),
    ],
)
def test_networks_that_may_abstain(subsets, classes, by_evidence):
    check_all_votes(subsets, classes, abstaining=True, by_evidence=by_evidence)


@pytest.mark.parametrize("by_evidence", [True, False])
def test_classes_with_different_numbers_of_networks(by_evidence):
    subsets = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (3, 4), (2, 5), (4, 5)]
    check_all_votes(subsets, 6, abstaining=False, by_evidence=by_evidence)


def test_more_evidence_for_a_class_raises_its_value():
    subsets = np.array(list(combinations(range(3), 2)))
    votes = np.array([[0, 0, 1], [0, 0, 1]])
    evidence = np.array([[5, 5, 5], [9, 5, 5]]) * 2**24
    values = class_decisions(vote(votes, subsets, 3), votes, evidence, subsets)
    assert values[1, 0] > values[0, 0]
    assert values[1, 1] < values[0, 1]
    assert values[1, 2] == values[0, 2]


def test_two_classes_are_decided_by_the_sign():
    votes = np.array([0, 0, 1, 1])
    values = pair_decision(votes, np.array([0, 2**25, 0, 2**25]))
    assert np.array_equal(values > 0, votes == 1)
    assert np.argsort(values).tolist() == [1, 0, 2, 3]
