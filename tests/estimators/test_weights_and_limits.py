"""Row weights, class weights, two hinges, limits on links and monotone features, through the classifier."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import recall_score
from soft_margins import soft_margins

from bemi import BeMiClassifier, ConstantInput, IntegerHog, NoiseScenarios, TableBits, load, save, verify

SOFT = {"weight_bound": 3, "node_limit": 50, "time_limit": None}


def table(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(-20, 21, (rows, 4))
    return X, (X[:, 0] - X[:, 1] + rng.normal(0, 12, rows) > 0).astype(int)


def soft(**parameters):
    return soft_margins(**SOFT | {"inputs": ConstantInput()} | parameters)


@pytest.mark.parametrize("engine", ["decomposition", "monolithic"])
def test_a_weight_is_a_number_of_equal_rows(engine):
    X, y = table(30)
    weights = np.random.default_rng(1).integers(0, 4, 30)
    model = soft(engine=engine, gap=0.0, inputs=None)  # a centre is the median of rows, whatever their weight
    weighted = model.fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    ours, theirs = weighted.reports_[0, 1]["soft"], repeated.reports_[0, 1]["soft"]
    assert ours.soft == theirs.soft
    assert ours.objective == theirs.objective
    assert ours.rows == np.count_nonzero(weights)
    assert weighted.selected_rows_.tolist() == np.flatnonzero(weights).tolist()


def test_rows_without_weight_have_no_influence_at_all():
    X, y = table()
    far = np.concatenate([X, np.full((5, 4), 9999)])
    weights = np.repeat([1, 0], [60, 5])
    for frame in (far, pd.DataFrame(far, columns=list("abcd"))):
        with_them = soft(input_scaling="per-feature").fit(frame, np.append(y, [1] * 5), sample_weight=weights)
        without = soft(input_scaling="per-feature").fit(frame[:60], y)
        assert with_them.networks_ == without.networks_
        assert with_them.training_digest_ == without.training_digest_


def test_a_class_without_weight_is_no_class():
    X, y = table()
    y[:20] = 2
    model = soft().fit(X, y, sample_weight=(y != 2).astype(float))
    assert model.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="only one class"):
        soft().fit(X, y, sample_weight=y == 2)


def test_equal_weights_scale_the_penalty():
    X, y = table()
    doubled, priced = soft(C=4.0).fit(X, y, sample_weight=np.full(60, 2.5)), soft(C=10.0).fit(X, y)
    assert doubled.networks_ == priced.networks_


def test_balanced_classes_are_recalled():
    """At 95:5 nothing is won by the rare class unless it weighs more."""
    X, y = make_classification(1500, 8, n_informative=4, weights=[0.95], class_sep=0.8, flip_y=0.02, random_state=2)
    recalls = []
    for class_weight in (None, "balanced"):
        model = soft_margins(
            **SOFT | {"weight_bound": 7}, inputs=ConstantInput(), class_weight=class_weight, C=1.0
        ).fit(X[:700], y[:700])
        recalls.append(recall_score(y[700:], model.predict(X[700:])))
    assert recalls[1] > recalls[0] + 0.2
    assert recalls[1] > 0.6


def test_class_weights_multiply_row_weights():
    X, y = table()
    rows = np.random.default_rng(0).random(60) + 0.5
    by_class = soft(class_weight={1: 3.0}).fit(X, y, sample_weight=rows)
    by_row = soft().fit(X, y, sample_weight=rows * np.where(y == 1, 3.0, 1.0))
    assert by_class.training_digest_ == by_row.training_digest_
    assert by_class.networks_ == by_row.networks_
    with pytest.raises(ValueError, match="class_weight names 5, which is not a class"):
        soft(class_weight={5: 1.0}).fit(X, y)


@pytest.mark.parametrize("mw_loss", [None, 0.01])
def test_links_are_limited_and_the_constant_does_not_count(mw_loss):
    X, _ = table()
    y = X.sum(axis=1) > 25
    for most in (1, 2, 3, 100):
        model = soft(max_links=most, mw_loss=mw_loss, inputs=ConstantInput(60)).fit(X, y)
        weights = model.networks_[False, True].weights[0][:, 0]
        assert np.count_nonzero(weights[:-1]) == min(4, most)
        assert weights[-1] != 0


def test_monotone_features_push_one_way_in_every_network():
    rng = np.random.default_rng(4)
    X = rng.integers(-20, 21, (90, 3))
    y = np.digitize(X[:, 0] + rng.normal(0, 15, 90), [-8, 8])
    frame = pd.DataFrame(X, columns=["dose", "age", "other"])
    for direction in (1, -1):
        model = soft(monotone={"dose": direction, 1: 1}).fit(frame, y)
        assert len(model.networks_) == 3
        for network in model.networks_.values():
            # Of two classes the earlier has the code +1.
            assert (network.weights[0][0] * direction <= 0).all()
            assert (network.weights[0][1] <= 0).all()
    against = soft(monotone={"dose": -1}).fit(frame, y)
    assert all(network.weights[0][0] == 0 for network in against.networks_.values()), "it would push the other way"


def test_monotone_bits_of_a_table(tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {"age": rng.integers(20, 80, 80), "pain": rng.choice(["none", "some", "much"], 80), "noise": rng.random(80)}
    )
    y = np.where(frame["age"] + rng.normal(0, 15, 80) > 50, "ill", "healthy")
    model = soft_margins(**SOFT, inputs=TableBits(4), monotone={"age": -1}, max_links=5, hinges=2)
    model.fit(frame, y)  # "ill" comes after "healthy", so age must not speak for it
    names = model.transform_.output_names()
    weights = model.networks_["healthy", "ill"].weights[0][:, 0]
    assert all(w >= 0 for w, name in zip(weights, names, strict=True) if name.startswith("age >="))
    assert sum(w != 0 for w, name in zip(weights, names, strict=True) if name != "constant") <= 5
    save(model, tmp_path / "m.bemi")
    assert verify(tmp_path / "m.bemi").certified["soft"] == 1
    copy = load(tmp_path / "m.bemi")
    assert (copy.monotone, copy.max_links) == ({"age": -1}, 5)
    assert copy.ensemble_.training.settings["hinges"] == 2
    with pytest.raises(ValueError, match="column 'pain' holds categories, which have no order"):
        model.set_params(monotone={"pain": 1}).fit(frame, y)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"monotone": {"age": 1}}, r"monotone names 'age', which is not a feature; positions are 0\.\.63"),
        ({"monotone": {64: 1}}, "monotone names 64, which is not a feature"),
        (
            {"monotone": {3: 1}, "inputs": IntegerHog()},
            "monotone has no meaning for IntegerHog, which mixes features",
        ),
    ],
)
def test_features_that_cannot_be_monotone_are_named(parameters, words):
    X = np.random.default_rng(0).integers(0, 256, (8, 64))
    with pytest.raises(ValueError, match=words):
        soft(**{"inputs": None} | parameters).fit(X, [0, 1] * 4)


def test_one_feature_has_one_direction():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="two directions for feature 1"):
        soft(monotone={"b": 1, 1: 1}).fit(frame, y)


def test_variants_weigh_as_much_as_their_rows(tmp_path):
    X, y = table(24)
    X = X + 20
    weights = np.random.default_rng(2).integers(1, 4, 24)
    model = soft(inputs=None, copies=NoiseScenarios(copies=4), C=50.0)
    model.fit(X, y, sample_weight=weights)
    kept = model.ensemble_.training.rows.weights
    assert len(kept) == len(model.training_rows_) > 24, "some variants were added"
    assert (kept[:24] == weights * 2**16).all()
    save(model, tmp_path / "m.bemi")
    assert verify(tmp_path / "m.bemi").networks == 1


def test_shards_and_the_journal_know_weights(tmp_path):
    X, y = table()
    y[:20] = 2
    weights = np.random.default_rng(3).integers(1, 4, 60)
    model = soft(run_dir=tmp_path)
    assert model.fit_shard(X, y, 1, 2, sample_weight=weights) == 2
    assert model.fit(X, y, sample_weight=weights).reused_networks_ == 2
    assert model.fit(X, y).reused_networks_ == 0
    other = soft(run_dir=tmp_path, monotone={0: 1}).fit(X, y, sample_weight=weights)
    assert other.reused_networks_ == 0
    keys = {task.key() for task in model.training_tasks(X, y, sample_weight=weights).values()}
    assert len(keys) == 3
    assert not keys & {task.key() for task in model.training_tasks(X, y).values()}


def test_what_weights_do_not_go_with_says_so():
    X, y = table()
    for model in (soft().fit(X, y, sample_weight=np.arange(60)), soft(class_weight="balanced").fit(X, y)):
        with pytest.raises(ValueError, match="classes cannot be added to networks that were trained with weights"):
            model.add_classes(X[:5], [7] * 5)


def test_limits_hold_for_added_classes():
    X, y = table()
    model = soft(monotone={0: 1}, max_links=2).fit(X, y).add_classes(X[:9] + 5, [7] * 9)
    assert len(model.networks_) == 3
    assert all(
        (n.weights[0][0] <= 0).all() and np.count_nonzero(n.weights[0][:-1]) <= 2 for n in model.networks_.values()
    )
    with pytest.raises(ValueError, match="trained with max_links=2, not 3; fit again"):
        model.set_params(max_links=3).add_classes(X[:5], [8] * 5)


def test_boosting_by_weights():
    X, y = table()
    boosted = AdaBoostClassifier(soft(C=100.0), n_estimators=3, random_state=0).fit(X, y)
    assert boosted.score(X, y) > 0.7


def test_the_picture_of_a_notebook_lists_parameters():
    for model in (BeMiClassifier(), soft(monotone={"age": 1}, class_weight={"a": 2.0}, max_links=5)):
        text = model._repr_html_()
        assert "time_limit" in text
        assert type(model).__name__ in text
