"""TableBits beside its definition, cell by cell."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from soft_margins import soft_margins

from bemi import TableBits, load, save, verify
from bemi.inputs.fixed_point import LARGEST_READING, MISSING
from bemi.inputs.table.columns import shortest_between, thresholds_of

TABLE = pd.DataFrame(
    {
        "age": [54.5, 61.0, np.nan, 40.0, 35.5, 70.0, 54.5, 48.0],
        "pain": ["none", "mild", "severe", None, "none", "mild", "none", "severe"],
        "sex": ["m", "f", "f", "m", "m", "m", "f", "f"],
        "smoker": [True, False, True, True, False, False, False, True],
        "site": ["only"] * 8,
    }
)
LABELS = np.array(["ill", "ill", "well", "well", "well", "ill", "ill", "well"])


def test_bits_of_every_kind_by_hand():
    transform = TableBits(thresholds=8).fit(TABLE)
    assert transform.output_names() == [
        *("age >= 38", "age >= 44", "age >= 50", "age >= 58", "age >= 66", "smoker"),
        *("pain = mild", "pain = none", "pain = severe", "sex = m", "age missing", "pain missing", "constant"),
    ]
    first, third = transform.transform(TABLE)[[0, 2]].tolist()
    assert first == [1, 1, 1, -1, -1, 1, -1, 1, -1, 1, -1, -1, 2]
    # A missing age is below every threshold.
    assert third == [-1, -1, -1, -1, -1, 1, -1, -1, 1, -1, 1, -1, 2]
    assert transform.fixed_point_inputs(TABLE)[2].tolist() == [MISSING, 2, 0, 1, 0]
    assert transform.constant_inputs == (12,)
    assert transform.monotone_inputs(0).tolist() == [1] * 5 + [0] * 8


@pytest.mark.parametrize(
    ("settings", "level", "constant"),
    [
        ({}, 1, 2),
        ({"values": True}, 32, 32),
        ({"values": True, "thresholds": 0}, 64, 64),
        ({"similarities": 3}, 1, 1),
    ],
)
def test_beside_bits_alone_the_constant_is_twice_as_large(settings, level, constant):
    transform = TableBits(**settings).fit(TABLE)
    (place,) = transform.constant_inputs
    assert (transform.level_, transform.constant_) == (level, constant)
    assert (transform.transform(TABLE)[:, place] == constant).all()
    assert [ends[place] for ends in transform.output_bounds(0, 0)] == [constant, constant]


def test_new_cells():
    transform = TableBits().fit(TABLE)
    new = pd.DataFrame(
        {"age": [1e300], "pain": ["unbearable"], "sex": [3], "smoker": [np.nan], "site": ["another"]}, dtype=object
    )
    assert transform.fixed_point_inputs(new).tolist() == [[LARGEST_READING, -1, -1, MISSING, -1]]
    named = dict(zip(transform.output_names(), transform.transform(new)[0].tolist(), strict=True))
    assert {name for name, bit in named.items() if bit > 0} == {
        *("age >= 38", "age >= 44", "age >= 50", "age >= 58", "age >= 66", "constant")
    }


def test_values_are_centred_scaled_and_zero_if_missing():
    transform = TableBits(thresholds=0, values=True).fit(TABLE)
    outputs = transform.transform(TABLE)
    assert transform.output_names()[:2] == ["age", "smoker"]
    ages = TABLE["age"].to_numpy()
    median = np.nanmedian(ages)
    reach = np.quantile(np.abs(ages - median)[~np.isnan(ages)], 0.98)
    expected = np.clip(np.where(np.isnan(ages), 0, (ages - median) * 127 / reach), -127, 127)
    assert np.abs(outputs[:, 0] - expected).max() <= 1
    low, high = transform.output_bounds(0, 0)
    assert (low <= outputs).all()
    assert (outputs <= high).all()
    assert set(np.abs(outputs[:, 2:]).ravel().tolist()) == {transform.level_}


numbers = st.lists(st.one_of(st.none(), st.integers(-50, 50).map(lambda n: n / 4)), min_size=4, max_size=30)


@given(numbers, st.integers(1, 6))
def test_thresholds_split_the_training_values_as_their_definition_says(cells, most):
    found = sorted(cell for cell in cells if cell is not None)
    distinct = sorted(set(found))
    if len(distinct) < 2:
        return
    table = pd.DataFrame({"x": pd.Series(cells, dtype=float)})
    transform = TableBits(thresholds=most).fit(table)
    (column,) = transform.columns_
    bits = transform.transform(table)[:, : len(column.thresholds)]
    cuts = []
    for place, threshold in enumerate(column.thresholds):
        below = [d for d in distinct if d < threshold / 10**column.decimals]
        cuts.append(len(below))
        assert bits[:, place].tolist() == [1 if c is not None and c not in below else -1 for c in cells]
    assert all(0 < cut < len(distinct) for cut in cuts)
    if len(distinct) - 1 <= most:
        assert cuts == list(range(1, len(distinct)))
    else:
        quantiles = np.quantile(found, np.arange(1, most + 1) / (most + 1))
        wanted = {min(sum(d <= q + 1e-9 for d in distinct), len(distinct) - 1) for q in quantiles}
        assert set(cuts) == {max(1, cut) for cut in wanted}


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**5))
def test_a_cut_is_inside_its_gap_and_no_shorter_one_is_near_the_middle(below, gap):
    above = below + gap
    cut = shortest_between(below, above)
    assert below < cut <= above

    def zeros(n):
        return 99 if n == 0 else len(str(n)) - len(str(n).rstrip("0"))

    quarter = gap // 4
    inside = range(below + 1 + quarter, above - quarter + 1)
    if len(inside) < 5000:
        assert zeros(cut) >= min(10, max(map(zeros, inside)))


def test_shifts_and_units_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).round(3)
    y = (X @ [1, -2, 0.5, 0] > 0.2).astype(int)
    settings = {"weight_bound": 7, "node_limit": 5, "time_limit": None}
    for transform in (TableBits(), TableBits(thresholds=0, values=True)):
        plain = soft_margins(**settings, inputs=transform).fit(X, y).predict(X)
        for moved in (X + 100, X * 1000, X * 0.001 - 7, X + np.array([0, 1e4, -50, 3])):
            again = soft_margins(**settings, inputs=clone(transform)).fit(moved, y)
            assert np.mean(again.predict(moved) == plain) >= 0.98


def test_columns_are_found_by_their_names():
    transform = TableBits().fit(TABLE)
    outputs = transform.transform(TABLE)
    assert np.array_equal(transform.transform(TABLE[TABLE.columns[::-1]]), outputs)
    with pytest.raises(ValueError, match=r"^column 'pain' is missing \(1 of 5 columns are\)$"):
        transform.transform(TABLE.drop(columns="pain"))
    with pytest.raises(ValueError, match=r"^column 'weight' was not in the training data; leave it out$"):
        transform.transform(TABLE.assign(weight=1))
    with pytest.raises(ValueError, match=r"^X has 2 features, but TableBits is expecting 5 features as input$"):
        transform.transform(np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"age": [np.inf] * 8}, "column 'age' is infinite in row 0"),
        ({"age": pd.date_range("2024-01-01", periods=8)}, "column 'age' holds dates"),
        ({"pain": [f"id{i}" for i in range(8)] * 200, "age": 1.0}, "no column carries information"),
    ],
)
def test_bad_columns_are_named(cells, message):
    table = pd.DataFrame(cells) if "pain" in cells else TABLE.assign(**cells)
    if message.startswith("no"):
        table = pd.DataFrame({"a": [1.0] * 4, "b": [None] * 4})
    with pytest.raises(ValueError, match=message):
        TableBits().fit(table)


def test_text_where_numbers_were():
    transform = TableBits().fit(TABLE)
    with pytest.raises(ValueError, match=r"^column 'age' holds numbers, but row 3 has 'old'; correct it"):
        transform.transform(TABLE.assign(age=[1, 2, 3, "old", 5, 6, 7, 8]))


def test_kinds_that_are_said():
    codes = pd.DataFrame({"kind": [1, 2, 10, 2, 1, 10], "size": [5, 6, 7, 8, 9, 5]})
    transform = TableBits(categorical=["kind"]).fit(codes)
    assert transform.columns_[0].levels == ("1", "2", "10")
    assert TableBits(categorical=[0]).fit(codes).columns_ == transform.columns_
    assert TableBits().fit(codes).columns_[0].levels is None
    category = codes.assign(kind=codes["kind"].astype("category"))
    assert TableBits().fit(category).columns_[0].levels == ("1", "2", "10")
    with pytest.raises(ValueError, match=r"^categorical names 'colour', which is not a column; columns are 'kind'"):
        TableBits(categorical=["colour"]).fit(codes)
    with pytest.raises(ValueError, match=r"^column 'pain' holds numbers, but row 0 has 'none'"):
        TableBits(numeric=["pain"]).fit(TABLE)


@pytest.mark.parametrize("values", [False, True])
def test_parameters_give_the_transform_back(values):
    transform = TableBits(values=values).fit(TABLE)
    again = TableBits.from_parameters(json.loads(json.dumps(transform.parameters())))
    assert np.array_equal(again.transform(TABLE), transform.transform(TABLE))
    assert again.output_names() == transform.output_names()
    broken = transform.parameters()
    broken["columns"][0][3] = [5, 4]
    with pytest.raises(ValueError, match="thresholds must increase"):
        TableBits.from_parameters(broken)


def test_refitting_on_some_rows_is_fitting_on_them():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"a": rng.integers(0, 50, 80) / 10, "b": rng.choice(["x", "y", "z"], 80)})
    whole, part = TableBits(values=True).fit(table), TableBits(values=True).fit(table[:40])
    refitted = whole.refitted(whole.fixed_point_inputs(table)[:40])
    assert np.array_equal(refitted.transform(table), part.transform(table))


def test_alone_in_a_pipeline_and_in_a_classifier(tmp_path):
    pipeline = make_pipeline(TableBits(), LogisticRegression()).fit(TABLE, LABELS)
    assert pipeline.score(TABLE, LABELS) == 1
    assert pipeline[0].get_feature_names_out()[-1] == "constant"
    classifier = soft_margins(weight_bound=3, inputs=TableBits(), time_limit=2).fit(TABLE, LABELS)
    assert classifier.score(TABLE, LABELS) == 1
    save(classifier, tmp_path / "m.bemi")
    assert verify(tmp_path / "m.bemi").certified["soft"] == 1
    copy = load(tmp_path / "m.bemi")
    assert copy.predict(TABLE).tolist() == classifier.predict(TABLE).tolist()
    assert copy.feature_names_in_.tolist() == list(TABLE.columns)


def test_few_distinct_values_are_all_separated():
    assert thresholds_of(np.array([0, 0, 1, 1, 2]), 8) == [1, 2]
    assert thresholds_of(np.array([5, 5]), 8) == []
    assert thresholds_of(np.array([1, 2, 3]), 0) == []


def test_ordered_categories_keep_their_order():
    sizes = pd.Categorical(
        ["small", "large", "medium", None, "large", "small"], ["small", "medium", "large", "huge"], True
    )
    fitted = TableBits().fit(pd.DataFrame({"size": sizes}))
    assert fitted.output_names() == ["size >= medium", "size >= large", "size missing", "constant"]
    new = pd.DataFrame({"size": ["small", "medium", "large", None, "tiny"]})
    assert fitted.transform(new)[:, :2].tolist() == [[-1, -1], [1, -1], [1, 1], [-1, -1], [-1, -1]]
    again = TableBits.from_parameters(fitted.parameters())
    assert np.array_equal(again.transform(new), fitted.transform(new))
    assert fitted.monotone_inputs(0).tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_distinct_bits_tell_all_that_bits_tell_once(seed):
    rng = np.random.default_rng(seed)
    own = rng.integers(0, 4, 40)
    words = np.array(["a", "b", "c", "d"])
    table = pd.DataFrame(
        {
            "number": own,
            "twin": own * 2.5,
            "same": pd.Categorical(words[own], words, ordered=True),
            "word": words[rng.integers(0, 3, 40)],
            "mirror": own < 2,
            "one": np.where(own == 0, np.nan, 1.0 * own),
            "two": np.where(own == 0, np.nan, rng.normal(size=40)),
        }
    )
    every, distinct = TableBits().fit_transform(table), TableBits(distinct=True).fit(table)
    bits = distinct.transform(table)
    patterns = {tuple(column * column[0]) for column in every.T[:-1]}
    found = [tuple(column * column[0]) for column in bits.T[:-1]]
    assert len(found) == len(set(found))
    assert set(found) == patterns
    again = TableBits.from_parameters(distinct.parameters())
    assert again.output_names() == distinct.output_names()
    assert np.array_equal(again.transform(table), bits)


def test_bits_that_are_named_are_left_out():
    table = pd.DataFrame({"age": [31, 47, 58, 64], "colour": ["red", "blue", "green", "red"]})
    every = TableBits().fit(table)
    names = ["age >= 50", "colour = green"]
    some = TableBits(without=names).fit(table)
    assert set(every.output_names()) - set(some.output_names()) == set(names)
    kept = [place for place, name in enumerate(every.output_names()) if name not in names]
    assert np.array_equal(some.transform(table), every.transform(table)[:, kept])
    copy = TableBits.from_parameters(some.parameters())
    assert copy.output_names() == some.output_names()
