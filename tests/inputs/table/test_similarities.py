"""Similarities to training rows, beside their definition."""

import json

import numpy as np
import pandas as pd
import pytest
from soft_margins import soft_margins

from bemi import TableBits
from bemi.inputs.table.cells import ENTRIES, STEPS, Similarities

TABLE = pd.DataFrame(
    {
        "size": [1.5, 2.0, np.nan, 8.0, 9.5, 3.0, 7.0, 2.5],
        "kind": ["a", "b", "a", "c", "c", None, "b", "a"],
    }
)


def by_hand(units, landmarks, halving, peak):
    rows = []
    for u in units.tolist():
        distances = [sum(abs(x - y) for x, y in zip(u, a, strict=True)) for a in landmarks.tolist()]
        steps = [min(STEPS * d // halving, ENTRIES - 1) for d in distances]
        rows.append([round(peak * 2 ** (-s / STEPS)) for s in steps])
    return rows


@pytest.mark.parametrize("values", [False, True])
def test_similarities_by_hand(values):
    transform = TableBits(thresholds=0, values=values, similarities=5).fit(TABLE)
    likeness = transform.similarities_
    assert len(likeness.landmarks) == 5
    readings = transform.fixed_point_inputs(TABLE)
    found = transform.transform(TABLE)[:, transform.like_outputs]
    assert found.tolist() == by_hand(transform.units(readings), likeness.landmarks, likeness.halving, likeness.peak)
    # Each landmark is a training row, and its own similarity is the peak.
    assert (found.max(axis=0) == likeness.peak).all()
    assert likeness.peak == 127 or values
    assert [name for name in transform.output_names() if name.startswith("like")] == [
        f"like row {i}" for i in range(1, 6)
    ]


def test_beside_other_inputs_they_are_as_long():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    transform = TableBits(values=True, similarities=60).fit(X)
    outputs = transform.transform(X).astype(float)
    like = np.zeros(outputs.shape[1], dtype=bool)
    like[transform.like_outputs] = True
    assert 0.95 < (outputs[:, like] ** 2).sum() / (outputs[:, ~like] ** 2).sum() < 1.05


def test_they_tell_what_no_column_tells_alone():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (400, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    settings = {"weight_bound": 7, "time_limit": 3.0}
    scores = [
        soft_margins(**settings, inputs=TableBits(similarities=s)).fit(X[:150], y[:150]).score(X[150:], y[150:])
        for s in (0, 150)
    ]
    assert scores[0] < 0.65
    assert scores[1] > 0.85


def test_parameters_give_them_back():
    transform = TableBits(similarities=4).fit(TABLE)
    again = TableBits.from_parameters(json.loads(json.dumps(transform.parameters())))
    assert np.array_equal(again.transform(TABLE), transform.transform(TABLE))
    low, high = transform.output_bounds(0, 0)
    assert (low <= transform.transform(TABLE)).all()
    assert (transform.transform(TABLE) <= high).all()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ([0, 127, [[1]]], "halving must be an integer"),
        ([5, 5000, [[1]]], "peak must be an integer"),
        ([5, 127, []], "need a landmark"),
        ([5, 127, [[1, 2]]], "one value per unit"),
        ([5, 127, [[128]]], "a landmark's value must be an integer"),
        ([5, 127], "a list of their parts"),
    ],
)
def test_damaged_records_are_refused(record, message):
    with pytest.raises(ValueError, match=message):
        Similarities.from_record(record, np.array([-127]), np.array([127]))


def test_they_are_not_monotone():
    with pytest.raises(ValueError, match="similarities to training rows are not monotone"):
        TableBits(similarities=4).fit(TABLE).monotone_inputs(0)
