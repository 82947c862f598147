"""Outcomes and reports of stages."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from bemi import Network
from bemi.limits import Deadline
from bemi.problem import Problem
from bemi.stages import Outcome, StageResult

PROBLEM = Problem(np.array([[1, 0], [0, 1], [1, 1]]), np.array([[1], [-1], [1]]))
NETWORK = Network((np.array([[1], [0]]),))


def test_rationals_of_a_report_print_as_numbers_and_stay_exact():
    reached, bound = Fraction(1234567, 65536), Fraction(1, 3)
    clock = Deadline()
    report = StageResult.of(
        "soft", PROBLEM, NETWORK, reached, bound, clock=clock, proof="certified", outcome=Outcome.LIMIT
    )
    assert f"{report.objective:9}|{report.objective:.2f}|{report.bound}" == "   18.838|18.84|0.333333"
    assert "objective 18.838, bound 0.333333," in repr(report)
    assert (report.objective, report.bound) == (reached, bound)
    assert isinstance(pickle.loads(pickle.dumps(report)).bound, Fraction)


def test_every_outcome_has_a_sentence_and_a_label_of_its_own():
    assert len({outcome.sentence for outcome in Outcome}) == len(Outcome)
    for outcome in Outcome:
        assert outcome.label == outcome.label.lower()
        assert Outcome.from_label(outcome.label) is outcome
    for unknown in ("tired", "OPTIMAL", None):
        with pytest.raises(ValueError, match="unknown outcome"):
            Outcome.from_label(unknown)


@pytest.mark.parametrize(
    ("objective", "bound", "gap", "outcome"),
    [
        (10, 10, 0.0, Outcome.OPTIMAL),
        (10, 11, 0.1, Outcome.WITHIN_GAP),
        (10, 12, 0.1, Outcome.LIMIT),
        (Fraction(1, 2), Fraction(1, 4), 0.25, Outcome.WITHIN_GAP),
        (0, 1, 0.5, Outcome.LIMIT),
    ],
)
def test_what_a_bound_proves(objective, bound, gap, outcome):
    assert Outcome.of(objective, bound, gap, Outcome.LIMIT) is outcome


def test_a_report_counts_links_rows_and_seconds_itself():
    clock = Deadline(began=Deadline().began - 5.0)
    report = StageResult.of("x", PROBLEM, NETWORK, 4, 5, clock=clock, proof="solver", outcome=Outcome.LIMIT)
    assert (report.links, report.rows) == (1, 3)
    assert 5.0 <= report.seconds < 6.0
    assert report.ran
    assert report.gap == 0.25
    assert report.message == Outcome.LIMIT.sentence


def test_a_message_of_its_own_goes_before_the_outcome_and_success_needs_none():
    settings = {"clock": Deadline(), "proof": "certified"}
    assert StageResult.of("x", PROBLEM, NETWORK, 4, 4, outcome=Outcome.OPTIMAL, **settings).message == ""
    told = StageResult.of("x", PROBLEM, NETWORK, 4, 9, outcome=Outcome.LOCAL, message="words", **settings)
    assert told.message == "words"
    assert StageResult.of("x", PROBLEM, NETWORK, 4, 9, outcome=Outcome.LOCAL, message="", **settings).message == ""


def test_a_stage_that_could_not_run_says_why():
    report = StageResult.unchanged("x", PROBLEM, NETWORK, clock=Deadline(), outcome=Outcome.NO_TIME)
    assert not report.ran
    assert report.gap == math.inf
    assert (report.objective, report.bound, report.proof) == (None, None, "none")
    assert report.message == "no time was left for it"
    assert StageResult.unchanged("x", PROBLEM, None, clock=Deadline(), outcome=Outcome.NOT_FOUND).links == 0
