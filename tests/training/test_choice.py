"""Choosing settings by cross-validation on the training rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from soft_margins import choosing, soft_margins

from bemi import ConstantInput, FewBitClassifier, TableBits, load, save
from bemi.inputs.table.text import ColumnWarning
from bemi.settings import SETTINGS
from bemi.training import Candidate, choose
from bemi.training.choice import MOST_ROWS
from bemi.training.svm import Answers

SOFT = {"weight_bound": 7, "time_limit": 2.0, "probabilities": False}
STEPS = Candidate("steps", {"inputs": TableBits(), "C": 3.0})
LINES = Candidate("lines", {"inputs": ConstantInput(), "C": 3.0})
DEFAULTS = {name: setting.default for name, setting in SETTINGS.items()} | {"weight_bound": 7}


def between(rows, seed):
    """A label that no line finds: whether a number is between two others."""
    X = np.random.default_rng(seed).uniform(-3, 3, (rows, 2)).round(2)
    return X, (np.abs(X[:, 0]) < 1.5).astype(int)


def along(rows, seed):
    """A label that a line finds, and steps find roughly."""
    X = np.random.default_rng(seed).uniform(-3, 3, (rows, 2)).round(2)
    return X, (X[:, 0] > X[:, 1]).astype(int)


@pytest.mark.parametrize(("made", "best"), [(between, "steps"), (along, "lines")])
@pytest.mark.parametrize("order", [1, -1])
def test_the_candidate_that_suits_the_data_is_chosen(made, best, order):
    X, y = made(80, 1)
    choice = choose([STEPS, LINES][::order], X, y, defaults=DEFAULTS, weights=None, seed=0)
    assert choice.name == best
    assert choice.accuracies[best] == max(choice.accuracies.values())
    assert choice.low <= choice.expected <= choice.high
    assert f"{best}; expected accuracy on new rows" in choice.in_words()


def test_the_estimate_holds_on_new_rows():
    """Over several draws, on average within a few points, and mostly within the range."""
    errors, inside = [], 0
    for seed in range(12):
        X, y = between(60, seed)
        noisy = np.where(np.random.default_rng(seed).random(60) < 0.15, 1 - y, y)
        classifier = choosing(STEPS, LINES, **SOFT, random_state=seed).fit(X, noisy)
        new, truth = between(2000, 1000 + seed)
        noise = np.random.default_rng(50 + seed).random(2000) < 0.15
        accuracy = np.mean(classifier.predict(new) == np.where(noise, 1 - truth, truth))
        errors.append(classifier.choice_.expected - accuracy)
        inside += classifier.choice_.low <= accuracy <= classifier.choice_.high
    assert abs(np.mean(errors)) < 0.05
    assert inside >= 10


def test_random_labels_are_estimated_at_chance():
    """The best of many candidates looks good by chance; the estimate must not, on average over draws."""
    many = [Candidate(f"{t}, {c}", {"inputs": TableBits(t), "C": c}) for t in (2, 4, 8) for c in (0.1, 1.0, 10.0)]
    expected, best = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 3)), rng.permutation([0, 1] * 20)
        choice = choose(many, X, y, defaults=DEFAULTS, weights=None, seed=0)
        expected.append(choice.expected)
        best.append(max(choice.accuracies.values()))
        assert choice.expected <= best[-1]
    assert abs(np.mean(expected) - 0.5) < 0.05 < np.mean(best) - 0.5


def test_the_fitted_classifier_is_that_of_the_choice(tmp_path):
    X, y = between(60, 3)
    classifier = choosing(LINES, STEPS, **SOFT, node_limit=5).fit(X, y)
    plain = soft_margins(**SOFT, node_limit=5, inputs=TableBits(), C=3.0).fit(X, y)
    assert classifier.choice_.name == "steps"
    assert plain.choice_.accuracies == {}
    assert classifier.networks_ == plain.networks_
    assert classifier.get_params()["inputs"] == "auto"
    assert isinstance(classifier.transform_, TableBits)
    save(classifier, tmp_path / "chosen.bemi")
    save(plain, tmp_path / "plain.bemi")
    assert load(tmp_path / "chosen.bemi").networks_ == load(tmp_path / "plain.bemi").networks_
    assert load(tmp_path / "chosen.bemi").choice_ is None


def test_a_choice_sees_the_training_rows_alone():
    """Rows that are held out must not change what is chosen, so each fold chooses for itself."""
    X, y = between(60, 4)
    classifier = choosing(LINES, STEPS, **SOFT)
    assert cross_val_score(classifier, X, y, cv=3).mean() > 0.7
    assert classifier.choice_ is None


def test_too_few_rows_to_choose():
    classifier = choosing(LINES, STEPS, **SOFT).fit([[0.5, 1], [1, 2], [3, 4]], [0, 1, 1])
    assert classifier.choice_.name == "lines"
    assert classifier.choice_.expected is None
    assert "too few rows" in classifier.choice_.in_words()


def test_many_rows_are_sampled_class_by_class():
    X, y = between(2 * MOST_ROWS, 5)
    choice = choose([LINES, STEPS], X, y, defaults=DEFAULTS, weights=None, seed=0)
    assert (choice.name, choice.repeats) == ("steps", 1)


def test_weights_count_in_the_choice():
    """Without the rows that only steps get right, lines are best."""
    easy, easy_y = along(60, 6)
    hard, hard_y = between(60, 7)
    X, y = np.concatenate([easy, hard]), np.concatenate([easy_y, hard_y])
    for weight, best in ((1e-6, "lines"), (1e3, "steps")):
        weights = np.concatenate([np.ones(60), np.full(60, weight)])
        assert choose([LINES, STEPS], X, y, defaults=DEFAULTS, weights=weights, seed=0).name == best


def test_a_rare_class_is_not_given_up():
    """Where all rows are said to be of the frequent class, accuracy is hardly worse; but nothing was learned."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 4))
    y = np.zeros(400, dtype=int)
    y[:20], X[:20] = 1, X[:20] + 1.2
    timid, bold = Candidate("timid", {"C": 1e-4}), Candidate("bold", {"C": 10.0})
    defaults = DEFAULTS | {"inputs": TableBits(thresholds=0, values=True)}
    choice = choose([timid, bold], X, y, defaults=defaults, weights=None, seed=0)
    assert choice.accuracies["timid"] > 0.94
    assert choice.name.startswith("bold")


def test_weighted_estimates_say_so():
    X, y = between(60, 9)
    even = choose([STEPS], X, y, defaults=DEFAULTS, weights=None, seed=0)
    uneven = choose([STEPS], X, y, defaults=DEFAULTS, weights=1.0 + y, seed=0)
    assert (even.weighted, uneven.weighted) == (False, True)
    assert "weighted" in uneven.in_words()
    assert "weighted" not in even.in_words()


def test_classes_are_added_with_the_chosen_settings():
    X, y = between(60, 8)
    three = np.where(X[:, 1] > 1.5, 2, y)
    old = three < 2
    classifier = choosing(LINES, STEPS, **SOFT).fit(X[old], three[old])
    classifier.add_classes(X[~old], three[~old])
    assert classifier.classes_.tolist() == [0, 1, 2]
    assert classifier.score(X, three) > 0.8


def test_data_frames_are_taken_as_they_are():
    table = pd.DataFrame({"size": [1.0, 2.5, np.nan, 4.0] * 10, "colour": ["red", "blue", None, "red"] * 10})
    y = np.array(["a", "b", "b", "a"] * 10)
    chosen = FewBitClassifier(time_limit=2.0).fit(table, y)
    assert chosen.score(table, y) == 1
    assert chosen.choice_.expected is not None


def rare(rows, seed):
    """Few rows of one class, which one number makes a little more likely, so that all labels are the other class."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (rows, 3)).round(2)
    return X, (rng.random(rows) < 0.01 + 0.1 * (X[:, 0] > 1.5)).astype(int)


def test_tables_are_chosen_by_the_order_of_rows_too():
    X, y = rare(900, 1)
    telling = [name for name in TableBits().fit(X).output_names() if name.startswith("feature 0")]
    inputs = {"blind": TableBits(without=telling), "all": TableBits()}
    candidates = [Candidate(name, {"inputs": bits, "C": 0.1}) for name, bits in inputs.items()]
    found = {
        by_rank: choose(candidates, X, y, defaults=DEFAULTS, weights=None, seed=0, by_rank=by_rank)
        for by_rank in (False, True)
    }
    assert len(set(found[True].accuracies.values())) == 1
    assert (found[False].name, found[True].name) == ("blind", "all")


def test_the_reason_says_what_decided():
    X = np.random.default_rng(0).uniform(0, 3, (300, 2))
    # No column tells anything, and no few thresholds do.
    checkerboard = np.floor(X @ [[0.8, 0.6], [0.6, -0.8]]).sum(axis=1) % 2
    choice = FewBitClassifier().choose(X, checkerboard)
    assert choice.name.startswith("similarities to training rows")
    assert choice.reason.endswith("chosen by accuracy plus AUC")


def test_an_order_counts_equal_scores_half():
    answers = Answers(np.zeros(5, int), np.array([[3.0], [1.0], [1.0], [0.0], [9.0]]), np.array([[0, 1]]), np.ones(1))
    targets, weights = np.array([0, 0, 1, 1, 2]), np.array([1.0, 1.0, 3.0, 1.0, 1.0])
    assert answers.in_order(targets, weights).tolist() == [1.0, (1.5 + 1) / 4, 0.75, 1.0, 0.5]


def test_drawn_rows_keep_rare_classes_and_their_weight():
    X, y = rare(5000, 2)
    sizes = np.bincount(y)
    choice = FewBitClassifier(inputs=TableBits(2), class_weight={0: 1, 1: 1}).choose(X, y)
    most = max(choice.accuracies.values())
    assert sizes[1] < 0.1 * sizes[0]
    # Labelled as the common class, all rows are right in its proportion, although the rare class has more of the draw.
    assert most == pytest.approx(sizes[0] / sizes.sum(), abs=2e-3)


def test_many_classes_are_announced_and_not_compared():
    rows = np.arange(303.0)[:, None]
    with pytest.warns(ColumnWarning, match=r"^101 classes take 5,050 networks, .* at least 1 min of"):
        choice = FewBitClassifier().choose(rows % 17, rows[:, 0] // 3)
    assert not choice.accuracies
    assert "settings are compared for up to 100 classes" in choice.in_words()


def test_with_many_rows_the_best_of_each_kind_are_compared_again():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (2000, 3)).round(3)
    y = (X[:, 0] * X[:, 1] * X[:, 2] + rng.normal(0, 0.03, 2000) > 0).astype(int)
    inputs = {"bits": TableBits(4), "rules": TableBits(4, rules=64)}
    candidates = [
        Candidate(f"{name}, C = {C:g}", {"inputs": bits, "C": C}) for name, bits in inputs.items() for C in (0.3, 3.0)
    ]
    few, many = (
        choose(candidates, X[:rows], y[:rows], defaults=DEFAULTS, weights=None, seed=0, by_rank=True)
        for rows in (1000, 2000)
    )
    assert few.name == many.name
    changed = [name for name in few.accuracies if few.accuracies[name] != many.accuracies[name]]
    assert many.name in changed
    assert many.accuracies[many.name] > few.accuracies[few.name], "rules gain from rows"
    assert many.rows == many.given == 2000
