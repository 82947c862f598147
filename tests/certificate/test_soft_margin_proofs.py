"""The checker of soft margins: any proof it accepts holds for every network of a tiny problem, and forgeries fail."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from bemi.certificate import CertificateError, Rows
from bemi.certificate import softmargins as checker
from bemi.certificate.softmargins import Restrictions, SoftMargins
from bemi.problem import ROW_WEIGHT_UNIT, SoftMargin, soft_value

DENOMINATOR = 2**20


def text(number):
    return f"{Fraction(number).numerator:x}/{Fraction(number).denominator:x}"


class Case:
    """A tiny problem, and everything about it by enumeration."""

    def __init__(self, data, signs, bound, price, t, hinges, max_links, omega, sides, uncounted):
        self.data, self.signs, self.bound = data, signs, bound
        self.price, self.t, self.hinges, self.max_links = price, t, hinges, max_links
        self.omega, self.sides, self.uncounted = omega, sides, uncounted
        self.norms = [math.isqrt(sum(v * v for v in row)) for row in data]
        soft = {"price": text(price), "resolutions": [text(t)], "hinges": hinges, "max_links": max_links}
        rows = Rows(data, [(s,) for s in signs], [len(data[0]), 1], bound)
        self.checker = SoftMargins(rows, soft, Restrictions(omega, sides, frozenset(uncounted)))

    def terms(self):
        """Row, target and price of every term, in their order."""
        targets = [self.t] if self.hinges == 1 else [self.t / 2, 3 * self.t / 2]
        for target in targets:
            for k in range(len(self.data)):
                omega = Fraction(1 if self.omega is None else Fraction(self.omega[k], 2**16))
                yield k, target, self.price * self.t * omega / self.hinges

    def every_weights(self, *, links=True):
        """All integer weights that the problem allows."""
        sides = self.sides or [0] * len(self.data[0])
        ranges = [range(0 if s > 0 else -self.bound, (0 if s < 0 else self.bound) + 1) for s in sides]
        for w in product(*ranges):
            counted = sum(v != 0 for i, v in enumerate(w) if i not in self.uncounted)
            if not links or self.max_links is None or counted <= self.max_links:
                yield w

    def margin(self, k, w):
        return self.signs[k] * sum(a * b for a, b in zip(self.data[k], w, strict=True))

    def value(self, w):
        total = Fraction(sum(v * v for v in w), 2)
        for k, target, price in self.terms():
            if self.norms[k]:
                total += price * max(Fraction(0), target - Fraction(self.margin(k, w), self.norms[k]))
        return total

    def relaxed(self, w, multipliers):
        """The Lagrangian: what multipliers say about weights."""
        total = Fraction(sum(v * v for v in w), 2)
        terms = list(self.terms())
        for number, numerator in multipliers:
            k, target, _ = terms[number]
            total += Fraction(numerator, DENOMINATOR) * (target * self.norms[k] - self.margin(k, w))
        return total

    def leaf_of(self, tree, w):
        while "split" in tree:
            i, value = tree["split"]
            tree = tree["children"][w[i] > value]
        return tree["multipliers"]


@st.composite
def cases(draw):
    inputs, rows = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    cells = st.lists(st.integers(-4, 5), min_size=inputs, max_size=inputs)
    quotients = st.fractions(Fraction(1, 4), 5, max_denominator=16)
    units = st.integers(1, 3 * ROW_WEIGHT_UNIT)
    return Case(
        [tuple(row) for row in draw(st.lists(cells, min_size=rows, max_size=rows))],
        draw(st.lists(st.sampled_from([-1, 1]), min_size=rows, max_size=rows)),
        draw(st.integers(1, 3)),
        draw(quotients),
        draw(quotients),
        draw(st.sampled_from([1, 2])),
        draw(st.none() | st.integers(1, inputs)),
        draw(st.none() | st.lists(units, min_size=rows, max_size=rows)),
        draw(st.none() | st.lists(st.sampled_from([-1, 0, 1]), min_size=inputs, max_size=inputs)),
        draw(st.sets(st.integers(0, inputs - 1))),
    )


@st.composite
def leaves(draw, case):
    """Multipliers up to their prices, most of them at a limit, as in good proofs."""
    found = []
    for number, (k, _, price) in enumerate(case.terms()):
        most = int(price * DENOMINATOR / case.norms[k]) if case.norms[k] else 5
        numerator = draw(st.sampled_from([0, most]) | st.integers(0, most))
        if numerator:
            found.append([number, numerator])
    return {"multipliers": found}


@st.composite
def trees(draw, case, box=None, depth=0):
    """Trees that cut the limits of the weights at random."""
    sides = case.sides or [0] * len(case.data[0])
    box = box or [(0 if s > 0 else -case.bound, 0 if s < 0 else case.bound) for s in sides]
    loose = [i for i, (low, high) in enumerate(box) if low < high]
    if depth == 3 or not loose or not draw(st.booleans()):
        return draw(leaves(case))
    i = draw(st.sampled_from(loose))
    low, high = box[i]
    value = draw(st.integers(low, high - 1))
    halves = [[*box[:i], half, *box[i + 1 :]] for half in ((low, value), (value + 1, high))]
    return {"split": [i, value], "children": [draw(trees(case, half, depth + 1)) for half in halves]}


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_proof_shows_what_its_multipliers_say_and_no_more(data):
    case = data.draw(cases())
    tree = data.draw(trees(case))
    bound = case.checker.bound({"denominator": DENOMINATOR, "outputs": [tree]})
    allowed = list(case.every_weights())
    assert bound == min(case.relaxed(w, case.leaf_of(tree, w)) for w in allowed)
    assert bound <= min(case.value(w) for w in allowed)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_links_under_a_ceiling(data):
    case = data.draw(cases())
    tree = data.draw(trees(case))
    theta = data.draw(st.fractions(Fraction(1, 50), 5, max_denominator=64))
    values = [(case.value(w), sum(v != 0 for v in w)) for w in case.every_weights()]
    ceiling = min(values)[0] * data.draw(st.sampled_from([1, Fraction(11, 10), 2]))
    proof = {"theta": text(theta), "denominator": DENOMINATOR, "outputs": [tree]}
    bound = case.checker.links_bound(ceiling, proof)
    shown = min(
        sum(v != 0 for v in w) + theta * (case.relaxed(w, case.leaf_of(tree, w)) - ceiling)
        for w in case.every_weights(links=False)
    )
    assert bound == max(0, math.ceil(shown))
    assert bound <= min(links for value, links in values if value <= ceiling)


@given(st.data())
@settings(deadline=None)
def test_the_objective_is_that_of_training(data):
    case = data.draw(cases())
    soft = SoftMargin(case.price, (case.t,), case.hinges, case.max_links)
    omega = None if case.omega is None else np.array(case.omega)
    for w in case.every_weights():
        column = [[v] for v in w]
        value = case.checker.objective([column])
        assert value == case.value(w)
        assert value == soft_value(np.array(case.data), np.array(case.signs)[:, None], np.array(column), soft, omega)


@given(st.data())
@settings(deadline=None)
def test_weights_beyond_the_limits_are_refused(data):
    case = data.draw(cases())
    allowed = set(case.every_weights())
    for w in product(range(-case.bound, case.bound + 1), repeat=len(case.data[0])):
        if w not in allowed:
            with pytest.raises(CertificateError, match=r"wrong sign|more links than allowed"):
                case.checker.objective([[[v] for v in w]])


def small_case(**changes):
    rng = np.random.default_rng(3)
    data = [tuple(row) for row in rng.integers(-9, 10, (12, 5)).tolist()]
    known = {
        "data": data,
        "signs": rng.choice([-1, 1], 12).tolist(),
        "bound": 3,
        "price": Fraction(2),
        "t": Fraction(5, 2),
        "hinges": 1,
        "max_links": None,
        "omega": None,
        "sides": None,
        "uncounted": (),
    }
    return Case(**(known | changes))


def dual(case):
    """The best multipliers, from the linear program over convex combinations of each weight's values."""
    terms = [(k, target, price) for k, target, price in case.terms()]
    values = np.arange(-case.bound, case.bound + 1)
    n, width = len(case.data[0]), 2 * case.bound + 1
    cost = np.concatenate([np.tile(values**2 / 2, n), [float(price) for _, _, price in terms]])
    rows = np.array([[case.signs[k] * v / case.norms[k] for v in case.data[k]] for k, _, _ in terms])
    above = -np.hstack([np.kron(rows, values), np.eye(len(terms))])
    equal = np.hstack([np.kron(np.eye(n), np.ones(width)), np.zeros((n, len(terms)))])
    found = linprog(cost, above, [-float(t) for _, t, _ in terms], equal, np.ones(n))
    pairs = zip(terms, -found.ineqlin.marginals, strict=True)
    numerators = [
        min(math.floor(price * DENOMINATOR / case.norms[k]), int(max(0.0, mu) / case.norms[k] * DENOMINATOR))
        for (k, _, price), mu in pairs
    ]
    return [[number, n] for number, n in enumerate(numerators) if n], found.fun


@pytest.mark.parametrize("hinges", [1, 2])
@pytest.mark.parametrize("omega", [None, [ROW_WEIGHT_UNIT // 2, 3 * ROW_WEIGHT_UNIT] * 6])
def test_prices_of_the_linear_program_prove_its_value(hinges, omega):
    case = small_case(hinges=hinges, omega=omega, bound=1)
    multipliers, value = dual(case)
    bound = case.checker.bound({"denominator": DENOMINATOR, "outputs": [{"multipliers": multipliers}]})
    assert float(bound) == pytest.approx(value, rel=1e-4)
    assert bound <= min(map(case.value, case.every_weights()))


def test_a_limit_on_links_raises_the_bound():
    free, limited = small_case(bound=2), small_case(bound=2, max_links=2, uncounted=(4,))
    multipliers, _ = dual(free)
    proof = {"denominator": DENOMINATOR, "outputs": [{"multipliers": multipliers}]}
    assert free.checker.bound(proof) < limited.checker.bound(proof)
    assert limited.checker.bound(proof) <= min(map(limited.value, limited.every_weights()))
    assert free.checker.bound(proof) < small_case(bound=2, sides=[1, 1, 1, 1, 1]).checker.bound(proof)


LEAF = {"multipliers": [[0, 5]]}
LOW = {"split": [0, 0], "children": [LEAF, LEAF]}


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        ({"multipliers": [[0, -1]]}, "bad multiplier"),
        ({"multipliers": [[0, 1.0]]}, "bad multiplier"),
        ({"multipliers": [[0, True]]}, "bad multiplier"),
        ({"multipliers": [[0, 1], [0, 1]]}, "a row has two multipliers"),
        ({"multipliers": [[24, 1]]}, "bad number of a multiplier: 24"),
        ({"multipliers": [[-1, 1]]}, "bad number of a multiplier: -1"),
        ({"multipliers": [[0, 2**40]]}, "a multiplier is above its price"),
        ({"multipliers": [[0]]}, "a multiplier is not a pair"),
        ({"multipliers": {"0": 1}}, "multipliers are missing"),
        ({"multipliers": [], "bound": 3}, "a leaf is malformed"),
        ({}, "a leaf is malformed"),
        ([], "a node of a tree is malformed"),
        (None, "a node of a tree is malformed"),
        (LOW | {"children": [LEAF]}, "does not have two children"),
        (LOW | {"children": None}, "does not have two children"),
        ({"split": [0, 0]}, "a branch is malformed"),
        (LOW | {"multipliers": []}, "a branch is malformed"),
        (LOW | {"split": [5, 0]}, "bad input: 5"),
        (LOW | {"split": [0]}, "a branch is malformed"),
        (LOW | {"split": [0, 3]}, "bad value of a branch: 3"),
        (LOW | {"split": [0, -4]}, "bad value of a branch: -4"),
        (LOW | {"split": [0, 0.5]}, "bad value of a branch: 0.5"),
        (LOW | {"children": [{"split": [0, 0], "children": [LEAF, LEAF]}, LEAF]}, "bad value of a branch: 0"),
        (LOW | {"children": [LEAF, {"split": [0, 0], "children": [LEAF, LEAF]}]}, "bad value of a branch: 0"),
    ],
)
def test_forged_trees_are_refused(tree, words):
    case = small_case(hinges=2)
    with pytest.raises(CertificateError, match=words):
        case.checker.bound({"denominator": DENOMINATOR, "outputs": [tree]})


def test_a_multiplier_may_reach_its_price_and_not_more():
    """The price of a row is C t omega over its hinges, to the last unit."""
    for hinges, omega in ((1, None), (2, None), (1, [12345] * 12), (2, [3 * ROW_WEIGHT_UNIT + 1] * 12)):
        case = small_case(hinges=hinges, omega=omega)
        for number, (k, _, price) in enumerate(case.terms()):
            most = math.floor(price * DENOMINATOR / case.norms[k])
            case.checker.bound({"denominator": DENOMINATOR, "outputs": [{"multipliers": [[number, most]]}]})
            with pytest.raises(CertificateError, match="above its price"):
                case.checker.bound({"denominator": DENOMINATOR, "outputs": [{"multipliers": [[number, most + 1]]}]})


@pytest.mark.parametrize(
    ("proof", "words"),
    [
        ({"denominator": 0}, "bad denominator"),
        ({"denominator": 1.0}, "bad denominator"),
        ({"outputs": []}, "not one tree per output"),
        ({"outputs": [LEAF, LEAF]}, "not one tree per output"),
        ({"outputs": LEAF}, "not one tree per output"),
        ({"theta": "0/1"}, "not positive"),
        ({"theta": "2/4"}, "lowest terms"),
    ],
)
def test_forged_proofs_are_refused(proof, words):
    case = small_case()
    proof = {"theta": "1/1", "denominator": DENOMINATOR, "outputs": [LEAF]} | proof
    with pytest.raises(CertificateError, match=words):
        case.checker.links_bound(Fraction(10), proof)


@pytest.mark.parametrize(
    ("soft", "words"),
    [
        ({"hinges": 3}, "bad number of hinges"),
        ({"hinges": 0}, "bad number of hinges"),
        ({"max_links": 0}, "bad maximum number of links"),
        ({"price": "0/1"}, "price is not positive"),
        ({"resolutions": ["1/1", "1/1"]}, "not one resolution per output"),
    ],
)
def test_other_soft_margins_are_refused(soft, words):
    given = {"price": "1/1", "resolutions": ["1/1"], "hinges": 1, "max_links": None} | soft
    with pytest.raises(CertificateError, match=words):
        SoftMargins(Rows([(1, 2)], [(1,)], [2, 1], 1), given, Restrictions())


def test_absurd_trees_are_refused(monkeypatch):
    case = small_case()
    deep = SoftMargins(
        Rows([(1,)], [(1,)], [1, 1], 10**6),
        {"price": "1/1", "resolutions": ["1/1"], "hinges": 1, "max_links": None},
        Restrictions(),
    )
    tree = {"multipliers": []}
    for value in reversed(range(checker.DEEPEST_TREE + 1)):
        tree = {"split": [0, value], "children": [{"multipliers": []}, tree]}
    with pytest.raises(CertificateError, match="a tree is too large"):
        deep.bound({"denominator": 1, "outputs": [tree]})
    assert deep.bound({"denominator": 1, "outputs": [tree["children"][1]]}) == 0
    monkeypatch.setattr(checker, "MOST_NODES", 50)
    with pytest.raises(CertificateError, match="a tree is too large"):
        deep.bound({"denominator": 1, "outputs": [tree["children"][1]]})
    case.checker.rows.work.budget = 50 / 1e6
    with pytest.raises(CertificateError, match="more with --budget"):
        case.checker.bound({"denominator": 1, "outputs": [{"multipliers": [[k, 0] for k in range(12)]}]})


@given(
    st.lists(st.lists(st.integers(-(2**31), 2**31), min_size=4, max_size=4), min_size=1, max_size=5),
    st.data(),
)
def test_sums_of_long_integers_are_plain_sums(data, draw):
    """Also where they do not fit into 64 bits."""
    rows = Rows([tuple(row) for row in data], [(1,)] * len(data), [4, 1], 1)
    most = draw.draw(st.sampled_from([3, 2**30, 2**40]))
    factors = {k: draw.draw(st.integers(-most, most)) for k in range(len(data))}
    found = rows.weighted_sum(factors)
    for i in range(4):
        assert found.get(i, 0) == sum(factors[k] * data[k][i] for k in factors)
