"""Scorecards: what people add up is what the networks compute."""

import re
from html.parser import HTMLParser
from itertools import product

import numpy as np
import pandas as pd
import pytest
from exported_models import model, with_networks
from mixed_tables import new_rows, patients, table_model
from soft_margins import soft_margins

from bemi import Network, TableBits
from bemi.inputs.fixed_point import MISSING


def sums(classifier, X):
    """What the networks compute, all of them together."""
    inputs = classifier.ensemble_.inputs.of(X)
    return np.stack([network.pre_activations(inputs)[-1][:, 0] for network in classifier.ensemble_.networks], axis=1)


def holds(name, row):
    """Whether a line is true for a row, as a person reads it."""
    if name.endswith(" missing"):
        return pd.isna(row[name.removesuffix(" missing")])
    if " >= " in name:
        column, threshold = name.split(" >= ")
        return not pd.isna(row[column]) and float(row[column]) >= float(threshold)
    if " = " in name:
        column, level = name.split(" = ", 1)
        return not pd.isna(row[column]) and str(row[column]) == level
    return row[name] == 1


def points_in(text):
    """The start and the points by line, from the printed text."""
    lines = dict(re.findall(r"^  (\S.*?)  +([+-]\d+)$", text, flags=re.MULTILINE))
    return int(lines.pop("start")), {name: int(points) for name, points in lines.items()}


def test_a_person_who_adds_up_the_printed_points_gets_the_networks_sum():
    classifier = table_model()
    card = classifier.scorecard()
    start, points = points_in(str(card))
    X, _ = patients(300, seed=5)
    by_hand = [start + sum(p for name, p in points.items() if holds(name, row)) for _, row in X.iterrows()]
    assert np.array_equal(card.score(X), by_hand)
    assert np.array_equal(np.array(by_hand) * card.cards[0].unit, -sums(classifier, X)[:, 0])
    first, second = classifier.classes_
    assert np.array_equal(np.where(np.array(by_hand) > 0, second, first), classifier.predict(X))
    assert len(points) == np.count_nonzero(classifier.ensemble_.networks[0].weights[0][:-1])
    assert "smoker" in points, "a column of 0 and 1 needs no threshold"


@pytest.mark.parametrize("seed", range(20))
def test_totals_are_exact_for_any_weights(seed):
    classifier = table_model()
    rng = np.random.default_rng(seed)
    bound = int(rng.choice([1, 3, 100]))
    weights = rng.integers(-bound, bound + 1, classifier.ensemble_.networks[0].weights[0].shape) * (seed % 3 + 1)
    weights *= rng.random(weights.shape) < rng.choice([0.1, 0.6, 1.0])
    changed = with_networks(copy_of(classifier), [Network((weights,), 300)], [np.array([True])])
    card = changed.scorecard().cards[0]
    X = new_rows(200, seed=seed)
    total = changed.scorecard().score(X)
    assert np.array_equal(total * card.unit, -sums(changed, X)[:, 0])
    numbers = [card.start, *(line.points for line in card.lines)]
    assert np.gcd.reduce(numbers) in (0, 1), "nothing is left to divide out"
    assert all(line.points for line in card.lines)


def copy_of(classifier):
    return type(classifier).from_ensemble(classifier.ensemble_)


def test_the_range_of_totals_is_reached():
    """Every state of a small table, one by one."""
    X = pd.DataFrame({"n": [1.0, 2.0, 3.0, np.nan, 2.5], "c": ["a", "b", "c", None, "a"], "two": list("xyxyx")})
    fitted = TableBits().fit(X)
    every = product([MISSING, 10, 20, 25, 30], [MISSING, -1, 0, 1, 2], [MISSING, -1, 0, 1])
    inputs = fitted.from_fixed_point_inputs(np.array(list(every)))
    base = soft_margins(inputs=TableBits(), node_limit=5, time_limit=None)
    base.fit(X, [0, 1, 0, 1, 1])
    rng = np.random.default_rng(3)
    for _ in range(50):
        weights = rng.integers(-5, 6, (fitted.n_outputs, 1))
        card = with_networks(base, [Network((weights,), 5)], [np.array([True])]).scorecard().cards[0]
        totals = card.totals(inputs)
        assert (totals.min(), totals.max()) == (card.lowest, card.highest)


def test_more_classes_get_a_card_for_every_pair():
    classifier = table_model(classes=4)
    card = classifier.scorecard()
    X = new_rows(100)
    units = np.array([c.unit for c in card.cards])
    assert np.array_equal(card.score(X) * units, -sums(classifier, X))
    assert [c.classes for c in card.cards] == list(classifier.networks_)
    winners = [[c.classes[int(total > 0)] for c, total in zip(card.cards, row, strict=True)] for row in card.score(X)]
    counts = [[row.count(label) for label in classifier.classes_] for row in winners]
    assert np.array_equal(counts, classifier.vote(X).counts)
    assert str(card).count("Scorecard: ") == 6
    assert "most votes" in str(card)
    assert card.html().count("<article>") == 6


def test_bits_beside_unused_values_are_a_card_too():
    classifier = table_model(values=True)
    with pytest.raises(
        ValueError,
        match=r"^a scorecard has points for bits only: train with TableBits\(values=False, similarities=0\)$",
    ):
        classifier.scorecard()
    weights = classifier.ensemble_.networks[0].weights[0].copy()
    weights[:4] = 0
    changed = with_networks(copy_of(classifier), [Network((weights,), 7)], [np.array([True])])
    card = changed.scorecard().cards[0]
    assert card.unit % 32 == 0
    X = new_rows(100)
    assert np.array_equal(changed.scorecard().score(X) * card.unit, -sums(changed, X)[:, 0])


def test_what_has_no_card_says_why():
    with pytest.raises(ValueError, match=r"^a scorecard needs bits: train with inputs=TableBits\(\)$"):
        model("constant input").scorecard()
    with pytest.raises(ValueError, match="without a hidden layer"):
        table_model(hidden_layers=(2,), stages=("sm",), weight_bound=1).scorecard()
    with pytest.raises(ValueError, match="two classes"):
        table_model(classes=3, subset_size=3).scorecard()
    with pytest.raises(ValueError, match="order must be one of column, size, got 'name'"):
        table_model().scorecard().text(order="name")


def test_lines_are_sorted():
    card = table_model().scorecard()
    _, by_column = points_in(card.text())
    _, by_size = points_in(card.text(order="size"))
    assert by_column == by_size
    sizes = [abs(points) for points in by_size.values()]
    assert sizes == sorted(sizes, reverse=True)
    columns = list(patients(1)[0].columns)
    places = [columns.index(line.column) for line in card.cards[0].lines]
    assert places == sorted(places)


@pytest.mark.parametrize("classes", [2, 3])
def test_chances_are_those_of_the_classifier(classes):
    classifier = table_model(classes=classes, probabilities=True)
    card = classifier.scorecard()
    own = card.cards[0]
    X = new_rows(300)
    if classes == 2:
        assert np.array_equal(own.probabilities(card.score(X)), classifier.predict_proba(X)[:, 1])
    totals = own.some_totals()
    assert 3 <= len(totals) <= 9
    assert len(set(np.diff(totals))) == 1
    expected = [round(100 * chance) for chance in own.probabilities(totals)]
    shown = next(line for line in card.text().splitlines() if line.startswith(f"  chance of {own.classes[1]}  "))
    assert [int(n) for n in re.findall(r"(\d+) %", shown)] == expected
    found = [int(n) for n in re.findall(r"<td>(\d+)&nbsp;%</td>", card.html())]
    assert found[: len(expected)] == expected
    assert len(card.figure().axes) == 2 * len(card.cards)


def test_without_probabilities_nothing_is_said_about_chances():
    card = table_model().scorecard()
    assert "hance" not in card.text() + card.html().split("</style>")[-1]
    assert len(card.figure().axes) == 1


class Structure(HTMLParser):
    """Tags that are open or unknown, and the text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_html_is_whole_and_names_stay_text():
    evil = "</style><script>alert(1)</script>"
    X = pd.DataFrame({evil: [0, 1, 0, 1, 0, 1], "plain": ["<b>", "&", '"', "<b>", "&", '"']})
    classifier = soft_margins(inputs=TableBits(), node_limit=5, time_limit=None)
    classifier.fit(X, np.array([evil, "$x_1$"] * 3, dtype=object))
    card = classifier.scorecard()
    for text in (card.html(title=evil), card._repr_html_()):
        text.encode("ascii")
        found = Structure(text)
        assert found.open == []
        assert "script" not in found.tags
        assert evil in "".join(found.words)
        assert "src=" not in text
        assert "http" not in text
    card.figure().canvas.draw()


def test_the_picture_has_a_bar_for_every_line():
    card = table_model().scorecard()
    axis = card.figure(order="size").axes[0]
    assert [round(bar.get_width()) for bar in axis.patches] == [
        card.cards[0].start,
        *(line.points for line in card.cards[0].by_size().lines),
    ]
