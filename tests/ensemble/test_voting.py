"""Voting: the paper's worked examples, the generalisation to m classes per network, tie rules, decision values."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bemi.ensemble import (
    TIES,
    LabelStatus,
    class_decisions,
    class_subsets,
    label_statuses,
    memberships,
    pair_decision,
    shares,
    vote,
)
from bemi.problem import ABSTAIN, class_codes, decode_outputs

MARGIN = TIES["margin"]


def votes_from_winners(n_classes: int, wins: dict[int, list[int]]) -> np.ndarray:
    """One row of pairwise votes from "class c wins its matches against these classes"."""
    subsets = class_subsets(n_classes, 2).tolist()
    row = np.full(len(subsets), ABSTAIN)
    for winner, losers in wins.items():
        for loser in losers:
            index = subsets.index(sorted((winner, loser)))
            assert row[index] == ABSTAIN, "every match has one winner"
            row[index] = winner
    assert (row != ABSTAIN).all()
    return row[None, :]


def decide(votes: np.ndarray, n_classes: int, truth: int, size: int = 2):
    return vote(votes, class_subsets(n_classes, size), n_classes, truth=np.array([truth]))


BIRD, CAT, DOG, FROG = range(4)


@pytest.mark.parametrize(("truth", "status"), [(BIRD, "mC"), (CAT, "mI'"), (DOG, "mI''"), (FROG, "mI''")])
def test_first_example_of_the_paper(truth, status):
    votes = votes_from_winners(4, {BIRD: [CAT, DOG], CAT: [DOG, FROG], DOG: [FROG], FROG: [BIRD]})
    outcome = decide(votes, 4, truth)
    assert outcome.counts.tolist() == [[2, 2, 1, 1]]
    assert np.flatnonzero(outcome.dominant[0]).tolist() == [BIRD, CAT]
    assert outcome.label.tolist() == [BIRD]
    assert outcome.status.tolist() == [status]


SECOND = {
    0: [1, 2, 3, 5, 7, 8],
    1: [5, 6],
    2: [1, 5, 8],
    3: [1, 2, 4, 5],
    4: [0, 1, 2, 5, 6, 7, 9],
    5: [6, 7],
    6: [0, 2, 3, 7],
    7: [1, 2, 3],
    8: [1, 3, 4, 5, 6, 7],
    9: [0, 1, 2, 3, 5, 6, 7, 8],
}


@pytest.mark.parametrize(("truth", "status"), [(9, "1C"), (4, "1I"), (0, "1I")])
def test_second_example_of_the_paper_one_dominant_label(truth, status):
    outcome = decide(votes_from_winners(10, SECOND), 10, truth)
    assert outcome.label.tolist() == [9]
    assert outcome.status.tolist() == [status]


@pytest.mark.parametrize(("truth", "status"), [(4, "oI'"), (8, "oI'"), (9, "oI'"), (0, "oI''")])
def test_second_example_of_the_paper_three_dominant_labels(truth, status):
    wins = SECOND | {8: [1, 3, 4, 5, 6, 7, 9], 9: [0, 1, 2, 3, 5, 6, 7]}
    outcome = decide(votes_from_winners(10, wins), 10, truth)
    assert np.flatnonzero(outcome.dominant[0]).tolist() == [4, 8, 9]
    assert outcome.label.tolist() == [ABSTAIN]
    assert outcome.unclassified.tolist() == [True]
    assert outcome.status.tolist() == [status]


@pytest.mark.parametrize(("truth", "status"), [(4, "mC"), (9, "mI'"), (0, "mI''")])
def test_second_example_of_the_paper_two_dominant_labels(truth, status):
    wins = SECOND | {3: [1, 2, 4, 5, 9], 9: [0, 1, 2, 5, 6, 7, 8]}
    outcome = decide(votes_from_winners(10, wins), 10, truth)
    assert np.flatnonzero(outcome.dominant[0]).tolist() == [4, 9]
    assert outcome.label.tolist() == [4]
    assert outcome.status.tolist() == [status]


def test_three_classes_per_network_out_of_four():
    # Networks on {0,1,2}, {0,1,3}, {0,2,3}, {1,2,3}.
    def outcome(votes, truth):
        return decide(np.array([votes]), 4, truth, size=3)

    one = outcome([0, 0, 0, 1], 0)
    assert (one.label[0], one.status[0]) == (0, "1C")
    two = outcome([0, 1, 0, 1], 1)
    assert (two.label[0], two.status[0]) == (ABSTAIN, "oI'")
    # 0, 1 and 2 have one vote each and {1,2,3} abstains: the network on {0,1,2} decides.
    three = outcome([2, 1, 0, ABSTAIN], 2)
    assert np.flatnonzero(three.dominant[0]).tolist() == [0, 1, 2]
    assert (three.label[0], three.status[0]) == (2, "mC")
    assert outcome([2, 1, 0, ABSTAIN], 0).status[0] == "mI'"
    assert outcome([2, 1, 0, ABSTAIN], 3).status[0] == "mI''"
    # The deciding network itself abstains: 0, 1 and 3 lead, {0,1,3} is silent.
    silent = outcome([0, ABSTAIN, 3, 1], 3)
    assert np.flatnonzero(silent.dominant[0]).tolist() == [0, 1, 3]
    assert (silent.label[0], silent.status[0]) == (ABSTAIN, "mI'")
    assert outcome([0, ABSTAIN, 3, 1], 2).status[0] == "mI''"
    everyone = outcome([0, 1, 2, 3], 3)
    assert (everyone.label[0], everyone.status[0]) == (ABSTAIN, "oI'")


def test_codes_are_binary_digits_first_digit_first():
    assert class_codes(2).tolist() == [[1], [-1]]
    assert class_codes(3).tolist() == [[1, 1], [1, -1], [-1, 1]]
    assert class_codes(4).tolist() == [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    assert class_codes(5).shape == (5, 3)


@given(st.integers(2, 40))
def test_codes_come_back(n_classes):
    assert decode_outputs(class_codes(n_classes), n_classes).tolist() == list(range(n_classes))


def test_a_code_beyond_the_last_class_abstains():
    assert decode_outputs(np.array([[-1, -1], [-1, 1]]), 3).tolist() == [ABSTAIN, 2]


def test_subsets_are_all_sets_in_order():
    assert class_subsets(5, 3).tolist() == [list(c) for c in combinations(range(5), 3)]


def test_margin_rule_answers_where_the_paper_does_not():
    # A cycle: 0 beats 1, 1 beats 2, 2 beats 0.
    votes = np.array([[0, 2, 1]])
    subsets = class_subsets(3, 2)
    assert vote(votes, subsets, 3).label.tolist() == [ABSTAIN]
    for strengths, winner in (([5, 9, 7], 2), ([9, 5, 7], 0), ([7, 7, 7], 0)):
        outcome = vote(
            votes, subsets, 3, ties=MARGIN, evidence=np.array([strengths]).__getitem__, truth=np.array([winner])
        )
        assert outcome.label.tolist() == [winner]
        assert outcome.status.tolist() == ["oI'"], "statuses follow the paper's rule"
        assert outcome.unclassified.tolist() == [True]


def test_the_evidence_of_many_networks_is_added_up_exactly():
    """Two classes with 300 votes each; more evidence than 64 bits hold speaks for the second."""
    # 300 networks of 0 and 2, as many of 1 and 2: no network tells the two leaders apart.
    subsets = np.repeat([[0, 2], [1, 2]], 300, axis=0)
    votes = subsets[None, :, 0]
    evidence = np.where(votes == 1, 2**55 - 1, 1)
    outcome = vote(votes, subsets, 3, ties=MARGIN, evidence=evidence.__getitem__)
    assert outcome.dominant.tolist() == [[True, True, False]]
    assert outcome.label.tolist() == [1]


@given(st.integers(3, 6), st.integers(0, 2**32 - 1))
def test_every_row_has_exactly_one_status_and_it_agrees_with_the_label(n_classes, seed):
    rng = np.random.default_rng(seed)
    subsets = class_subsets(n_classes, 2)
    votes = np.take_along_axis(subsets[None], rng.integers(0, 2, (50, len(subsets), 1)), axis=2)[:, :, 0]
    truth = rng.integers(0, n_classes, 50)
    outcome = vote(votes, subsets, n_classes, truth=truth)
    assert outcome.counts.sum(axis=1).tolist() == [len(subsets)] * 50
    statuses = [LabelStatus(name) for name in outcome.status.tolist()]
    assert [status.correct for status in statuses] == (outcome.label == truth).tolist()
    assert [status.leaders == "o" for status in statuses] == outcome.unclassified.tolist()


def test_whatever_the_leaders_exactly_one_status_holds():
    cases = [("1", True, True), ("1", False, False)]
    cases += [("m", True, True), ("m", False, True), ("m", False, False), ("o", False, True), ("o", False, False)]
    for leaders, correct, among in cases:
        fitting = [
            status
            for status in LabelStatus
            if (status.leaders, status.correct) == (leaders, correct) and status.among in (None, among)
        ]
        assert len(fitting) == 1, (leaders, correct, among)
    assert len(cases) == len(LabelStatus)


def test_a_true_label_that_was_never_trained_is_incorrect():
    dominant = np.array([[True, False], [True, True]])
    assert label_statuses(np.array([0, ABSTAIN]), dominant, np.array([-1, -1]), 2).tolist() == ["1I", "mI''"]


# A network for some of the sets only.


@given(st.integers(2, 6), st.integers(2, 3), st.integers(0, 10_000))
@settings(max_examples=60)
def test_with_all_sets_shares_are_the_papers_counts(n_classes, size, seed):
    size = min(size, n_classes)
    rng = np.random.default_rng(seed)
    subsets = class_subsets(n_classes, size)
    votes = subsets[np.arange(len(subsets)), rng.integers(0, size, (20, len(subsets)))]
    strengths = rng.integers(0, 5, votes.shape)
    outcome = vote(votes, subsets, n_classes, ties=MARGIN, evidence=strengths.__getitem__)
    counts = np.stack([(votes == c).sum(axis=1) for c in range(n_classes)], axis=1)
    assert np.array_equal(outcome.dominant, counts == counts.max(axis=1, keepdims=True))
    for row in np.flatnonzero(outcome.unclassified):
        sums = [strengths[row, votes[row] == c].sum() for c in range(n_classes)]
        assert outcome.label[row] == max(np.flatnonzero(outcome.dominant[row]), key=lambda c: (sums[c], -c))


@given(st.lists(st.tuples(st.integers(1, 3000), st.integers(1, 3000)), min_size=2, max_size=6))
def test_shares_compare_as_fractions_do(pairs):
    counts, networks = np.array([[min(pair) for pair in pairs]]), np.array([max(pair) for pair in pairs])
    exact = [Fraction(int(c), int(n)) for c, n in zip(counts[0], networks, strict=True)]
    found = shares(counts, networks)[0]
    for a, b in combinations(range(len(pairs)), 2):
        assert (found[a] < found[b]) == (exact[a] < exact[b])
        assert (found[a] == found[b]) == (exact[a] == exact[b])


def test_a_class_in_few_networks_is_not_at_a_loss():
    # 0 meets 1, 2 and 3; 3 meets only 0, and wins that.
    subsets = np.array([[0, 1], [0, 2], [0, 3]])
    outcome = vote(np.array([[0, 0, 3]]), subsets, 4)
    assert outcome.counts.tolist() == [[2, 0, 0, 1]]
    assert outcome.label.tolist() == [3]
    assert memberships(subsets, 4).tolist() == [3, 1, 1, 1]


def test_two_leaders_that_never_met_are_told_apart_by_evidence_per_network():
    subsets = np.array([[0, 1], [1, 2], [2, 3], [3, 4]])
    # 0 wins its only network; 3 wins both of its own; 0 and 3 have no network of their own.
    votes = np.array([[0, 1, 3, 3]])
    counts = vote(votes, subsets, 5).counts
    assert counts.tolist() == [[1, 1, 0, 2, 0]]
    paper = vote(votes, subsets, 5, truth=np.array([3]))
    assert (paper.label[0], paper.unclassified[0], paper.status[0]) == (ABSTAIN, True, "mI'")
    # 5 against (3 + 6) / 2, then against (3 + 8) / 2.
    assert vote(votes, subsets, 5, ties=MARGIN, evidence=np.array([[5, 9, 3, 6]]).__getitem__).label.tolist() == [0]
    assert vote(votes, subsets, 5, ties=MARGIN, evidence=np.array([[5, 9, 3, 8]]).__getitem__).label.tolist() == [3]


def test_two_leaders_that_met_are_told_apart_by_their_network():
    # 0 and 2 both win two of three; their own network says 2, whatever the evidence.
    subsets = np.array([[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]])
    outcome = vote(
        np.array([[0, 2, 0, 1, 2]]), subsets, 4, ties=MARGIN, evidence=np.array([[9, 1, 9, 1, 1]]).__getitem__
    )
    assert np.flatnonzero(outcome.dominant[0]).tolist() == [0, 2]
    assert outcome.label.tolist() == [2]


# Decision values agree with labels, for every vote there can be.


def check_all_votes(subsets, classes, *, abstaining, ties):
    """Every combination of votes with several kinds of evidence: equal, none, random, and nearly equal."""
    subsets = np.array(subsets)
    choices = [[*members, *([ABSTAIN] if abstaining else [])] for members in subsets.tolist()]
    every = np.array(list(product(*choices)))
    rng = np.random.default_rng(len(every))
    nearly = 2**54 + rng.integers(0, 2, every.shape)
    for evidence in (np.ones_like(every), np.zeros_like(every), rng.integers(0, 2**31, every.shape), nearly):
        outcome = vote(every, subsets, classes, ties=ties, evidence=evidence.__getitem__)
        values = class_decisions(outcome, every, evidence, subsets)
        labelled = outcome.label != ABSTAIN
        assert labelled.all() or not ties.labels_every_row
        assert np.array_equal(values.argmax(axis=1)[labelled], outcome.label[labelled])
        # Fewer votes are never made up for by evidence.
        standing = outcome.counts / np.bincount(subsets.reshape(-1), minlength=classes)
        rows, better, worse = np.nonzero(standing[:, :, None] > standing[:, None, :] + 1e-9)
        assert (values[rows, better] > values[rows, worse]).all()


@pytest.mark.parametrize("ties", TIES.values(), ids=TIES)
@pytest.mark.parametrize("classes", [3, 4, 5])
def test_all_pairs(classes, ties):
    check_all_votes(list(combinations(range(classes), 2)), classes, abstaining=False, ties=ties)


@pytest.mark.parametrize("ties", TIES.values(), ids=TIES)
@pytest.mark.parametrize(
    ("subsets", "classes"),
    [
        (list(combinations(range(4), 3)), 4),
        ([(0, 1, 2)], 3),
        ([(0, 1, 2), (2, 3, 4), (1, 2, 3), (0, 3, 4)], 5),
    ],
)
def test_networks_that_may_abstain(subsets, classes, ties):
    check_all_votes(subsets, classes, abstaining=True, ties=ties)


@pytest.mark.parametrize("ties", TIES.values(), ids=TIES)
def test_classes_with_different_numbers_of_networks(ties):
    subsets = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (3, 4), (2, 5), (4, 5)]
    check_all_votes(subsets, 6, abstaining=False, ties=ties)


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
