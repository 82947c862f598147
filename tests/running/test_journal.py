"""Finished trainings on disk come back as they were, or not at all."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from bemi.limits import Limits
from bemi.problem import Problem
from bemi.running import Journal
from bemi.training import train


@pytest.fixture(scope="module")
def training():
    rng = np.random.default_rng(3)
    problem = Problem(rng.integers(0, 20, (8, 6)), np.repeat([[1], [-1]], 4, axis=0), (2,), 2)
    return train(problem, time_limit=None, limits=Limits(nodes=50))


def test_a_training_comes_back_whole(training, tmp_path):
    journal = Journal(tmp_path / "new" / "folder")
    journal.write("k", training)
    again = journal.read("k")
    assert again.network == training.network
    assert list(again.reports) == ["sm", "mm", "mw"]
    for stage, report in training.reports.items():
        assert vars(again.reports[stage]) == vars(report) | {"certificate": _as_json(report.certificate)}
    assert journal.read("other") is None


def test_what_was_added_comes_back(training, tmp_path):
    journal = Journal(tmp_path)
    journal.write("k", replace(training, added=(1, 4), rounds=3, violated=2))
    again = journal.read("k")
    assert (again.added, again.rounds, again.violated) == ((1, 4), 3, 2)
    journal.write("k", training)
    again = journal.read("k")
    assert (again.added, again.rounds, again.violated) == ((), 1, 0)


def test_the_same_training_gives_the_same_bytes(training, tmp_path):
    journal = Journal(tmp_path)
    journal.write("k", training)
    first = journal.path("k").read_bytes()
    journal.write("k", training)
    assert journal.path("k").read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["k.json.gz"]


def _as_json(certificate):
    return json.loads(json.dumps(certificate))


def _cut(content):
    return content[: len(content) // 2]


def _flipped(content):
    return content[:-12] + bytes([content[-12] ^ 1]) + content[-11:]


def _without_weights(content):
    record = json.loads(gzip.decompress(content))
    record["weights"].pop()
    return gzip.compress(json.dumps(record).encode())


def _weight_beyond_the_bound(content):
    record = json.loads(gzip.decompress(content))
    record["weights"][0] = 99
    return gzip.compress(json.dumps(record).encode())


def _of_another_format(content):
    record = json.loads(gzip.decompress(content))
    record["format"] += 1
    return gzip.compress(json.dumps(record).encode())


def _bound_that_is_no_number(content):
    record = json.loads(gzip.decompress(content))
    record["stages"][0]["bound"] = "1/0"
    return gzip.compress(json.dumps(record).encode())


DAMAGES = [_cut, _flipped, _without_weights, _weight_beyond_the_bound, _of_another_format, _bound_that_is_no_number]


@pytest.mark.parametrize("damage", [*DAMAGES, lambda _: b""])
def test_a_damaged_file_is_noticed(damage, training, tmp_path):
    journal = Journal(tmp_path)
    journal.write("k", training)
    journal.path("k").write_bytes(damage(journal.path("k").read_bytes()))
    with pytest.warns(RuntimeWarning, match="damaged and will be replaced"):
        assert journal.read("k") is None


def test_a_file_under_another_name_is_noticed(training, tmp_path):
    journal = Journal(tmp_path)
    journal.write("k", training)
    journal.path("k").rename(journal.path("l"))
    with pytest.warns(RuntimeWarning, match="the file belongs to another task"):
        assert journal.read("l") is None
