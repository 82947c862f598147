"""Splits of tables, against a plain reading of their description in loops."""

import numpy as np
import pytest
from bemi_lab.experiments.tabular.splits import split
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
    train, test = split(f"per-class-{n}").draw(labels, seed)
    expected = described_per_class(labels, n, seed)
    assert (train.tolist(), test.tolist()) == expected
    assert not set(train) & set(test)


def test_small_classes_keep_rows_to_test():
    train, test = split("per-class-20").draw(FEW, 0)
    assert [np.count_nonzero(FEW[train] == label) for label in "xyz"] == [20, 20, 7]
    assert [np.count_nonzero(FEW[test] == label) for label in "xyz"] == [20, 10, 3]


@pytest.mark.parametrize(("n", "there"), [(21, True), (22, False), (28, False)])
def test_the_two_largest_classes_decide_who_takes_part(n, there):
    assert split(f"per-class-{n}").takes_part(FEW) == there


def test_folds():
    rows = sorted(np.random.default_rng(7).permutation(len(LABELS))[:1000].tolist())
    own = [LABELS[row] for row in rows]
    machinery = StratifiedKFold(n_splits=5, shuffle=True, random_state=3)
    seen = []
    for index, (train, test) in enumerate(machinery.split(np.zeros((1000, 1)), own)):
        found = split("fold").draw(LABELS, index)
        assert found[0].tolist() == [rows[i] for i in train]
        assert found[1].tolist() == [rows[i] for i in test]
        seen += found[1].tolist()
    assert sorted(seen) == rows


def test_random_rows():
    train, test = split("random-40").draw(LABELS, 3)
    order = np.random.default_rng(2003).permutation(len(LABELS))
    assert train.tolist() == order[:40].tolist()
    assert len(test) == 1000
    assert set(test) <= set(order[40:])
    assert split("random-56").takes_part(FEW)
    assert not split("random-57").takes_part(FEW)


@pytest.mark.parametrize("name", ["per-class", "per-class-x", "folds", "random"])
def test_unknown_splits(name):
    with pytest.raises(ValueError, match=f"unknown split '{name}'; known: per-class-N"):
        split(name)
