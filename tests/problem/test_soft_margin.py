"""The soft-margin objective, against its definition written out in fractions, and what its problems refuse."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bemi import Network
from bemi.problem import Problem, SoftMargin, missing_margin, row_hinges, row_norms, soft_value


def by_hand(data, codes, weights, soft, row_weights=None):
    """The objective term by term."""
    total = Fraction(0)
    for j, t in enumerate(soft.resolutions):
        column = [int(w) for w in weights[:, j]]
        total += Fraction(sum(w * w for w in column), 2)
        for k, row in enumerate(data.tolist()):
            norm = int(np.floor(np.sqrt(float(sum(v * v for v in row)))))
            if norm == 0:
                continue
            y = Fraction(int(codes[k, j]) * sum(a * b for a, b in zip(row, column, strict=True)), norm)
            omega = 1 if row_weights is None else Fraction(int(row_weights[k]), 65536)
            if soft.hinges == 1:
                loss = max(Fraction(0), t - y)
            else:
                loss = max(Fraction(0), t / 2 - y) / 2 + max(Fraction(0), 3 * t / 2 - y) / 2
            total += soft.price * t * omega * loss
    return total


@st.composite
def cases(draw):
    inputs, outputs, rows = draw(st.integers(1, 4)), draw(st.integers(1, 2)), draw(st.integers(0, 6))
    largest = draw(st.sampled_from([1, 6, 4000]))

    def table(height, width, low, high):
        cells = st.lists(st.integers(low, high), min_size=width, max_size=width)
        found = draw(st.lists(cells, min_size=height, max_size=height))
        return np.array(found, dtype=np.int64).reshape(height, width)

    data = table(rows, inputs, -largest, largest)
    codes = 2 * table(rows, outputs, 0, 1) - 1
    fractions = st.fractions(Fraction(1, 50), 1000, max_denominator=2**10)
    soft = SoftMargin(
        draw(fractions), tuple(draw(fractions) for _ in range(outputs)), hinges=draw(st.sampled_from([1, 2]))
    )
    most = draw(st.sampled_from([2**17, 2**47]))
    omega = draw(st.none() | st.just(0).map(lambda _: table(rows, 1, 1, most)[:, 0]))
    return data, codes, table(inputs, outputs, -7, 7), soft, omega


@given(cases())
def test_the_objective_is_its_definition(case):
    data, codes, weights, soft, omega = case
    assert soft_value(data, codes, weights, soft, omega) == by_hand(data, codes, weights, soft, omega)


def test_a_weight_is_a_number_of_equal_rows():
    rng = np.random.default_rng(0)
    data, codes = rng.integers(-9, 10, (5, 3)), rng.choice([-1, 1], (5, 1))
    repeats = np.array([1, 3, 2, 1, 4])
    soft = SoftMargin(Fraction(3), (Fraction(5, 4),), hinges=2)
    network = Network((rng.integers(-2, 3, (3, 1)),), 2)
    once = Problem(data, codes, (), 2, soft, row_weights=repeats * 2**16)
    again = Problem(np.repeat(data, repeats, axis=0), np.repeat(codes, repeats, axis=0), (), 2, soft)
    assert once.soft_value(network) == again.soft_value(network)
    some = np.array([True, False, True, True, False])
    assert once.rows(some).row_weights.tolist() == (repeats[some] * 2**16).tolist()


def test_norms_of_any_type_and_size():
    for data in (np.array([[100, 100]], dtype=np.int8), np.array([[2**40, -(2**40)]]), np.array([[0, 0]])):
        (norm,) = row_norms(data).tolist()
        square = sum(int(v) ** 2 for v in data[0])
        assert norm**2 <= square < (norm + 1) ** 2
    assert row_norms(np.empty((3, 0), dtype=np.int64)).tolist() == [0, 0, 0]


def test_two_hinges_follow_the_logistic_loss_more_closely():
    y = np.linspace(-4, 4, 801)
    smooth = np.log2(1 + np.exp2(1 - y))
    assert np.abs(loss(2, y) - smooth).max() < np.abs(loss(1, y) - smooth).max()


@pytest.mark.parametrize(
    ("share", "one", "two"), [(0.2, -1, -1.5), (0.4, -1, -0.5), (0.55, 1, 0.5), (0.65, 1, 0.5), (0.7, 1, 1.5)]
)
def test_the_best_margin_of_equal_rows_has_the_sign_of_most_of_them(share, one, two):
    y = np.linspace(-4, 4, 801)
    for hinges, best in ((1, one), (2, two)):
        assert y[np.argmin(share * loss(hinges, y) + (1 - share) * loss(hinges, -y))] == pytest.approx(best)


def loss(hinges, y):
    """Of a row at the price 1 and t = 1, by its margin."""
    terms = row_hinges(SoftMargin(Fraction(1), (Fraction(1),), hinges), 0)
    return sum(float(term.price) * np.maximum(0, float(term.target) - y) for term in terms)


def test_nothing_is_missing_without_rows():
    nothing = np.empty(0, dtype=np.int64)
    assert missing_margin(nothing, nothing, Fraction(1)) == 0


CODES = np.array([[1], [-1]])
DATA = np.array([[1, 2], [3, -4]])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"row_weights": np.array([1])}, r"one number for each of 2 rows, got \(1,\)"),
        ({"row_weights": np.array([1, 0])}, "leave out rows without weight"),
        ({"row_weights": np.array([1, 2**47 + 1])}, r"integers in 1\.\."),
        ({"row_weights": np.array([1.0, 2.0])}, "row_weights must be integers"),
        ({"signs": np.array([1, 0])}, "for each of 2 inputs and 1 outputs"),
        ({"signs": np.array([[2], [0]])}, "signs must be -1, 0 or 1"),
        ({"signs": np.array([[1], [0]]), "hidden_layers": (2,)}, "without a hidden layer"),
        ({"uncounted": (2,)}, r"different inputs in 0\.\.1, got \(2,\)"),
        ({"uncounted": (0, 0)}, "different inputs"),
    ],
)
def test_what_does_not_fit_is_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        Problem(DATA, CODES, **fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"hinges": 3}, "hinges must be one of 1, 2"),
        ({"hinges": True}, "hinges must be one of 1, 2"),
        ({"max_links": 0}, "max_links must be None or an integer of at least 1"),
        ({"price": Fraction(0)}, "must be positive"),
        ({"resolutions": (Fraction(-1),)}, "must be positive"),
    ],
)
def test_bad_soft_margins_are_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        SoftMargin(**({"price": Fraction(1), "resolutions": (Fraction(1),)} | fields))


def test_signs_and_links_decide_what_is_allowed():
    soft = SoftMargin(Fraction(1), (Fraction(1),), max_links=1)
    data = np.array([[1, 2, 5], [3, -4, 5]])
    problem = Problem(data, CODES, (), 3, soft, signs=np.array([[1], [-1], [0]]), uncounted=(2,))
    low, high = problem.weight_range()
    assert (low[:, 0].tolist(), high[:, 0].tolist()) == ([0, -3, -3], [3, 0, 3])
    for column, right in {(1, 0, 2): True, (0, -3, -2): True, (1, -1, 0): False, (-1, 0, 0): False}.items():
        assert problem.allows(Network((np.array(column)[:, None],), 3)) is right
    biased = problem.with_biases()
    assert biased.uncounted == (2, 3)
    assert biased.signs[:, 0].tolist() == [1, -1, 0, 0]
