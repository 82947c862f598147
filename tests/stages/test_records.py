"""Reports of stages as plain data, and back."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from bemi.limits import Limits
from bemi.problem import Problem
from bemi.stages import Outcome, StageResult
from bemi.stages.result import stage_record, stage_result
from bemi.training import train

DATA = np.array([[9, 1, 2], [8, 2, 1], [1, 9, 2], [2, 8, 3]])
CODES = np.array([[1], [1], [-1], [-1]])


def trained():
    settings = {"time_limit": None, "limits": Limits(nodes=20)}
    yield train(Problem(DATA, CODES, (2,)), **settings)
    yield train(Problem(DATA, CODES, (), 3), ("soft", "mw"), **settings)


def same(a: StageResult, b: StageResult) -> bool:
    return all(getattr(a, field.name) == getattr(b, field.name) for field in fields(StageResult))


def test_a_record_is_plain_data_and_gives_the_report_back():
    for training in trained():
        for report in training.reports.values():
            record = json.loads(json.dumps(stage_record(report)))
            assert same(stage_result(record, report.network, report.seconds, report.certificate), report)


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_is_written_and_read(outcome):
    report = replace(next(trained()).reports["sm"], outcome=outcome)
    record = stage_record(report)
    assert record["outcome"] == outcome.name.lower()
    assert stage_result(record, None, 0.0, None).outcome is outcome


def test_an_unknown_outcome_is_refused():
    record = stage_record(next(trained()).reports["sm"])
    with pytest.raises(ValueError, match="unknown outcome 'tired'"):
        stage_result(record | {"outcome": "tired"}, None, 0.0, None)


def test_a_compact_training_says_the_same():
    for training in trained():
        small = training.compacted()
        assert all(same(small.reports[stage], report) for stage, report in training.reports.items())
