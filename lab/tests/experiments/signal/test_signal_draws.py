"""Which windows train and which test."""

import numpy as np
import pytest
from bemi_lab.experiments.signal.draws import Draw, draw
from bemi_lab.experiments.signal.sets import Windows


def windows(counts, groups=None):
    y = np.repeat([f"class {i}" for i in range(len(counts))], counts)
    return Windows("some", np.zeros((len(y), 5, 1)), y, groups)


def test_so_many_of_every_class_and_others_to_test():
    few = windows([30, 400, 12])
    train, test = draw("per-class-10").of(few, 3)
    assert np.unique(few.y[train], return_counts=True)[1].tolist() == [10, 10, 10]
    assert len(test) == 200
    assert not set(train) & set(test)
    assert len(set(train)) == 30
    again, _ = draw("per-class-10").of(few, 3)
    other, _ = draw("per-class-10").of(few, 4)
    assert np.array_equal(train, again)
    assert not np.array_equal(train, other)


def test_people_are_in_one_half_only():
    rng = np.random.default_rng(0)
    of_people = windows([40, 40], rng.integers(0, 6, 80))
    for seed in range(5):
        train, test = draw("per-class-5").of(of_people, seed)
        assert np.unique(of_people.y[train], return_counts=True)[1].tolist() == [5, 5]
        people = set(of_people.groups[test])
        assert len(people) == 3
        assert not people & set(of_people.groups[train])


def test_every_class_needs_windows_to_test():
    assert draw("per-class-9").takes_part(windows([10, 20]))
    assert not draw("per-class-10").takes_part(windows([10, 20]))


def test_names():
    assert draw("per-class-20") == Draw("per-class-20", 20)
    assert draw("per-class-20").title == "20 per class"
    for name in ("fold", "per-class-0", "per-class-x", "random-5"):
        with pytest.raises(ValueError, match="unknown draw"):
            draw(name)
