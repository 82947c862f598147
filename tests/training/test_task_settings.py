"""From parameters to the settings of tasks and to what a model records."""

import json

import numpy as np
import pytest

from bemi.settings import RECORDED, SETTINGS
from bemi.training.plan import recorded, seed_of, task_settings


def given(**changes):
    return {name: setting.default for name, setting in SETTINGS.items()} | {"estimator": "bemi"} | changes


@pytest.mark.parametrize(("state", "seed"), [(None, 0), (7, 7), (np.int64(7), 7), (-1, 2**31 - 1), (2**40 + 3, 3)])
def test_seeds(state, seed):
    assert seed_of(state) == seed


def test_a_generator_gives_another_seed_each_time():
    state = np.random.RandomState(0)
    first, second = seed_of(state), seed_of(state)
    assert first != second
    assert seed_of(np.random.RandomState(0)) == first


def test_equal_numbers_are_the_same_task():
    one, other = (task_settings(given(C=C, stages=("soft",))) for C in (1, np.float64(1.0)))
    assert one == other
    assert type(one["parameters"]["C"]) is float
    assert task_settings(given(time_limit=[1, np.int64(2), 3]))["time_limit"] == (1.0, 2.0, 3.0)


def test_records_are_plain_data():
    found = recorded(given(hidden_layers=[3], class_weight={np.int64(1): np.float32(2)}, random_state=np.int64(4)))
    assert set(found) == {"estimator", *RECORDED}
    assert found["hidden_layers"] == (3,)
    json.dumps(found["class_weight"])
    assert (found["class_weight"], found["random_state"]) == ({1: 2.0}, 4)
    assert recorded(given(random_state=np.random.RandomState(0)))["random_state"] is None
