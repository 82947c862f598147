"""Unknown rows get no label; how many known ones are lost is as asked; files and estimators agree."""

import re

import numpy as np
import pandas as pd
import pytest
from exported_models import scores_of, strangeness, values_of, waves
from sklearn.datasets import load_iris, load_wine
from soft_margins import soft_margins

from bemi import BeMiClassifier, FewBitClassifier, ScorecardClassifier, SignalCounts, TableBits, load, save
from bemi.cli import main

QUICK = {"time_limit": None, "node_limit": 10}


def blobs(rows, rng, features=12, classes=3):
    y = np.arange(rows) % classes
    centres = np.random.default_rng(5).normal(0, 2, (classes, features))
    return np.round(100 * (centres[y] + rng.normal(0, 1, (rows, features)))), y


def test_about_as_many_known_rows_are_rejected_as_asked_for():
    lost = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        classifier = soft_margins(**QUICK, inputs=TableBits(), reject=0.1).fit(*blobs(90, rng))
        lost.append((classifier.predict(blobs(600, rng)[0]) == -1).mean())
    # Of one draw, the share varies by about 0.04.
    assert 0.05 < np.mean(lost) < 0.13


def test_recordings_are_judged_by_the_others():
    """Windows of one recording are alike, so that folds that divide recordings would promise too much."""
    lost = {True: [], False: []}
    for seed in range(4):
        rng = np.random.default_rng(seed)

        def recorded(recordings, rng=rng):
            X, y = blobs(recordings, rng)
            return np.repeat(X, 8, axis=0) + np.round(rng.normal(0, 5, (8 * recordings, 12))), np.repeat(y, 8)

        X, y = recorded(24)
        new = recorded(60)[0]
        for kept, groups in ((True, np.arange(len(X)) // 8), (False, None)):
            classifier = soft_margins(**QUICK, inputs=TableBits(), reject=0.1).fit(X, y, groups=groups)
            assert classifier.ensemble_.known_ranges.recordings == (24 if kept else 0)
            lost[kept].append((classifier.predict(new) == -1).mean())
    assert np.mean(lost[True]) < 0.2 < np.mean(lost[False])


def test_only_labels_change():
    X, y = load_wine(return_X_y=True)
    plain, careful = (FewBitClassifier(random_state=0, reject=share).fit(X[::2], y[::2]) for share in (None, 0.05))
    assert all(
        np.array_equal(a.weights[0], b.weights[0])
        for a, b in zip(plain.networks_.values(), careful.networks_.values(), strict=True)
    )
    known = careful.predict(X) != -1
    assert known.mean() > 0.85
    assert np.array_equal(careful.predict(X)[known], plain.predict(X)[known])
    assert np.array_equal(careful.predict_proba(X), plain.predict_proba(X))
    assert np.array_equal(careful.strangeness(X) > careful.ensemble_.known_ranges.threshold, ~known)


def test_classes_are_left_out_in_turn():
    """What is expected of a class that training did not have is about what becomes of one that it really did not."""
    X, y = load_wine(return_X_y=True)
    settings = {**QUICK, "inputs": TableBits(values=True), "reject": 0.05}
    expected = soft_margins(**settings).fit(X[::2], y[::2]).ensemble_.known_ranges.unseen
    rejected = []
    for left in range(3):
        known = y != left
        rejected.append((soft_margins(**settings).fit(X[known], y[known]).predict(X[~known]) == -1).mean())
    assert np.mean(rejected) > 0.5
    assert abs(expected - np.mean(rejected)) < 0.2
    # Classes that are all alike are not told from each other.
    rng = np.random.default_rng(0)
    noise = soft_margins(**settings).fit(rng.normal(0, 1, (90, 4)), np.arange(90) % 3)
    assert noise.ensemble_.known_ranges.unseen < 0.2
    assert soft_margins(**settings).fit(X[y < 2], y[y < 2]).ensemble_.known_ranges.unseen is None


def test_what_is_unlike_the_classes_is_rejected():
    X, y = waves(240, 64, 3, classes=3)
    rng = np.random.default_rng(1)
    classifier = soft_margins(**QUICK, weight_bound=7, inputs=SignalCounts(), reject=0.05).fit(X[:60], y[:60])
    assert (classifier.predict(X[60:]) == -1).mean() < 0.15
    still = np.repeat(X[60:, :1], 64, axis=1)
    for unknown in (rng.normal(0, 600, X[60:].shape).round(), still, waves(240, 64, 3, classes=9)[0][8::9]):
        assert (classifier.predict(unknown) == -1).mean() > 0.7


def test_a_level_that_training_did_not_have_is_strange():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"colour": rng.choice(["red", "blue"], 80), "size": rng.integers(0, 100, 80)})
    y = np.where(table["size"] + 40 * (table["colour"] == "red") > 70, "large", "small")
    classifier = soft_margins(**QUICK, inputs=TableBits(), reject=0.05).fit(table, y)
    new = pd.DataFrame({"colour": ["red", "green", None], "size": [50, 50, 50]})
    assert (classifier.predict(new) == "unclassified").tolist() == [False, True, False]
    assert classifier.strangeness(new)[1] > 50


def test_strangeness_is_what_the_documentation_says():
    X, y = load_iris(return_X_y=True)
    classifier = FewBitClassifier(reject=0.2).fit(X[::3], y[::3])
    ensemble = classifier.ensemble_
    readings = ensemble.inputs.checked(X + np.linspace(0, 3, len(X))[:, None])
    labels = ensemble.votes(X + np.linspace(0, 3, len(X))[:, None]).label
    own = classifier.strangeness(X + np.linspace(0, 3, len(X))[:, None])
    given = labels >= 0
    rows = zip(readings[given], labels[given], scores_of(classifier, readings[given]), strict=True)
    found = [strangeness(ensemble.known_ranges, *row) for row in rows]
    assert found == own[given].tolist()
    assert given.any()
    assert (own[~given] > ensemble.known_ranges.threshold).all()


@pytest.mark.parametrize("channels", [1, 3])
def test_windows_are_judged_by_how_wide_and_how_high_their_levels_and_differences_are(channels):
    X, y = waves(120, 40, channels, classes=3)
    settings = {"weight_bound": 7, "inputs": SignalCounts(rocket=84)}
    classifier = soft_margins(**QUICK, **settings, reject=0.2).fit(X[:60], y[:60])
    plain = soft_margins(**QUICK, **settings).fit(X[:60], y[:60])
    ensemble = classifier.ensemble_
    new = np.concatenate([X[60:], 2 * X[60:]])
    labels = np.searchsorted(classifier.classes_, plain.predict(new))
    readings = ensemble.inputs.checked(new)
    rows = zip(values_of(ensemble.inputs, readings), labels, scores_of(classifier, readings), strict=True)
    found = [strangeness(ensemble.known_ranges, *row) for row in rows]
    assert found == classifier.strangeness(new).tolist()
    assert len(set(found)) > 10


@pytest.mark.parametrize("estimator", [FewBitClassifier, ScorecardClassifier])
def test_files_keep_it(estimator, tmp_path):
    X, y = load_iris(return_X_y=True)
    classifier = estimator(inputs=TableBits(), reject=0.1).fit(X[::2], y[::2] == 1)
    save(classifier, tmp_path / "model.bemi")
    read = load(tmp_path / "model.bemi")
    assert read.reject == 0.1
    wide = np.concatenate([X, 3 * X])
    # True and False are the numbers 1 and 0, and no label is -1.
    assert np.array_equal(read.predict(wide), classifier.predict(wide))
    assert -1 in read.predict(wide).tolist()
    assert np.array_equal(read.strangeness(wide), classifier.strangeness(wide))


def test_what_cannot_be_said_is_refused():
    X, y = load_iris(return_X_y=True)
    for share in (0, 0.6, "5 %"):
        with pytest.raises(ValueError, match="reject must be None or a share"):
            FewBitClassifier(reject=share).fit(X, y)
    with pytest.raises(ValueError, match="class 2 has one; leave reject out"):
        soft_margins(**QUICK, reject=0.05).fit(X[:101], y[:101])
    with pytest.raises(ValueError, match="reject needs that label"):
        soft_margins(**QUICK, reject=0.05).fit(X, y - 1)
    with pytest.raises(ValueError, match="train it with reject"):
        soft_margins(**QUICK).fit(X, y).strangeness(X)
    with pytest.raises(ValueError, match="give rows of all classes; class 0 has none"):
        soft_margins(**QUICK, reject=0.05).fit(X, y).add_classes(X[:5], [3] * 5)
    with pytest.raises(TypeError):
        BeMiClassifier(reject=0.05)


def test_a_class_that_is_added_is_known():
    X, y = load_wine(return_X_y=True)
    y = np.array(["a", "b", "c"])[y]
    old = y < "c"
    model = soft_margins(**QUICK, reject=0.05).fit(X[old], y[old])
    assert (model.predict(X[~old]) == "unclassified").mean() > 0.5
    model.add_classes(X, y, groups=np.arange(len(y)) // 2)
    assert (model.predict(X[~old]) == "c").mean() > 0.9
    known = model.ensemble_.known_ranges
    assert (known.steps.shape[0], known.tested, known.recordings) == (3, len(y), len(y) // 2)


def test_the_command_line_measures_it(tmp_path, capsys):
    X, y = load_wine(return_X_y=True)
    names = [f"c{place}" for place in range(X.shape[1])]
    table = pd.DataFrame(X, columns=names).assign(target=y).sample(frac=1, random_state=0)
    table[:120].to_csv(tmp_path / "train.csv", index=False)
    table[120:].to_csv(tmp_path / "test.csv", index=False)
    (2 * table.drop(columns="target")).to_csv(tmp_path / "other.csv", index=False)
    files = {name: str(tmp_path / name) for name in ("train.csv", "test.csv", "other.csv", "model.bemi")}
    train = ["train", files["train.csv"], "--target", "target", "-o", files["model.bemi"], "--inputs", "bits"]
    assert main([*train, "--reject", "0.05"]) == 0
    words = capsys.readouterr().out
    assert re.search(r"unknown rows are .* an expected 5.0 % of known rows, and \d+ % of the rows of a class", words)
    evaluate = ["evaluate", files["model.bemi"], files["test.csv"], "--target", "target"]
    assert main([*evaluate, "--unknown", files["other.csv"]]) == 0
    shown = capsys.readouterr().out
    assert "known rows rejected (expected: 5.0 %)" in shown
    assert "of 178 unknown rows rejected" in shown
    assert main(["info", files["model.bemi"]]) == 0
    assert "an expected 5.0 % of known rows" in " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert main(["export", "verilog", files["model.bemi"], "-o", str(tmp_path / "circuit")]) == 2
    assert "circuits label every row" in capsys.readouterr().err
    assert main(train) == 0
    assert main([*evaluate, "--unknown", files["other.csv"]]) == 2
    assert "labels every row" in capsys.readouterr().err
