"""Decision values and chances of the classifier, and scikit-learn's tools on top of them."""

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_score
from soft_margins import soft_margins

from bemi import BeMiClassifier, ConstantInput, load, save
from bemi.modelfile.container import ModelFileError, pack, read

SOFT = {"weight_bound": 7, "C": 1.0, "node_limit": 1, "time_limit": None}
HIDDEN = {"hidden_layers": (2,), "stages": ("sm",), "node_limit": 1, "time_limit": 5}


def made(settings):
    return (BeMiClassifier if "hidden_layers" in settings else soft_margins)(**settings)


def soft(**settings):
    return soft_margins(**{**SOFT, "inputs": ConstantInput(), "probabilities": True, **settings})


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return soft().fit(X[:120], y[:120]), X[120:], y[120:]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["setosa", "versicolor", "virginica"], dtype=object)[y]
    return soft().fit(X[::2], labels[::2]), X[1::2], labels[1::2]


def test_the_sign_of_a_score_is_the_label(cancer):
    classifier, X, _ = cancer
    values = classifier.decision_function(X)
    (network,) = classifier.networks_.values()
    scores = network.pre_activations(classifier.ensemble_.inputs(X))[0][:, 0]
    assert np.array_equal(values, -scores)
    assert np.array_equal(classifier.predict(X), classifier.classes_[(values > 0).astype(int)])


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_the_more_probable_of_two_classes_is_the_label(class_weight):
    X, y = load_iris(return_X_y=True)
    rows = np.concatenate([np.arange(50, 100), np.arange(100, 112)])
    classifier = soft(class_weight=class_weight).fit(X[rows][:, :2], y[rows])
    chances = classifier.predict_proba(X[50:, :2])
    assert np.array_equal(classifier.classes_[chances.argmax(axis=1)], classifier.predict(X[50:, :2]))
    assert (chances[:, 0] != chances[:, 1]).all()
    (sigmoid,) = classifier.ensemble_.probabilities.sigmoids
    assert sigmoid.intercept, "even odds must be elsewhere"


def test_a_score_of_zero_is_the_first_class():
    X = np.array([[1, 0], [2, 0], [0, 1], [0, 3]])
    classifier = soft_margins(**SOFT).fit(X, ["a", "a", "b", "b"])
    rows = np.array([[0, 0], [5, 0], [0, 5]])
    assert classifier.decision_function(rows)[0] == 0
    assert np.array_equal(classifier.predict(rows), classifier.classes_[(classifier.decision_function(rows) > 0) * 1])


@pytest.mark.parametrize("settings", [HIDDEN, HIDDEN | {"ties": "abstain"}, SOFT, HIDDEN | {"subset_size": 3}])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_largest_value_is_the_label(settings, classes):
    if settings.get("subset_size", 2) > classes:
        return
    X, y = load_digits(n_class=classes, return_X_y=True)
    X = X.astype(int)
    classifier = made(settings).fit(X[: 4 * classes], y[: 4 * classes])
    # Noise has more ties than digits do.
    rows = np.concatenate([X[:300], np.random.default_rng(0).integers(0, 17, (300, 64))])
    labels, values = classifier.predict(rows), classifier.decision_function(rows)
    chosen = (values > 0).astype(int) if classes == 2 else values.argmax(axis=1)
    assert values.shape == ((600,) if classes == 2 else (600, classes))
    assert np.array_equal(classifier.classes_[chosen][labels != -1], labels[labels != -1])


def test_ranking_tools_work(cancer, iris):
    classifier, X, y = cancer
    auc = cross_val_score(clone(classifier), X[:100], y[:100], scoring="roc_auc", cv=3)
    assert auc.min() > 0.9
    assert roc_auc_score(y, classifier.decision_function(X)) == pytest.approx(
        roc_auc_score(y, classifier.predict_proba(X)[:, 1]), abs=0.01
    )
    several, X, y = iris
    assert cross_val_score(several, X, y, scoring="roc_auc_ovr", cv=3).min() > 0.9
    assert cross_val_score(several, X, y, scoring="neg_log_loss", cv=3).min() > -0.6
    found = permutation_importance(several, X, y, scoring="neg_log_loss", n_repeats=2, random_state=0)
    assert found.importances_mean.max() > 0


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("settings", [SOFT, HIDDEN])
def test_scikit_learn_can_calibrate(settings, method):
    X, y = load_iris(return_X_y=True)
    found = CalibratedClassifierCV(made(settings), method=method, cv=3).fit(X[::3], y[::3])
    assert log_loss(y, found.predict_proba(X)) < np.log(3)


def test_chances_are_probabilities(cancer, iris):
    for classifier, X, y in (cancer, iris):
        chances = classifier.predict_proba(X)
        assert chances.shape == (len(X), len(classifier.classes_))
        assert chances.sum(axis=1) == pytest.approx(np.ones(len(X)))
        assert chances.min() > 0
        shares = np.unique(y, return_counts=True)[1] / len(y)
        assert log_loss(y, chances) < 0.6 * -(shares * np.log(shares)).sum()


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_what_is_never_mistaken_is_as_sure_with_many_classes_as_with_two(classes):
    """With n rows per class, all told apart: about 1 in n + 2 remains for the other classes together."""
    X = np.repeat(np.eye(classes, dtype=int) * 9 + 1, 20, axis=0)
    y = np.repeat(np.arange(classes), 20)
    chances = soft_margins(**SOFT | {"probabilities": True}).fit(X, y).predict_proba(X)
    assert 1 - chances[np.arange(len(y)), y] == pytest.approx(np.full(len(y), 1 / 22), abs=0.012)


def test_only_classifiers_with_probabilities_offer_them():
    X, y = load_iris(return_X_y=True)
    plain = soft_margins(**SOFT)
    assert not hasattr(plain, "predict_proba")
    plain.fit(X[::5], y[::5])
    plain.probabilities = True
    assert not hasattr(plain, "predict_proba")
    assert not hasattr(plain, "with_prior")
    with pytest.raises(AttributeError, match=r"^no predict_proba: .*; set probabilities=True and fit again$"):
        plain.predict_proba(X)
    with pytest.raises(AttributeError, match="no predict_proba: BeMiClassifier has none; train a FewBitClassifier"):
        BeMiClassifier().predict_proba(X)
    with pytest.raises(NotFittedError):
        soft().predict_proba(X)
    with pytest.raises(ValueError, match="this model has no probabilities; train it with probabilities=True"):
        plain.ensemble_.class_probabilities(X)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"subsets": 2}, "probabilities=True needs a network for every pair of classes; use subsets=None"),
        ({"probabilities": "yes"}, "probabilities must be True or False, got 'yes'"),
    ],
)
def test_what_cannot_have_chances_is_refused(settings, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message) as caught:
        soft(**{"C": 10.0} | settings).fit(X, y)
    assert "\n" not in str(caught.value)


def odds(chances):
    return np.log(chances[:, 1] / chances[:, 0])


def test_another_prior_moves_the_odds(cancer):
    classifier, X, _ = cancer
    shares = np.bincount(load_breast_cancer().target[:120]) / 120
    moved = classifier.with_prior({0: 1, 1: 3})
    before, after = classifier.predict_proba(X), moved.predict_proba(X)
    between = (np.abs(before[:, 1] - 0.5) < 0.45) & (np.abs(after[:, 1] - 0.5) < 0.45)
    assert between.sum() > 10
    expected = np.log(3 / (shares[1] / shares[0]))
    assert odds(after)[between] - odds(before)[between] == pytest.approx(np.full(between.sum(), expected), abs=0.3)
    assert np.mean(odds(after)[between] - odds(before)[between]) == pytest.approx(expected, abs=0.05)
    assert np.array_equal(moved.predict(X), classifier.predict(X))
    again = moved.with_prior({0: shares[0], 1: shares[1]})
    assert np.array_equal(again.predict_proba(X), before)
    assert np.array_equal(classifier.predict_proba(X), before), "the first one stays"


def test_another_prior_of_many_classes_makes_a_class_likelier(iris):
    classifier, X, y = iris
    moved = classifier.with_prior({"setosa": 0.1, "versicolor": 0.1, "virginica": 0.8})
    assert (moved.predict_proba(X)[:, 2] >= classifier.predict_proba(X)[:, 2]).all()
    assert (
        moved.predict_proba(X)[y == "versicolor", 2].mean() > classifier.predict_proba(X)[y == "versicolor", 2].mean()
    )
    with pytest.raises(ValueError, match="a prior needs a share for every class: class 'setosa' has none"):
        classifier.with_prior({"versicolor": 1, "virginica": 1})


def test_a_prior_beyond_bytes_is_not_cut_off():
    """A byte ends at 1 in 256; a rare class must still be able to become likely."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((400, 9)) < 0.5, -1, 1)
    y = (X[:, :5].sum(axis=1) > 0).astype(int)
    classifier = soft_margins(**SOFT | {"probabilities": True}).fit(X, y)
    rare = classifier.with_prior({0: 0.999, 1: 0.001})
    surest = X[X[:, :5].sum(axis=1) == 5]
    assert rare.predict_proba(surest)[:, 1].min() > 0.25, "bytes alone would give at most 0.2"


def test_saved_and_pickled_chances_come_back(cancer, iris, tmp_path):
    for classifier, X, _ in (cancer, iris):
        save(classifier, tmp_path / "m.bemi")
        for copied in (load(tmp_path / "m.bemi"), pickle.loads(pickle.dumps(classifier))):
            assert copied.probabilities is True
            assert copied.ensemble_.probabilities == classifier.ensemble_.probabilities
            assert np.array_equal(copied.predict_proba(X), classifier.predict_proba(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p["sigmoids"].pop(), "sigmoids must be a list of 3 values"),
        (lambda p: p["sigmoids"][0].append(1), "a sigmoid must be a list of 2 to 3 values"),
        (lambda p: p["sigmoids"][0].__setitem__(0, -1), "a slope must be an integer in 0.."),
        (lambda p: p["sigmoids"][0].__setitem__(1, 2**41), "an intercept must be an integer in"),
        (lambda p: p["sigmoids"][0].__setitem__(1, 0.5), "an intercept must be an integer in"),
        (lambda p: p["prior"].append(1), "prior must be a list of 3 values"),
        (lambda p: p["prior"].__setitem__(0, 0), "a share of a class must be an integer in 1.."),
        (lambda p: p.pop("prior"), "probabilities has no member 'prior'"),
        (lambda p: p.__setitem__("more", 1), "probabilities has an unknown member 'more'"),
    ],
)
def test_damaged_probabilities_are_refused(iris, change, message, tmp_path):
    save(iris[0], tmp_path / "m.bemi")
    header, weights = read(tmp_path / "m.bemi")
    change(header["probabilities"])
    (tmp_path / "m.bemi").write_bytes(pack(json.loads(json.dumps(header)), weights))
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path / "m.bemi")


def test_networks_of_another_kind_cannot_have_probabilities_in_a_file(iris, tmp_path):
    X, y = load_iris(return_X_y=True)
    save(BeMiClassifier(**HIDDEN).fit(X[::5], y[::5]), tmp_path / "m.bemi")
    header, weights = read(tmp_path / "m.bemi")
    header["probabilities"] = {"sigmoids": [[1, 0]] * 3, "prior": [1] * 3}
    (tmp_path / "m.bemi").write_bytes(pack(header, weights))
    with pytest.raises(ModelFileError, match="networks of this kind have no probabilities"):
        load(tmp_path / "m.bemi")


def test_added_classes_get_chances_and_the_others_keep_theirs():
    X, y = load_iris(return_X_y=True)
    first = soft().fit(X[y < 2][::2], y[y < 2][::2])
    before = first.ensemble_.probabilities.sigmoids
    first.add_classes(X[y == 2][::2], y[y == 2][::2])
    assert first.ensemble_.probabilities.sigmoids[0] == before[0]
    assert len(first.ensemble_.probabilities.sigmoids) == 3
    assert log_loss(y[1::2], first.predict_proba(X[1::2])) < 0.6
    first.probabilities = False
    with pytest.raises(ValueError, match="the networks were trained with probabilities=True, not False"):
        first.add_classes(X[:4], np.array([7, 7, 8, 8]))


def test_networks_that_are_replaced_lose_their_chances(iris):
    ensemble = iris[0].ensemble_
    others = ensemble.with_networks(ensemble.subsets, ensemble.networks, ensemble.reports, ensemble.splitting)
    assert others.probabilities is None


def test_sample_weights_move_chances():
    X, y = load_breast_cancer(return_X_y=True)
    heavy = soft().fit(X[:120], y[:120], sample_weight=np.where(y[:120] == 1, 5.0, 1.0))
    plain = soft().fit(X[:120], y[:120])
    assert heavy.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()
    prior = heavy.ensemble_.probabilities.prior
    counts = np.bincount(y[:120])
    assert prior[1] / prior[0] == pytest.approx(5 * counts[1] / counts[0])


def test_a_class_with_one_row_has_chances():
    X, y = load_iris(return_X_y=True)
    rows = np.concatenate([np.arange(50, 70), [120]])
    classifier = soft().fit(X[rows], y[rows])
    assert np.isfinite(np.log(classifier.predict_proba(X))).all()
