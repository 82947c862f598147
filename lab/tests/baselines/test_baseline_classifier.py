"""BaselineClassifier as users meet it, with every system."""

from __future__ import annotations

import importlib
import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from bemi_lab.baselines import SYSTEMS, BaselineClassifier, NoNetwork
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from bemi import solvers

YORKE = [name for name, system in SYSTEMS.items() if system.grid is not None]

QUICK = {"system": "gd-t", "hidden_layers": (3,), "node_limit": 20, "time_limit": None}
"""No solver, no clock: the same network every time."""

X = np.array([[8, -7, -8], [7, -9, -8], [-8, 8, -9], [-7, 7, -7], [-8, -9, 7], [-9, -7, 8]])
Y = np.array(["left", "left", "middle", "middle", "right", "right"])


# More neurons and steps than elsewhere, for the checks that ask for accuracy.
@parametrize_with_checks([BaselineClassifier("gd-t", hidden_layers=(16,), node_limit=300, time_limit=None)])
def test_scikit_learn_check(estimator, check):
    check(estimator)


@cache
def fitted(name: str, **changes) -> BaselineClassifier:
    if SYSTEMS[name].needs_cp and "cpsat" not in solvers.installed():
        pytest.skip("solver cpsat is not installed")
    # Constraint programming counts conflicts, and needs more of them.
    nodes = 2000 if name.startswith("cp") else 20
    parameters = {"hidden_layers": (3,), "node_limit": nodes, "time_limit": 60.0, "random_state": 0} | changes
    return BaselineClassifier(name, **parameters).fit(X, Y)


def by_hand(classifier: BaselineClassifier, integers: np.ndarray, unit: int) -> np.ndarray:
    """Output sums, row by row and neuron by neuron, with biases that are added."""
    weights = classifier.network_.weights
    sums = []
    for row in integers:
        signal = [int(value) for value in row]
        for layer, array in enumerate(weights):
            last = layer == len(weights) - 1
            neurons = array.shape[1] if last else array.shape[1] - 1
            worth = unit if layer == 0 else 1
            entering = [
                sum(value * int(w) for value, w in zip(signal, array[:-1, j], strict=True)) + worth * int(array[-1, j])
                for j in range(neurons)
            ]
            signal = [1 if value >= 0 else -1 for value in entering]
        sums.append(entering)
    return np.array(sums)


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_predicts_what_its_network_says(name):
    classifier = fitted(name)
    network = classifier.network_
    assert network.layers == (4, 4, 3)
    assert not network.weights[0][:, -1].any()  # the constant neuron has no incoming links
    others = np.random.default_rng(0).integers(-9, 9, (40, 3))
    for rows in (X, others):
        unit, integers = (10_000, np.rint(rows * (10_000 / 9)).astype(int)) if name in YORKE else (1, rows)
        sums = by_hand(classifier, integers, unit)
        assert np.array_equal(classifier.sums(rows), sums)
        assert np.array_equal(classifier.outputs(rows), np.where(sums >= 0, 1, -1))
        assert classifier.predict(rows).tolist() == [Y[::2][max(range(3), key=list(s).__getitem__)] for s in sums]
    report = list(classifier.reports_.values())[-1]
    assert report.network is network
    assert report.links == network.links
    assert report.rows == 6


# All but gradient descent and batches, which promise nothing.
@pytest.mark.parametrize("name", [name for name in SYSTEMS if not name.startswith(("gd", "batches"))])
def test_easy_rows_are_learnt(name):
    classifier = fitted(name)
    assert classifier.score(X, Y) == 1
    if name not in YORKE:
        codes = np.where(Y[:, None] == classifier.classes_, 1, -1)
        assert np.array_equal(classifier.outputs(X), codes)


def test_several_steps_have_several_reports():
    reports = fitted("min-neurons-after").reports_
    assert list(reports) == ["sat-margin", "min-neurons"]
    assert reports["sat-margin"].objective == 18
    assert reports["min-neurons"].objective <= 3
    assert list(fitted("ha").reports_) == ["feasible", "max-margin"]


@pytest.mark.parametrize("name", ["mip-max-margin", "gd-t", "max-correct"])
def test_networks_without_a_hidden_layer(name):
    classifier = fitted(name, hidden_layers=())
    assert classifier.network_.layers == (4, 3)
    unit, integers = (10_000, np.rint(X * (10_000 / 9)).astype(int)) if name in YORKE else (1, X)
    assert np.array_equal(classifier.sums(X), by_hand(classifier, integers, unit))


def test_more_than_one_bit():
    classifier = fitted("max-correct", weight_bound=3)
    assert classifier.network_.weight_bound == 3
    assert classifier.score(X, Y) == 1


# How features become integers.


def test_inputs_of_thorbjarnarson_and_yorke_smith_have_four_decimals_and_one_common_scale():
    rows = np.array([[0.5, 0.25], [0.1, -0.00004], [0.2, 0.4], [0.0, 0.1]])
    classifier = BaselineClassifier("sat-margin", hidden_layers=(1,), node_limit=1).fit(rows, [0, 1, 0, 1])
    assert classifier.input_scaling_(rows).tolist() == [[10_000, 5_000], [2_000, -1], [4_000, 8_000], [0, 2_000]]
    # An integer is scaled like any other number.
    whole = BaselineClassifier("sat-margin", hidden_layers=(1,), node_limit=1).fit([[255, 51], [0, 1]], [0, 1])
    assert whole.input_scaling_([[255, 51]]).tolist() == [[10_000, 2_000]]


def test_a_bias_counts_as_much_as_the_largest_input():
    """Two rows with the same sign: only a bias tells them apart, and only one that is as large as they are."""
    rows = np.array([[0.9], [0.6]])
    classifier = BaselineClassifier("max-correct", hidden_layers=(1,)).fit(rows, [0, 1])
    assert classifier.score(rows, [0, 1]) == 1
    integers = np.array([[10_000], [6_667]])
    assert np.array_equal(classifier.input_scaling_(rows), integers)
    weight, bias = classifier.network_.weights[0][:, 0]
    assert weight == -bias != 0
    assert np.array_equal(classifier.sums(rows), by_hand(classifier, integers, 10_000))
    # Raw inputs have biases of 1, which is too small here.
    with pytest.raises(NoNetwork):
        BaselineClassifier("mip-min-weight", hidden_layers=(1,)).fit(integers, [0, 1])


def test_inputs_of_toro_icarte_et_al_stay_as_they_are_if_they_are_integers():
    assert BaselineClassifier(**QUICK).fit(X, Y).input_scaling_.scale is None
    fractional = BaselineClassifier(**QUICK).fit(X / [10, 20, 40], Y)
    # Otherwise the largest of every feature becomes 127.
    assert np.array_equal(fractional.input_scaling_(X / [10, 20, 40]), np.rint(X * (127 / 9)))
    with pytest.raises(ValueError, match="features are not integers"):
        BaselineClassifier(**QUICK).fit(X, Y).predict(X + 0.5)


# scikit-learn.


def test_clone_parameters_and_pickle():
    classifier = BaselineClassifier(**QUICK).fit(X, Y)
    again = clone(classifier)
    assert again.get_params() == classifier.get_params()
    assert again.get_params()["system"] == "gd-t"
    assert again.set_params(system="sat-margin").system == "sat-margin"
    copy = pickle.loads(pickle.dumps(classifier))
    assert copy.network_ == classifier.network_
    assert np.array_equal(copy.sums(X), classifier.sums(X))


def test_cross_validation_and_data_frames():
    iris = load_iris(as_frame=True)
    names = iris.target_names[iris.target]
    classifier = BaselineClassifier("gd-t", hidden_layers=(8,), node_limit=200, time_limit=None)
    assert cross_val_score(classifier, iris.data, names, cv=3).mean() > 0.6
    classifier.fit(iris.data, names)
    assert classifier.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(iris.data.rename(columns={"sepal length (cm)": "x"}))


def test_a_seed_decides():
    first, same, other = (BaselineClassifier(**QUICK, random_state=seed).fit(X, Y) for seed in (1, 1, 2))
    assert first.network_ == same.network_
    assert first.network_ != other.network_


def test_before_fitting():
    for method in ("predict", "sums", "outputs"):
        with pytest.raises(NotFittedError):
            getattr(BaselineClassifier(), method)(X)


# What is refused, and how.


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"system": ["ha"]}, r"unknown system \['ha'\]; known: mip-max-margin"),
        ({"system": "svm"}, "unknown system 'svm'; known: mip-max-margin, .*batches"),
        ({"weight_bound": 2}, r"GD_t has weights in \{-1, 0, 1\}; use weight_bound=1, not 2"),
        ({"weight_bound": 0}, "weight_bound must be an integer of at least 1"),
        ({"hidden_layers": 4}, "hidden_layers must be a tuple"),
        ({"time_limit": 0}, "time_limit must be None or positive seconds, got 0"),
        ({"time_limit": "1"}, "time_limit must be None or positive seconds"),
        ({"time_limit": (1, 2)}, "time_limit must be None or positive seconds"),
        ({"time_limit": True}, "time_limit must be None or positive seconds"),
        ({"node_limit": 0}, "node_limit must be None or an integer of at least 1"),
        ({"node_limit": 1.5}, "node_limit must be None or an integer of at least 1"),
        ({"node_limit": None}, "give a limit of seconds or of steps"),
        ({"solver": "cplex"}, "unknown solver 'cplex'"),
        ({"system": "sat-margin", "hidden_layers": ()}, "use at least one hidden layer"),
    ],
)
def test_bad_parameters_are_refused(changes, words):
    with pytest.raises(ValueError, match=words) as refusal:
        BaselineClassifier(**(QUICK | changes)).fit(X, Y)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("rows", "labels", "words"),
    [
        (np.where(X == 8, np.nan, X), Y, "X contains NaN at row 0, column 0"),
        (pd.DataFrame(np.where(X == 7, np.inf, X), columns=list("abc")), Y, "infinity .* at row 1, column 'a'"),
        (X, np.zeros(6), "only one class"),
        (X, np.linspace(0, 1, 6), "Unknown label type"),
        (X[:0], Y[:0], "0 sample"),
        (X * 2**30, Y, "too large"),
    ],
)
def test_bad_data_are_refused(rows, labels, words):
    with pytest.raises(ValueError, match=words):
        BaselineClassifier(**QUICK).fit(rows, labels)


def test_nan_is_refused_in_prediction_too():
    with pytest.raises(ValueError, match="X contains NaN at row 1, column 2"):
        BaselineClassifier(**QUICK).fit(X, Y).predict([[1, 2, 3], [1, 2, np.nan]])


@pytest.mark.parametrize("name", [name for name, system in SYSTEMS.items() if system.needs_cp])
def test_missing_constraint_programming_is_named_before_training(name, monkeypatch):
    real = importlib.import_module

    def without_ortools(module: str, *rest):
        if module == "bemi.solvers.cpsat":
            raise ImportError("ortools")
        return real(module, *rest)

    monkeypatch.setattr(solvers.importlib, "import_module", without_ortools)
    with pytest.raises(solvers.SolverNotInstalled, match=r"pip install 'bemi\[cpsat\]'"):
        BaselineClassifier(name, hidden_layers=(2,)).fit(X, Y)


def no_network(name: str, rows, labels, time_limit: float) -> str:
    classifier = BaselineClassifier(name, hidden_layers=(2,), time_limit=time_limit)
    with pytest.raises(NoNetwork) as failure:
        classifier.fit(rows, labels)
    with pytest.raises(NotFittedError):
        classifier.predict(rows)
    return str(failure.value)


NO_TIME = "found no network within its limit; give it more time, fewer rows or fewer neurons"
CONTRADICTION = "no network satisfies this stage on these rows; remove contradictory rows or add neurons"


def test_no_network_in_no_time():
    assert no_network("mip-min-weight", X, Y, 1e-4) == f"MIP min-weight in 0.0001 s: {NO_TIME}"


def test_no_network_for_contradictions():
    rows, labels = [[3, 1], [3, 1], [1, 3]], [0, 1, 1]
    assert no_network("mip-max-margin", rows, labels, 60.0) == f"MIP max-margin: {CONTRADICTION}"


@pytest.mark.skipif("cpsat" not in solvers.installed(), reason="solver cpsat is not installed")
def test_no_network_from_constraint_programming():
    assert no_network("cp-min-weight", [[3, 1], [3, 1]], [0, 1], 60.0) == f"CP min-weight: {CONTRADICTION}"
    by_class = no_network("ha-by-class", [[3, 1], [3, 1]], [0, 1], 60.0)
    assert by_class.startswith("HA by class: no network satisfies this stage on these rows with one ")


def test_a_failed_fit_leaves_no_network_of_an_earlier_one():
    classifier = BaselineClassifier("mip-max-margin", hidden_layers=(), node_limit=50).fit(X, Y)
    assert classifier.score(X, Y) == 1
    with pytest.raises(NoNetwork):
        classifier.fit([[3, 1], [3, 1]], [0, 1])
    with pytest.raises(NotFittedError):
        classifier.predict([[3, 1]])


def test_what_always_has_a_start_always_has_a_network():
    rows, labels = [[3, 1], [3, 1], [1, 3]], [0, 1, 1]
    for name in YORKE:
        classifier = BaselineClassifier(name, hidden_layers=(2,), time_limit=1e-6).fit(rows, labels)
        assert classifier.predict(rows).shape == (3,)
