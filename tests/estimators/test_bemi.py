"""BeMiClassifier as users meet it."""

from __future__ import annotations

import pickle
import re
from copy import copy

import numpy as np
import pandas as pd
import pytest
from given_networks import give_networks
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from soft_margins import soft_margins

from bemi import BeMiClassifier, FewBitClassifier, ImageScenarios, IntegerHog, Network, NoiseScenarios, load, save
from bemi.augment import select_rows

FAST = {"hidden_layers": (), "node_limit": 5, "time_limit": None}


def few_digits(n_classes: int = 4, per_class: int = 6):
    X, y = load_digits(n_class=n_classes, return_X_y=True)
    chosen = np.concatenate([np.flatnonzero(y == c)[:per_class] for c in range(n_classes)])
    rest = np.setdiff1d(np.arange(len(y)), chosen)
    return X[chosen], y[chosen], X[rest], y[rest]


@pytest.fixture(scope="module")
def digits_model():
    X, y, _, _ = few_digits()
    return BeMiClassifier(hidden_layers=(2,), node_limit=1, time_limit=5).fit(X, y)


def test_digits_are_learnt(digits_model):
    X, y, test_X, test_y = few_digits()
    assert digits_model.score(X, y) > 0.95
    assert digits_model.score(test_X, test_y) > 0.85


def test_public_attributes(digits_model):
    assert list(digits_model.networks_) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    network = digits_model.networks_[1, 3]
    assert isinstance(network, Network)
    assert [w.shape for w in network.weights] == [(64, 2), (2, 1)]
    report = digits_model.reports_[1, 3]["mm"]
    assert report.objective <= report.bound
    assert report.gap == (report.bound - report.objective) / report.objective
    assert digits_model.reports_[1, 3]["mw"].links == network.links
    assert digits_model.splitting_[1, 3].shape == (2,)


def test_vote(digits_model):
    _, _, X, y = few_digits()
    votes = digits_model.vote(X, y)
    assert votes.counts.shape == votes.dominant.shape == (len(X), 4)
    assert (votes.counts.sum(axis=1) == 6).all()
    assert np.array_equal(votes.label, digits_model.predict(X))
    assert digits_model.vote(X).status is None
    clear = ~votes.unclassified
    assert np.array_equal(np.char.endswith(votes.status, "C")[clear], (votes.label == y)[clear])


def test_abstaining_rule_labels_with_minus_one(digits_model):
    _, _, X, _ = few_digits()
    paper = copy(digits_model).set_params(ties="abstain")
    votes = paper.vote(X)
    assert np.array_equal(votes.label == -1, votes.unclassified)
    clear = ~votes.unclassified
    assert np.array_equal(votes.label[clear], digits_model.predict(X)[clear])


THREE_POINTS = np.array([[5, 1, 0], [0, 5, 1], [1, 0, 5]])


@pytest.mark.parametrize(
    ("labels", "open_label"), [(["a", "b", "c"], "unclassified"), ([0, 1, 2], -1), (np.array([1, 2, 3], np.uint8), -1)]
)
def test_unclassified_label_fits_the_kind_of_classes(labels, open_label):
    classifier = BeMiClassifier(ties="abstain", **FAST).fit(THREE_POINTS, labels)
    assert classifier.unclassified_label_ == open_label
    # For x1 > 0 the first class beats the second, the second the third, the third the first.
    first_input = np.array([[1], [0], [0]])
    weights = zip(classifier.networks_, (first_input, -first_input, first_input), strict=True)
    give_networks(classifier, {key: Network((w,)) for key, w in weights})
    predicted = classifier.predict([[1, 0, 0], [0, 0, 0]]).tolist()
    assert predicted == [open_label, labels[0]]
    assert classifier.set_params(ties="margin").predict([[1, 0, 0]]).tolist() == [labels[0]]


@pytest.mark.parametrize("labels", [["unclassified", "b", "c"], [-1, 0, 1]])
def test_a_class_with_the_name_of_the_unclassified_is_refused(labels):
    with pytest.raises(ValueError, match="is a class, but ties='abstain' needs that label"):
        BeMiClassifier(ties="abstain", **FAST).fit(THREE_POINTS, labels)
    BeMiClassifier(ties="margin", **FAST).fit(THREE_POINTS, labels)


def test_data_frames_and_string_labels():
    iris = load_iris(as_frame=True)
    names = iris.target_names[iris.target]
    classifier = BeMiClassifier(**FAST).fit(iris.data, names)
    assert classifier.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert classifier.feature_names_in_.tolist() == list(iris.data.columns)
    assert classifier.score(iris.data, names) > 0.8
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(iris.data.rename(columns={"sepal length (cm)": "x"}))


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.float64, bool])
def test_types_of_data(dtype):
    X = np.array([[1, 0, 1], [0, 1, 1], [1, 0, 0], [0, 1, 0]], dtype=dtype)
    y = [0, 1, 0, 1]
    assert BeMiClassifier(**FAST).fit(X, y).predict(X).tolist() == y


def test_pipeline_grid_search_clone_and_pickle():
    X, y, test_X, test_y = few_digits(3, 4)
    search = GridSearchCV(
        make_pipeline(MinMaxScaler(), BeMiClassifier(**FAST)), {"bemiclassifier__weight_bound": [1, 3]}, cv=2
    ).fit(X, y)
    assert search.score(test_X, test_y) > 0.8
    model = search.best_estimator_[-1]
    copy = pickle.loads(pickle.dumps(model))
    assert copy.networks_ == model.networks_
    assert not hasattr(clone(model), "networks_")


def test_workers_train_the_same_networks():
    X, y, _, _ = few_digits(3, 4)
    one = BeMiClassifier(**FAST).fit(X, y)
    two = BeMiClassifier(n_jobs=2, **FAST).fit(X, y)
    assert one.networks_ == two.networks_


def test_three_classes_per_network():
    X, y, test_X, test_y = few_digits(4, 5)
    classifier = BeMiClassifier(hidden_layers=(2,), subset_size=3, node_limit=1, time_limit=5).fit(X, y)
    assert list(classifier.networks_) == [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]
    assert classifier.networks_[0, 1, 2].layers == (64, 2, 2)
    assert classifier.score(test_X, test_y) > 0.6


def test_progress_is_shown_on_request(capsys):
    X, y, _, _ = few_digits(3, 3)
    BeMiClassifier(verbose=1, **FAST).fit(X, y)
    assert "3/3" in capsys.readouterr().err


# Bad input: one clear line.

GOOD = (np.array([[1, 2], [3, 1], [2, 5], [4, 1]]), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"stages": ("sm", "maximise")}, "unknown stage 'maximise'"),
        ({"stages": [["sm"]]}, r"unknown stage \['sm'\]"),
        ({"engine": "magic"}, "unknown engine 'magic'"),
        ({"solver": "magic"}, "unknown solver 'magic'"),
        ({"solver": ["highs"]}, r"unknown solver \['highs'\]"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0, got 0"),
        ({"n_jobs": "2"}, "n_jobs must be None or an integer other than 0, got '2'"),
        ({"run_dir": 3}, "run_dir must be None or a folder, got 3"),
        ({"run_dir": __file__}, "cannot be created: a file of that name exists"),
        ({"hidden_layers": (4, 0)}, "hidden_layers must be"),
        ({"hidden_layers": 4}, "hidden_layers must be"),
        ({"weight_bound": 0}, "weight_bound must be"),
        ({"weight_bound": 1.5}, "weight_bound must be"),
        ({"subset_size": 3}, "subset_size is 3, but there are only 2 classes"),
        ({"subset_size": 1}, "subset_size must be"),
        ({"time_limit": 0}, "time_limit must be"),
        ({"time_limit": (1, 2)}, "time_limit has 2 numbers for 3 stages"),
        ({"node_limit": 0}, "node_limit must be"),
        ({"gap": -0.1}, "gap must be"),
        ({"ties": "coin"}, "ties must be one of margin, abstain"),
        ({"input_scaling": "zscore"}, "input_scaling must be one of"),
        ({"subsets": "all"}, "subsets must be None, a number or a list of tuples of labels, got 'all'"),
        ({"subsets": 0}, "subsets must be None, a number"),
        ({"subsets": 2}, "subsets must be in 1..1 for 2 classes, 2 per network, got 2"),
        ({"subsets": [(0, 2)]}, "subsets has 2, which is not a class"),
        ({"max_per_class": 0}, "max_per_class must be None or an integer of at least 1, got 0"),
        ({"copies": (-10, 10)}, "copies must be None or an object such as ImageScenarios"),
    ],
)
def test_bad_parameters_are_refused_in_one_line(parameters, words):
    with pytest.raises(ValueError, match=words) as caught:
        BeMiClassifier(**parameters).fit(*GOOD)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([[1, np.nan], [2, 3]], [0, 1], "X contains NaN at row 0, column 1"),
        ([[1, 2], [np.inf, 3]], [0, 1], r"X contains infinity \(inf\) at row 1, column 0"),
        ([[1, 2], [2, 3]], [1, 1], "at least two classes"),
        (np.empty((0, 2)), [], "no rows to train on"),
        (np.empty((2, 0)), [0, 1], "0 feature"),
        ([[10**12, 1], [1, 10**12]], [0, 1], "too large"),
        ([[2**30, 2**30], [1, 2]], [0, 1], "too large"),
        ([[10**30, 1], [1, 10**30]], [0, 1], "too large"),
    ],
)
def test_bad_data_are_refused_in_one_line(X, y, words):
    with pytest.raises(ValueError, match=words) as caught:
        BeMiClassifier(**FAST).fit(X, y)
    assert "\n" not in str(caught.value)


def test_nan_is_named_by_column_name():
    frame = pd.DataFrame({"age": [1.0, 2.0], "weight": [3.0, np.nan]})
    with pytest.raises(ValueError, match="row 1, column 'weight'"):
        BeMiClassifier(**FAST).fit(frame, [0, 1])


def test_wrong_feature_count_at_predict():
    classifier = BeMiClassifier(**FAST).fit(*GOOD)
    with pytest.raises(ValueError, match="3 features, but BeMiClassifier is expecting 2"):
        classifier.predict([[1, 2, 3]])


def test_labels_of_another_length_are_refused():
    classifier = BeMiClassifier(**FAST).fit(*GOOD)
    with pytest.raises(ValueError, match="one label per row"):
        classifier.vote(GOOD[0], [0, 1])


# Odd input that must work.


@pytest.mark.parametrize(
    ("X", "y"),
    [
        pytest.param([[3, 1], [1, 3], [3, 1]], [0, 1, 1], id="one point with two labels"),
        pytest.param([[3, 1], [1, 3], [3, 1], [1, 3]], [0, 1, 0, 1], id="duplicate rows"),
        pytest.param([[0, 0], [1, 3], [3, 1]], [0, 0, 1], id="an all-zero row"),
        pytest.param([[0, 0], [0, 0]], [0, 1], id="nothing but zeros"),
        pytest.param([[7, 3, 1], [7, 1, 3]], [0, 1], id="a constant feature"),
        pytest.param([[3, 1], [1, 3], [2, 9]], [0, 1, 1], id="a class with one sample"),
        pytest.param([[-3, 1], [3, -1]], [0, 1], id="signed data"),
    ],
)
@pytest.mark.parametrize("hidden_layers", [(), (2,), (2, 2)])
def test_odd_data_work(X, y, hidden_layers):
    classifier = BeMiClassifier(hidden_layers=hidden_layers, time_limit=5).fit(X, y)
    assert set(classifier.predict(X)) <= {0, 1}
    for report in classifier.reports_[0, 1].values():
        assert report.ran or report.message


def test_more_than_ten_classes():
    X = np.eye(12, dtype=int) * 9 + 1
    classifier = BeMiClassifier(**FAST).fit(X, np.arange(12))
    assert len(classifier.networks_) == 66
    assert classifier.predict(X).tolist() == list(range(12))


def test_a_transform_is_part_of_the_classifier():
    digits = load_digits()
    X, y = digits.data[:80].astype(int), digits.target[:80]
    settings = {"weight_bound": 7, "node_limit": 1, "time_limit": None}
    model = soft_margins(inputs=IntegerHog(), **settings)
    copy = clone(model).set_params(inputs__orientations=8)
    assert copy.get_params()["inputs"].orientations == 8
    assert model.get_params()["inputs"].orientations == 16
    model.fit(X, y)
    inputs = model.transform_.transform(X)
    plain = soft_margins(**settings).fit(inputs, y)
    assert plain.networks_ == model.networks_
    assert np.array_equal(model.predict(digits.data), plain.predict(model.transform_.transform(digits.data)))
    assert not hasattr(plain, "transform")
    with pytest.raises(ValueError, match="inputs must be None or a transformer"):
        BeMiClassifier(inputs="hog").fit(X, y)


SOFT = {"weight_bound": 7, "node_limit": 1, "time_limit": None}


def test_a_part_of_the_pairs_votes():
    X, y, test_X, test_y = few_digits(4, 6)
    names = np.array(["zero", "one", "two", "three"])
    pairs = [("two", "one"), ("zero", "one"), ("three", "two")]
    model = soft_margins(subsets=pairs, **SOFT).fit(X, names[y])
    assert list(model.networks_) == [("one", "two"), ("one", "zero"), ("three", "two")]
    votes = model.vote(test_X, names[test_y])
    assert (votes.counts.sum(axis=1) == 3).all()
    assert (votes.counts.max(axis=0) <= [2, 1, 2, 1]).all()
    assert np.mean(model.predict(test_X) == names[test_y]) > 0.8
    assert model.certified_radius(test_X[:5]).l1.shape == (5,)
    every = soft_margins(**SOFT).fit(X, names[y])
    assert all(model.networks_[key] == every.networks_[key] for key in model.networks_)


def test_a_number_of_pairs_is_chosen_from_the_data():
    X, y, _, _ = few_digits(5, 5)
    four, nine, ten = (soft_margins(subsets=n, **SOFT).fit(X, y) for n in (4, 9, 10))
    assert [len(m.networks_) for m in (four, nine, ten)] == [4, 9, 10]
    assert set(four.networks_) < set(nine.networks_) < set(ten.networks_)
    assert ten.networks_ == soft_margins(**SOFT).fit(X, y).networks_
    triples = soft_margins(subsets=3, subset_size=3, **SOFT).fit(X, y)
    assert len(triples.networks_) == 3
    assert {label for key in triples.networks_ for label in key} == set(range(5))


def test_medoids_of_each_class_are_trained_on():
    X, y, test_X, test_y = few_digits(3, 30)
    model = soft_margins(max_per_class=5, inputs=IntegerHog(), **SOFT).fit(X, y)
    inputs = model.transform_.transform(X)
    assert np.array_equal(model.selected_rows_, select_rows(inputs, y, 5))
    assert np.array_equal(model.training_rows_, inputs[model.selected_rows_])
    same = soft_margins(inputs=IntegerHog(), **SOFT).fit(X[model.selected_rows_], y[model.selected_rows_])
    assert same.networks_ == model.networks_
    assert same.training_digest_ == model.training_digest_
    assert model.score(test_X, test_y) > 0.9
    all_of_them = soft_margins(max_per_class=30, **SOFT).fit(X, y)
    assert np.array_equal(all_of_them.training_rows_, X)


def test_scenarios_add_the_rows_that_networks_violate():
    X, y, test_X, test_y = few_digits(3, 4)
    turned = ImageScenarios(rotations=(-15, 15), scalings=(), shape=(8, 8))
    model = soft_margins(copies=turned, inputs=IntegerHog(), **SOFT).fit(X, y)
    plain = soft_margins(inputs=IntegerHog(), **SOFT).fit(X, y)
    assert model.given_rows_ == len(X)
    assert plain.given_rows_ is None
    assert np.array_equal(model.training_rows_[: len(X)], plain.training_rows_)
    pool = model.transform_.transform(turned.variants(X).reshape(-1, 64))
    pool_y = np.repeat(y, 2)
    added = 0
    for key, rows in model.added_rows_.items():
        assert (rows >= len(X)).all()
        assert np.isin(model.training_targets_[rows], key).all()
        added += len(rows)
        report = model.reports_[key]["soft"]
        assert report.rows == np.isin(y, key).sum() + len(rows)
        (t,) = report.soft.resolutions
        own = pool[np.isin(pool_y, key)]
        sums = model.networks_[key].pre_activations(own)[-1][:, 0] * np.where(
            pool_y[np.isin(pool_y, key)] == key[0], 1, -1
        )
        losses = sums < float(t) * np.floor(np.linalg.norm(own, axis=1)) - 1e-6
        taken = (own[:, None] == model.training_rows_[rows]).all(axis=2).any(axis=1)
        assert not losses[~taken].any()
    assert 0 < added < 2 * 2 * len(X)
    assert model.score(test_X, test_y) > 0.9
    assert model.get_params()["copies__rotations"] == (-15, 15)
    assert not any(len(rows) for rows in plain.added_rows_.values())


@pytest.mark.parametrize("made", [BeMiClassifier, soft_margins])
def test_scenarios_work_with_workers_and_a_journal(tmp_path, made):
    X, y = load_iris(return_X_y=True)
    X, y = X[::6], y[::6]
    settings = {**SOFT, "copies": NoiseScenarios(0.3, 3)}
    settings |= {"hidden_layers": ()} if made is BeMiClassifier else {}
    one = made(**settings, run_dir=tmp_path).fit(X, y)
    assert any(len(rows) for rows in one.added_rows_.values())
    tasks = one.training_tasks(X, y)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(f"{t.key()}.json.gz" for t in tasks.values())
    for again in (made(**settings, n_jobs=2), made(**settings, run_dir=tmp_path)):
        again.fit(X, y)
        assert again.networks_ == one.networks_
        assert again.training_digest_ == one.training_digest_
        for key, rows in one.added_rows_.items():
            assert np.array_equal(again.added_rows_[key], rows)
    other = made(**{**settings, "copies": NoiseScenarios(0.3, 3, random_state=1)}).training_tasks(X, y)
    assert not {t.key() for t in tasks.values()} & {t.key() for t in other.values()}


def test_scenarios_of_another_shape_or_range_are_refused():
    class Wrong(NoiseScenarios):
        def variants(self, X):
            return super().variants(X)[:, :, :1]

    class Far(NoiseScenarios):
        def variants(self, X):
            return super().variants(X) + 100

    with pytest.raises(ValueError, match=re.escape("scenarios must give integers of shape (rows, variants, features)")):
        BeMiClassifier(copies=Wrong(), **FAST).fit(*GOOD)
    with pytest.raises(ValueError, match="scenarios must stay within the range of the data"):
        BeMiClassifier(copies=Far(), **FAST).fit(*GOOD)


def test_no_variants_at_all_is_no_harm():
    nothing = ImageScenarios(rotations=(), scalings=(), shape=(1, 2))
    model = BeMiClassifier(copies=nothing, **FAST).fit(*GOOD)
    assert model.networks_ == BeMiClassifier(**FAST).fit(*GOOD).networks_


def test_labels_of_64_bits_without_sign_come_back_as_they_are():
    labels = np.array([2**60 + 1, 2**60 + 3, 2**60 + 5], dtype=np.uint64)
    classifier = BeMiClassifier(ties="abstain", **FAST).fit(THREE_POINTS, labels)
    found = classifier.ensemble_.labels(np.array([0, -1, 2]))
    assert found.tolist() == [2**60 + 1, -1, 2**60 + 5]


def test_brighter_pixels_than_in_training_are_the_brightest():
    images, y = load_digits(n_class=2, return_X_y=True)
    images = images[:20] / 17
    classifier = FewBitClassifier(kind=(8, 8), time_limit=1).fit(images, y[:20])
    brighter = np.clip(images * 1.2, 0, images.max() * 1.5)
    assert np.array_equal(classifier.predict(brighter), classifier.predict(np.minimum(brighter, images.max())))


def test_splitting_neurons_are_those_of_all_rows(tmp_path):
    """A row that contradicts another is in no later stage, but it was trained on."""
    X = np.array([[5, 1], [4, 2], [1, 5], [2, 4], [9, 0]])
    y = np.array([0, 0, 1, 1, 1])
    classifier = BeMiClassifier((4,), node_limit=50, time_limit=None).fit(X, y)
    for key, network in classifier.networks_.items():
        signs = X @ network.weights[0] >= 0
        assert classifier.splitting_[key].tolist() == (signs.any(axis=0) & ~signs.all(axis=0)).tolist()


def test_fitted_attributes_can_be_pickled_and_do_not_depend_on_the_tie_rule(digits_model):
    for name in ("networks_", "reports_", "splitting_", "added_rows_"):
        assert pickle.loads(pickle.dumps(getattr(digits_model, name))).keys() == digits_model.networks_.keys()
    model = copy(digits_model).set_params(ties="loudest")
    assert model.classes_.tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="ties must be one of margin, abstain, got 'loudest'"):
        model.predict(few_digits()[2])


def test_attributes_that_are_not_there_say_why(digits_model, tmp_path):
    with pytest.raises(AttributeError, match="this classifier is not fitted yet"):
        _ = BeMiClassifier().networks_
    save(digits_model, tmp_path / "m")
    with pytest.raises(AttributeError, match="this classifier was read from a file"):
        _ = load(tmp_path / "m").training_rows_


def test_added_classes_leave_known_networks_alone(tmp_path):
    X, y, _, _ = few_digits()
    first = y < 3
    classifier = BeMiClassifier(hidden_layers=(2,), node_limit=1, time_limit=None).fit(X[first], y[first])
    save(classifier, tmp_path / "m")
    loaded = load(tmp_path / "m")
    # Rows on which no neuron of the known networks would split, and a new class.
    loaded.add_classes(np.concatenate([X[first] * 0, X[~first]]), y)
    for key, network in classifier.networks_.items():
        assert loaded.networks_[key] == network
        assert np.array_equal(loaded.splitting_[key], classifier.splitting_[key])
    assert loaded.selected_rows_.tolist() == list(range(len(y)))
    assert loaded.solver_ == classifier.solver_
