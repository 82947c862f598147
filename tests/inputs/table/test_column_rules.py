"""Rules: which are found, and that they are on exactly if all of their conditions hold."""

import json

import numpy as np
import pandas as pd
import pytest
from mixed_tables import new_rows, patients, wild_readings
from soft_margins import soft_margins

from bemi import FewBitClassifier, TableBits
from bemi.inputs.fixed_point import MISSING

X, RISK = patients(200)
Y = (np.median(RISK) < RISK).astype(int)


def evaluated(condition, readings, columns):
    """Whether a condition in words holds, on readings of the columns."""
    name, *_, test, limit = condition.replace(" missing", " is missing").replace("not is", "not").split()
    place = [column.name for column in columns].index(name)
    own, column = readings[:, place], columns[place]
    if limit == "missing":
        return (own == MISSING) != (test == "not")
    found = column.levels.index(limit) if column.levels else round(float(limit) * 10**column.decimals)
    return {">=": own >= found, "<": own < found, "=": own == found, "!=": own != found}[test]


def test_a_rule_is_on_exactly_if_all_of_its_conditions_hold():
    named = X.assign(ward=X["ward"].str.replace(" ", "-"))
    transform = TableBits(rules=60, values=True).fit(named, Y)
    names = transform.output_names()
    rules = [name for name in names if " and " in name]
    assert len(rules) == 60
    for readings in (transform.fixed_point_inputs(new_rows(100)), wild_readings(transform, 300)):
        outputs = transform.from_fixed_point_inputs(readings)
        for rule in rules:
            conditions = [evaluated(c, readings, transform.columns_) for c in rule.split(" and ")]
            on = np.logical_and.reduce(conditions)
            assert np.array_equal(outputs[:, names.index(rule)], np.where(on, transform.level_, -transform.level_))


def test_rules_tell_what_no_column_tells_alone():
    rng = np.random.default_rng(1)
    rows = pd.DataFrame(rng.uniform(-1, 1, (400, 4)), columns=list("abcd"))
    labels = (rows["a"] * rows["c"] > 0).astype(int)
    scores = [
        soft_margins(time_limit=3.0, weight_bound=7, inputs=TableBits(rules=rules))
        .fit(rows[:200], labels[:200])
        .score(rows[200:], labels[200:])
        for rules in (0, 32)
    ]
    assert scores[0] < 0.65
    assert scores[1] > 0.85


def test_parameters_give_them_back():
    transform = TableBits(rules=24, similarities=4).fit(X, Y)
    again = TableBits.from_parameters(json.loads(json.dumps(transform.parameters())))
    assert again.output_names() == transform.output_names()
    assert np.array_equal(again.transform(X), transform.transform(X))
    assert TableBits().fit(X).parameters().keys() == transform.parameters().keys() - {"rules"}


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([[[0, ">=", 3], [10**6, ">=", 3]]], "column of a condition must be an integer"),
        ([[[0, ">=", 3]]], "2 to 16 conditions"),
        ([[[0, ">=", 3], [4, ">=", 1]]], "thresholds of columns in order only"),
        ([[[0, ">=", 3], [0, "=", 1]]], "level of a condition"),
        ([[[0, ">=", 3], [4, "=", 9]]], "level of a condition"),
        ([[[0, ">=", 3], [0, "~", 1]]], "a column, a test and a reading"),
        (7, "a list of at most"),
    ],
)
def test_damaged_rules_are_refused(rules, message):
    with pytest.raises(ValueError, match=message):
        TableBits.from_parameters(TableBits(rules=2).fit(X, Y).parameters() | {"rules": rules})


def test_rules_need_labels_and_are_not_monotone():
    with pytest.raises(ValueError, match="rules are chosen by the labels: give them to fit, too"):
        TableBits(rules=2).fit(X)
    with pytest.raises(ValueError, match=r"rules are about several columns, .*; use rules=0"):
        TableBits(rules=40).fit(X, Y).monotone_inputs(0)
    candidates = FewBitClassifier(monotone={"age": 1}).choose(X, Y).accuracies
    assert not any("rules" in name or "similarities" in name for name in candidates)


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
    smaller = [v for n, v in accuracies.items() if n.startswith(f"{kind}, C") and "= 30" not in n and n not in beyond]
    assert accuracies[f"{kind}, C = 30"] > max(smaller)
