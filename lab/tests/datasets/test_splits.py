"""Splits of tables, against a plain reading of their description in loops, and of windows."""

import numpy as np
import pytest
from bemi_lab.datasets import Dataset, Split
from sklearn.model_selection import StratifiedKFold

LABELS = np.array((["b"] * 70 + ["a"] * 150 + ["c"] * 9) * 8)[np.random.default_rng(0).permutation(8 * 229)]
FEW = np.array(["x"] * 40 + ["y"] * 30 + ["z"] * 10)


def described_per_class(labels, n, seed):
    """For each class in order a permutation of its rows, the first n (at most 70 %) to train, all others to test."""
    generator = np.random.default_rng(1000 + seed)
    train, test = [], []
    for label in sorted(set(labels.tolist())):
        rows = [row for row in range(len(labels)) if labels[row] == label]
        permuted = list(generator.permutation(rows))
        limit = min(n, int(0.7 * len(rows)))
        train += permuted[:limit]
        test += permuted[limit:]
    if len(test) > 1000:
        test = list(generator.permutation(test))[:1000]
    return train, test


@pytest.mark.parametrize("labels", [LABELS, FEW])
@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.parametrize("seed", [0, 4])
def test_rows_per_class(labels, n, seed):
    train, test = Split.parse(f"per-class-{n}").of_table(labels, seed)
    expected = described_per_class(labels, n, seed)
    assert (train.tolist(), test.tolist()) == expected
    assert not set(train) & set(test)


def test_small_classes_keep_rows_to_test():
    train, test = Split.parse("per-class-20").of_table(FEW, 0)
    assert [np.count_nonzero(FEW[train] == label) for label in "xyz"] == [20, 20, 7]
    assert [np.count_nonzero(FEW[test] == label) for label in "xyz"] == [20, 10, 3]


@pytest.mark.parametrize(("n", "there"), [(21, True), (22, False), (28, False)])
def test_the_two_largest_classes_decide_who_takes_part(n, there):
    assert Split.parse(f"per-class-{n}").suits_table(FEW) == there


def test_folds():
    rows = sorted(np.random.default_rng(7).permutation(len(LABELS))[:1000].tolist())
    own = [LABELS[row] for row in rows]
    machinery = StratifiedKFold(n_splits=5, shuffle=True, random_state=3)
    seen = []
    for index, (train, test) in enumerate(machinery.split(np.zeros((1000, 1)), own)):
        found = Split.parse("fold").of_table(LABELS, index)
        assert found[0].tolist() == [rows[i] for i in train]
        assert found[1].tolist() == [rows[i] for i in test]
        seen += found[1].tolist()
    assert sorted(seen) == rows


def test_random_rows():
    train, test = Split.parse("random-40").of_table(LABELS, 3)
    order = np.random.default_rng(2003).permutation(len(LABELS))
    assert train.tolist() == order[:40].tolist()
    assert len(test) == 1000
    assert set(test) <= set(order[40:])
    assert Split.parse("random-56").suits_table(FEW)
    assert not Split.parse("random-57").suits_table(FEW)


@pytest.mark.parametrize("name", ["per-class", "per-class-x", "per-class-0", "folds", "random"])
def test_unknown_splits(name):
    with pytest.raises(ValueError, match=f"unknown split '{name}'; known: per-class-N"):
        Split.parse(name)


def windows(counts, groups=None):
    y = np.repeat([f"class {i}" for i in range(len(counts))], counts)
    return Dataset.without_test("some", np.zeros((len(y), 5, 1)), y, groups=groups)


def test_so_many_of_every_class_and_others_to_test():
    few = windows([30, 400, 12])
    train, test = Split.parse("per-class-10").of_windows(few.train_y, few.groups, 3)
    assert np.unique(few.train_y[train], return_counts=True)[1].tolist() == [10, 10, 10]
    assert len(test) == 200
    assert not set(train) & set(test)
    assert len(set(train)) == 30
    again, _ = Split.parse("per-class-10").of_windows(few.train_y, few.groups, 3)
    other, _ = Split.parse("per-class-10").of_windows(few.train_y, few.groups, 4)
    assert np.array_equal(train, again)
    assert not np.array_equal(train, other)


def test_people_are_in_one_half_only():
    rng = np.random.default_rng(0)
    of_people = windows([40, 40], rng.integers(0, 6, 80))
    for seed in range(5):
        train, test = Split.parse("per-class-5").of_windows(of_people.train_y, of_people.groups, seed)
        assert np.unique(of_people.train_y[train], return_counts=True)[1].tolist() == [5, 5]
        people = set(of_people.groups[test])
        assert len(people) == 3
        assert not people & set(of_people.groups[train])


def test_every_class_needs_windows_to_test():
    assert Split.parse("per-class-9").suits_windows(windows([10, 20]).train_y)
    assert not Split.parse("per-class-10").suits_windows(windows([10, 20]).train_y)
    with pytest.raises(ValueError, match="split by per-class-N, got 'fold'"):
        Split.parse("fold").suits_windows(LABELS)


def test_titles():
    titles = {name: Split.parse(name).title for name in ("per-class-20", "random-40", "fold")}
    assert titles == {"per-class-20": "20 per class", "random-40": "40 random rows", "fold": "5-fold"}
