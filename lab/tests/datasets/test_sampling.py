"""Few-shot samples: how many of what, by chance, and never a training row among the test rows."""

import numpy as np
import pytest
from bemi_lab.datasets import Dataset, Split, draw, sample, split
from hypothesis import given
from hypothesis import strategies as st

LABELS = np.random.default_rng(1).permutation(np.repeat([3, 5, 8], [20, 30, 25]))


def test_draw_takes_as_many_of_every_class_in_order_and_none_twice():
    chosen = draw(LABELS, 7, seed=0)
    assert LABELS[chosen].tolist() == [3] * 7 + [5] * 7 + [8] * 7
    assert len(set(chosen.tolist())) == 21


def test_draw_can_take_a_whole_class():
    assert sorted(draw(LABELS, 20, seed=0)[:20].tolist()) == np.flatnonzero(LABELS == 3).tolist()


def test_draw_follows_the_seed():
    assert draw(LABELS, 7, seed=3).tolist() == draw(LABELS, 7, seed=3).tolist()
    assert draw(LABELS, 7, seed=3).tolist() != draw(LABELS, 7, seed=4).tolist()


def test_draw_is_uniform():
    counts = np.bincount(np.concatenate([draw([0] * 10, 3, seed) for seed in range(1000)]), minlength=10)
    # 300 expected of each, standard deviation 14.5.
    assert np.abs(counts - 300).max() < 75


@pytest.mark.parametrize(("per_class", "words"), [(21, "class 3 has only 20 rows, 21 requested"), (0, "at least 1")])
def test_draw_refuses(per_class, words):
    with pytest.raises(ValueError, match=words):
        draw(LABELS, per_class, seed=0)


def numbered(train_y, test_y=()) -> Dataset:
    """A set whose only feature is the number of the row; test rows count down from -1."""
    train_y, test_y = np.array(train_y, dtype=np.int64), np.array(test_y, dtype=np.int64)
    return Dataset("numbered", np.arange(len(train_y))[:, None], train_y, -1 - np.arange(len(test_y))[:, None], test_y)


@st.composite
def labels(draw, classes):
    """Labels of at least two rows of each class, in any order."""
    counts = [draw(st.integers(2, 12)) for _ in classes]
    return draw(st.permutations(np.repeat(classes, counts).tolist()))


@st.composite
def sets(draw):
    classes = draw(st.lists(st.integers(0, 20), min_size=1, max_size=4, unique=True))
    return numbered(draw(labels(classes)), draw(labels(classes)) if draw(st.booleans()) else ())


@st.composite
def questions(draw):
    """A set, rows per class that it has, an index, a seed, and some of its classes."""
    data = draw(sets())
    known, counts = np.unique(data.train_y, return_counts=True)
    per_class = draw(st.integers(1, int(counts.min())))
    most = counts.min() // per_class - 1 if data.has_test else 5
    classes = draw(st.lists(st.sampled_from(known.tolist()), min_size=1, unique=True))
    return data, per_class, draw(st.integers(0, int(most))), draw(st.integers(0, 2**40)), classes


@given(questions())
def test_samples_have_the_rows_asked_for(question):
    data, per_class, index, seed, classes = question
    given = sample(data, per_class, index, seed, classes)
    rows = given.train_X[:, 0]
    assert len(set(rows.tolist())) == len(rows)
    assert given.train_y.tolist() == np.repeat(sorted(classes), per_class).tolist()
    assert np.array_equal(data.train_y[rows], given.train_y)
    assert given.disjoint == data.has_test


@given(questions())
def test_test_rows_are_all_others_or_those_of_the_test_part(question):
    data, per_class, index, seed, classes = question
    given = sample(data, per_class, index, seed, classes)
    trained, tested = set(given.train_X[:, 0].tolist()), given.test_X[:, 0].tolist()
    assert not trained & set(tested)
    if data.has_test:
        assert set(tested) == {-1 - row for row, label in enumerate(data.test_y) if label in classes}
        assert np.array_equal(data.test_y[-1 - given.test_X[:, 0]], given.test_y)
    else:
        assert trained | set(tested) == {row for row, label in enumerate(data.train_y) if label in classes}
        assert np.array_equal(data.train_y[given.test_X[:, 0]], given.test_y)
    assert len(set(tested)) == len(tested)


@given(questions())
def test_a_class_does_not_depend_on_the_others(question):
    data, per_class, index, seed, classes = question
    some, every = sample(data, per_class, index, seed, classes), sample(data, per_class, index, seed)
    assert np.array_equal(some.train_X, every.train_X[np.isin(every.train_y, classes)])


@given(questions())
def test_larger_samples_of_index_0_hold_smaller_ones(question):
    data, per_class, _, seed, _ = question
    one, more = sample(data, 1, 0, seed), sample(data, per_class, 0, seed)
    assert set(one.train_X[:, 0]) <= set(more.train_X[:, 0])


@given(questions())
def test_samples_of_a_set_with_a_test_part_are_disjoint_and_end(question):
    data, per_class, _, seed, classes = question
    if not data.has_test:
        return
    fewest = min(np.count_nonzero(data.train_y == label) for label in classes)
    count = fewest // per_class
    rows = np.concatenate([sample(data, per_class, i, seed, classes).train_X[:, 0] for i in range(count)])
    assert len(set(rows.tolist())) == count * per_class * len(classes)
    with pytest.raises(ValueError, match=f"the last index is {count - 1}, got {count}"):
        sample(data, per_class, count, seed, classes)


def test_samples_of_a_set_without_a_test_part_do_not_end():
    data = numbered([0, 0, 0, 1, 1, 1])
    drawn = {tuple(sample(data, 2, index).train_X[:, 0].tolist()) for index in range(100)}
    # Six ordered pairs of each class.
    assert 30 <= len(drawn) <= 36


@pytest.mark.parametrize("test_y", [(), (0, 1)], ids=["undivided", "divided"])
def test_samples_follow_the_seed_and_the_index(test_y):
    data = numbered([0] * 50 + [1] * 50, test_y)

    def rows(index, seed):
        return sample(data, 10, index, seed).train_X[:, 0].tolist()

    assert rows(1, 2) == rows(1, 2)
    assert len({tuple(rows(index, seed)) for index in range(3) for seed in range(3)}) == 9


@pytest.mark.parametrize("test_y", [(), (0, 1)], ids=["undivided", "divided"])
@pytest.mark.parametrize("index", [0, 2])
def test_samples_are_uniform(test_y, index):
    data = numbered([0, 1] * 10, test_y)
    rows = np.concatenate([sample(data, 3, index, seed).train_X[:, 0] for seed in range(1000)])
    # 300 expected of each, standard deviation 14.5.
    assert np.abs(np.bincount(rows, minlength=20) - 300).max() < 75


def test_classes_are_drawn_independently():
    """Two classes of the same size must not get the same positions."""
    data = numbered([0] * 10 + [1] * 10)
    chosen = [sample(data, 3, index).train_X[:, 0] for index in range(20)]
    assert any(set(rows[:3]) != set(rows[3:] - 10) for rows in chosen)


def test_the_published_split_has_all_rows():
    dataset = numbered([0, 1, 1], [0, 1] * 850)
    given = Split.parse("published").of_images(dataset, 0, 0)
    assert np.array_equal(given.train_X, dataset.train_X)
    assert np.array_equal(given.train_y, dataset.train_y)
    assert np.array_equal(given.test_X, dataset.test_X)
    assert np.array_equal(given.test_y, dataset.test_y)


def test_the_first_800_test_rows_of_each_class():
    test_y = [0, 1] * 850 + [1] * 10
    given = sample(numbered([0, 1], test_y), 1, 0)
    assert given.test_y.tolist() == [0] * 800 + [1] * 800
    assert (-1 - given.test_X[:, 0]).tolist() == [*range(0, 1600, 2), *range(1, 1600, 2)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"per_class": 0, "index": 0}, "per_class must be an integer of at least 1, got 0"),
        ({"per_class": 1, "index": -1}, "index must be an integer of at least 0, got -1"),
        ({"per_class": 4, "index": 0}, "class 0 has only 3 rows, 4 requested"),
        ({"per_class": 1, "index": 0, "classes": ()}, r"classes must be some of 0, 1, got \(\)"),
        ({"per_class": 1, "index": 0, "classes": (1, 2)}, r"classes must be some of 0, 1, got \(1, 2\)"),
    ],
)
@pytest.mark.parametrize("test_y", [(), (0, 1)], ids=["undivided", "divided"])
def test_sample_refuses(arguments, words, test_y):
    with pytest.raises(ValueError, match=words):
        sample(numbered([0, 0, 0, 1, 1, 1, 1], test_y), **arguments)


def paper_rows_one_by_one(labels, label, per_class, index, sizes):
    """The paper's samples dealt out image by image: all five of each size in turn, until the one asked for is full."""
    waiting = iter([row for row, known in enumerate(labels) if known == label])
    for size in sizes:
        for number in range(5):
            hand = [next(waiting) for _ in range(size)]
            if (size, number) == (per_class, index):
                return hand
    return None


@pytest.mark.parametrize("sizes", [(2, 3), (3, 2), (1, 2, 4)])
@pytest.mark.parametrize("test_y", [(), (3, 5)], ids=["undivided", "divided"])
def test_the_papers_samples_are_dealt_out_in_file_order(sizes, test_y):
    data = numbered(np.random.default_rng(2).permutation(np.repeat([3, 5], [40, 50])), test_y)
    seen: list[int] = []
    for per_class in sizes:
        for index in range(5):
            given = sample(data, per_class, index, rule="paper", sizes=sizes)
            expected = [paper_rows_one_by_one(data.train_y, label, per_class, index, sizes) for label in (3, 5)]
            assert given.train_X[:, 0].tolist() == np.concatenate(expected).tolist()
            assert given.train_y.tolist() == [3] * per_class + [5] * per_class
            assert given.disjoint
            if not test_y:
                assert sorted([*given.train_X[:, 0], *given.test_X[:, 0]]) == list(range(90))
            seen += given.train_X[:, 0].tolist()
    assert len(set(seen)) == len(seen) == 2 * 5 * sum(sizes)


def test_the_papers_samples_ignore_the_seed_and_other_classes():
    data = numbered([0, 1, 2] * 30, [0, 1, 2])
    one, other = (sample(data, 4, 2, *how, rule="paper", sizes=(1, 4)) for how in ((0, None), (9, [2])))
    assert one.train_X[one.train_y == 2].tolist() == other.train_X.tolist()
    assert set(other.test_y) == {2}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rule": "paper"}, "the paper's images depend on all sizes of an experiment; give them"),
        ({"rule": "paper", "sizes": ()}, "give them, such as"),
        ({"rule": "paper", "sizes": (1, 3)}, "samples of 1, 3 per class, got 2"),
        ({"rule": "paper", "sizes": (2, 2)}, "sizes must be positive and different, got 2, 2"),
        ({"rule": "paper", "sizes": (0, 2)}, "sizes must be positive and different, got 0, 2"),
        ({"rule": "paper", "sizes": (2,), "index": 5}, "5 samples of each size, numbered 0 to 4, got 5"),
        ({"rule": "paper", "sizes": (2,), "index": -1}, "index must be an integer of at least 0, got -1"),
        ({"rule": "paper", "sizes": (1, 2)}, "class 1 has only 6 rows, and this sample ends with row 7 of the class"),
        ({"sizes": (2,)}, "random samples do not depend on other sizes"),
        ({"rule": "first"}, "rule must be one of random, paper, got 'first'"),
    ],
)
def test_sample_refuses_what_is_no_sample_of_the_papers(arguments, words):
    with pytest.raises(ValueError, match=words) as error:
        sample(numbered([0] * 9 + [1] * 6, [0, 1]), **{"per_class": 2, "index": 0} | arguments)
    assert "\n" not in str(error.value)


# Experiments 2, 3 and 4, and 5: which images of each class the last sample of the last size has, worked out by hand.
@pytest.mark.parametrize(
    ("sizes", "per_class", "index", "first"),
    [
        ((2, 6, 10), 2, 0, 0),
        ((2, 6, 10), 10, 4, 80),
        ((10, 20, 30, 40), 10, 0, 0),
        ((10, 20, 30, 40), 40, 4, 460),
        ((2, 6, 10, 20, 30, 40), 20, 1, 110),
        ((2, 6, 10, 20, 30, 40), 40, 4, 500),
    ],
)
@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_the_papers_images_of_real_sets(real_set, name, sizes, per_class, index, first):
    data = real_set(name)
    given = sample(data, per_class, index, classes=(4, 9), rule="paper", sizes=sizes)
    for label in (4, 9):
        rows = paper_rows_one_by_one(data.train_y, label, per_class, index, sizes)
        assert np.flatnonzero(data.train_y == label)[first] == rows[0]
        assert np.array_equal(given.train_X[given.train_y == label], data.train_X[rows])


@given(sets(), st.data())
def test_split_divides_random_rows(data, choices):
    rows = choices.draw(st.integers(2, len(data.train_y)) if len(data.train_y) > 2 else st.just(2))
    test = choices.draw(st.integers(1, rows - 1))
    given = split(data, choices.draw(st.integers(0, 5)), choices.draw(st.integers(0, 2**40)), rows=rows, test=test)
    trained, tested = given.train_X[:, 0], given.test_X[:, 0]
    assert (len(trained), len(tested)) == (rows - test, test)
    assert len({*trained.tolist(), *tested.tolist()}) == rows
    assert np.array_equal(data.train_y[trained], given.train_y)
    assert np.array_equal(data.train_y[tested], given.test_y)
    assert not given.disjoint


def test_split_is_uniform_and_follows_seed_and_index():
    data = numbered([0] * 20)
    every = [split(data, index, seed, rows=10, test=4) for index in range(50) for seed in range(20)]
    for rows, expected in (([s.train_X for s in every], 300), ([s.test_X for s in every], 200)):
        # Standard deviations 14.5 and 12.6.
        assert np.abs(np.bincount(np.concatenate(rows)[:, 0], minlength=20) - expected).max() < 75
    assert len({tuple(s.train_X[:, 0].tolist()) for s in every}) > 990


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rows": 4, "test": 4}, "rows must be more than the 4 test rows and at most the 6 rows of numbered, got 4"),
        ({"rows": 7, "test": 2}, "at most the 6 rows of numbered, got 7"),
        ({"rows": 4, "test": 0}, "test must be an integer of at least 1, got 0"),
        ({"index": -1, "rows": 4, "test": 2}, "index must be an integer of at least 0, got -1"),
    ],
)
def test_split_refuses(arguments, words):
    with pytest.raises(ValueError, match=words):
        split(numbered([0] * 6), **{"index": 0} | arguments)


def test_heart_disease_is_split_as_in_the_paper(real_set):
    given = split(real_set("heart-disease"), 0)
    assert (given.train_X.shape, given.test_X.shape) == ((160, 13), (40, 13))
