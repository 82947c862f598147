"""Means and paired differences, against scipy's paired test."""

import json

import numpy as np
import pytest
from bemi_lab.experiments.folder import NoResults
from bemi_lab.experiments.results import interval
from bemi_lab.experiments.tabular.results import read
from scipy import stats

RUN = {"experiment": "tables", "settings": {"dataset": "tables"}, "visits": []}


def write(folder, **measurements):
    """A run whose systems have these accuracies, by split, table and sample."""
    (folder / "results").mkdir()
    (folder / "run.json").write_text(json.dumps(RUN))
    for system, values in measurements.items():
        lines = [{"split": s, "table": t, "sample": i, "accuracy": a} for (s, t, i), a in values.items()]
        (folder / "results" / f"{system}.json").write_text(json.dumps({"system": system, "measurements": lines}))
    return read(folder)


def test_tables_count_alike_however_many_samples_they_have(tmp_path):
    values = {("fold", "iris", 0): 0.9, ("fold", "iris", 1): 0.7, ("fold", "wine", 0): 0.6, ("other", "wine", 0): 0.1}
    run = write(tmp_path, ours=values)
    assert run.by_table("ours", "fold", "accuracy", ["iris", "wine", "glass"]) == pytest.approx(
        {"iris": 0.8, "wine": 0.6}
    )
    assert run.mean("ours", "fold", "accuracy", ["iris", "wine"]) == pytest.approx(0.7)
    assert run.mean("ours", "fold", "auc", ["iris", "wine"]) is None
    assert run.has("ours", "other")
    assert not run.has("theirs", "fold")


def test_differences_are_paired_by_sample(tmp_path):
    ours = {("fold", "iris", 0): 0.9, ("fold", "iris", 1): 0.7, ("fold", "wine", 0): 0.6}
    theirs = {("fold", "iris", 1): 0.5, ("fold", "iris", 2): 0.1, ("fold", "glass", 0): 0.6}
    run = write(tmp_path, ours=ours, theirs=theirs)
    found = run.differences("ours", "theirs", "fold", "accuracy", ["iris", "wine", "glass"])
    assert found == pytest.approx({"iris": 0.2})


def test_the_interval_is_that_of_a_paired_t_test():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=14), rng.normal(size=14)
    found = interval((a - b).tolist())
    expected = stats.ttest_rel(a, b).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.mean == pytest.approx(np.mean(a) - np.mean(b))


def test_an_interval_of_one_table_or_none():
    assert interval([]) is None
    only = interval([2.0])
    assert (only.mean, only.low, only.high) == (2, 2, 2)


def test_a_run_without_results(tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    with pytest.raises(NoResults, match="no finished result yet"):
        read(tmp_path)
