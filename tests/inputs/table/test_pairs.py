"""Pairs of bits: which are found, and that they are on exactly if both bits are."""

import json

import numpy as np
import pandas as pd
import pytest
from mixed_tables import new_rows, patients, wild_readings
from soft_margins import soft_margins

from bemi import FewBitClassifier, TableBits

X, RISK = patients(200)
Y = (np.median(RISK) < RISK).astype(int)


def test_a_pair_is_on_exactly_if_both_of_its_bits_are():
    transform = TableBits(pairs=40, values=True).fit(X, Y)
    names = transform.output_names()
    pairs = [name for name in names if " and " in name]
    assert len(pairs) == 40
    for readings in (transform.fixed_point_inputs(new_rows(100)), wild_readings(transform, 300)):
        outputs = transform.from_fixed_point_inputs(readings)
        for pair in pairs:
            first, second = (outputs[:, names.index(name)] > 0 for name in pair.split(" and "))
            found = outputs[:, names.index(pair)]
            assert np.array_equal(found, np.where(first & second, transform.level_, -transform.level_))


def test_pairs_tell_what_no_column_tells_alone():
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.uniform(-1, 1, (400, 4)), columns=list("abcd"))
    labels = (rows["a"] * rows["c"] > 0).astype(int)
    scores = [
        soft_margins(time_limit=3.0, weight_bound=7, inputs=TableBits(pairs=pairs))
        .fit(rows[:200], labels[:200])
        .score(rows[200:], labels[200:])
        for pairs in (0, 20)
    ]
    assert scores[0] < 0.65
    assert scores[1] > 0.85
    found = [name for name in TableBits(pairs=5).fit(rows, labels).output_names() if " and " in name]
    assert all(name.startswith("a >= ") and " and c >= " in name for name in found)


def test_parameters_give_them_back():
    transform = TableBits(pairs=12, similarities=4).fit(X, Y)
    again = TableBits.from_parameters(json.loads(json.dumps(transform.parameters())))
    assert again.output_names() == transform.output_names()
    assert np.array_equal(again.transform(X), transform.transform(X))
    assert TableBits().fit(X).parameters().keys() == transform.parameters().keys() - {"pairs"}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[0, 10**6]], "a bit of a pair must be an integer"),
        ([[0]], "a pair must have two bits"),
        ([[0, 1]], "bits of two columns"),
        (7, "a list of at most"),
    ],
)
def test_damaged_pairs_are_refused(pairs, message):
    with pytest.raises(ValueError, match=message):
        TableBits.from_parameters(TableBits(pairs=2).fit(X, Y).parameters() | {"pairs": pairs})


def test_pairs_need_labels_and_are_not_monotone():
    with pytest.raises(ValueError, match="pairs of bits are chosen by the labels: give them to fit, too"):
        TableBits(pairs=2).fit(X)
    with pytest.raises(ValueError, match=r"pairs of bits grow with two columns, .*; use pairs=0"):
        TableBits(pairs=40).fit(X, Y).monotone_inputs(0)
    candidates = FewBitClassifier(monotone={"age": 1}).choose(X, Y).accuracies
    assert not any("pairs" in name or "similarities" in name for name in candidates)


def spiral(rows=160):
    rng = np.random.default_rng(0)
    angle, ring = rng.uniform(0, 6, rows), rng.integers(0, 2, rows)
    return ((angle + 3 * ring)[:, None] * np.c_[np.cos(angle), np.sin(angle)]).round(2), ring


def test_explainable_models_hold_no_training_rows():
    choice = FewBitClassifier().choose(*spiral())
    assert "similarities to training rows" in choice.name
    assert "points against" in choice.reason, "why training rows are in the model"
    plain = FewBitClassifier(inputs="explainable").choose(*spiral())
    assert not any("similarities" in name for name in plain.accuracies)
    assert all(
        plain.accuracies[name] == choice.accuracies[name] for name in plain.accuracies.keys() & choice.accuracies
    )


def test_training_rows_are_kept_only_for_more_than_a_standard_error():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(60, 2)).round(2)
    labels = (rows[:, 0] + rng.normal(0, 0.6, 60) > 0).astype(int)
    choice = FewBitClassifier().choose(rows, labels)
    best = max(choice.accuracies, key=choice.accuracies.get)
    assert "similarities" in best, "by chance they look better"
    assert "similarities" not in choice.name
    assert f"{best} scored +" in choice.reason or "similarities" in choice.reason
    assert "too little to change" in choice.reason


def test_larger_penalties_are_tried_where_the_largest_is_the_best():
    accuracies = FewBitClassifier(inputs="explainable").choose(*spiral()).accuracies
    beyond = [name for name in accuracies if float(name.rpartition("= ")[2]) > 30]
    assert beyond
    (kind,) = {name.rpartition(",")[0] for name in beyond}
    assert accuracies[f"{kind}, C = 30"] > max(v for n, v in accuracies.items() if "= 30" not in n and n not in beyond)
