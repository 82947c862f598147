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

from bemi import Network, ScorecardClassifier, TableBits, load, save
from bemi.inputs.fixed_point import MISSING
from bemi.report.scorecard import Card


def sums(classifier, X):
    """What the networks compute, all of them together."""
    inputs = classifier.ensemble_.inputs.of(X)
    return np.stack([network.pre_activations(inputs)[-1][:, 0] for network in classifier.ensemble_.networks], axis=1)


def in_sums(card, totals):
    """Totals of the first card in the units of its network's sum."""
    return totals * card.cards[0].unit + card.cards[0].offset


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
    assert np.array_equal(in_sums(card, np.array(by_hand)), -sums(classifier, X)[:, 0])
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
    assert np.array_equal(in_sums(changed.scorecard(), total), -sums(changed, X)[:, 0])
    assert np.array_equal(total > 0, -sums(changed, X)[:, 0] > 0), "the start, rounded up, decides as the network does"
    assert set(total.tolist()) <= set(card.totals.tolist())
    points = [line.points for line in card.lines]
    assert np.gcd.reduce([0, *points]) in (0, 1), "nothing is left to divide out"
    assert all(0 < abs(p) <= np.abs(weights).max() for p in points)


def copy_of(classifier):
    return type(classifier).from_ensemble(classifier.ensemble_)


RULES = [[[0, ">=", 20], [1, "=", 2]], [[0, "<", 30], [2, "!=", 1]], [[0, ">=", 10], [0, "<", 25]]]


@pytest.mark.parametrize("rules", [[], RULES])
def test_exactly_the_totals_that_occur_are_listed(rules):
    """Every state of a small table, one by one."""
    X = pd.DataFrame({"n": [1.0, 2.0, 3.0, np.nan, 2.5], "c": ["a", "b", "c", None, "a"], "two": list("xyxyx")})
    fitted = TableBits.from_parameters(TableBits().fit(X).parameters() | {"rules": rules})
    every = product([MISSING, *range(5, 36)], [MISSING, -1, 0, 1, 2], [MISSING, -1, 0, 1])
    inputs = fitted.from_fixed_point_inputs(np.array(list(every)))
    rng = np.random.default_rng(3)
    for _ in range(50):
        card = Card.of(("no", "yes"), rng.integers(-5, 6, fitted.n_outputs), fitted)
        assert np.array_equal(np.unique(card.totals_of(inputs)), card.totals)


def test_rules_are_lines_where_they_are_clearly_better():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 1, (300, 3)).round(2), columns=list("abc"))
    together = (X["a"] > 0.5) == (X["b"] > 0.5)
    card = ScorecardClassifier(max_lines=3).fit(X, together)
    assert card.choice_.name.startswith("rules")
    assert " points against " in card.choice_.reason
    assert card.score(X, together) > 0.9
    shown = card.scorecard()
    assert any(" and " in line.name for line in shown.cards[0].lines)
    assert 'A missing cell makes only "missing", "<" and "!=" true.' in str(shown)
    assert np.array_equal(shown.score(X) > 0, card.predict(X))
    assert "rules" not in ScorecardClassifier(max_lines=3).choose(X, X["a"] > 0.5).name


def test_more_classes_get_a_card_for_every_pair():
    classifier = table_model(classes=4)
    card = classifier.scorecard()
    X = new_rows(100)
    units, offsets = (np.array([getattr(c, part) for c in card.cards]) for part in ("unit", "offset"))
    assert np.array_equal(card.score(X) * units + offsets, -sums(classifier, X))
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
        match=r"^a scorecard has points for bits and rules only: train with inputs=TableBits\(\)$",
    ):
        classifier.scorecard()
    weights = classifier.ensemble_.networks[0].weights[0].copy()
    weights[:4] = 0
    changed = with_networks(copy_of(classifier), [Network((weights,), 7)], [np.array([True])])
    card = changed.scorecard().cards[0]
    assert card.unit % 32 == 0
    X = new_rows(100)
    assert np.array_equal(in_sums(changed.scorecard(), changed.scorecard().score(X)), -sums(changed, X)[:, 0])


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
    groups = own.grouped()
    assert 3 <= len(groups) <= 10
    ends = [own.probabilities([group.low, group.high]) for group in groups]
    # The chances of the first and the last total, once if they read the same.
    expected = [" to ".join(dict.fromkeys(f"{100 * chance:.0f} %" for chance in pair)) for pair in ends]
    percent = r"(\d+ %(?: to \d+ %)?)"
    assert re.findall(rf"  {percent}  +\d+$", card.text(), flags=re.MULTILINE)[: len(groups)] == expected
    shown = re.findall(rf"<td>{percent}</td>", card.html().replace("&nbsp;", " "))
    assert shown[: len(groups)] == expected
    assert len(card.figure().axes) == 2 * len(card.cards)


@pytest.mark.parametrize("classes", [2, 3])
def test_listed_totals_are_all_that_occur_and_count_the_training_rows(classes, tmp_path):
    X, risk = patients(150, seed=2)
    y = np.digitize(risk, np.quantile(risk, np.arange(1, classes) / classes))
    classifier = soft_margins(inputs=TableBits(), probabilities=True, node_limit=5, time_limit=None).fit(X, y)
    card = classifier.scorecard()
    for place, own in enumerate(card.cards):
        rows = np.isin(y, own.classes)
        totals = card.score(X[rows]).reshape(rows.sum(), -1)[:, place]
        assert own.rows == dict(zip(*np.unique(totals, return_counts=True), strict=True))
        groups = own.grouped()
        assert sum(group.rows for group in groups) == rows.sum()
        inside = [own.totals[(own.totals >= group.low) & (own.totals <= group.high)] for group in groups]
        assert np.array_equal(np.concatenate(inside), own.totals), "each total is in one group"
        for group, mine in zip(groups, inside, strict=True):
            assert (group.low, group.high) == (mine[0], mine[-1])
            assert group.low > 0 or group.high <= 0, "the decision is between groups"
            assert [group.least, group.most] == own.probabilities(mine)[[0, -1]].tolist()
            assert group.least - 1e-9 <= group.chance <= group.most + 1e-9
        assert [(g.low, g.high) for g in own.grouped(10**6)] == [(t, t) for t in own.totals.tolist()]
    frame = card.totals()
    assert frame["training rows"].sum() == sum(np.isin(y, own.classes).sum() for own in card.cards)
    lines = card.frame()
    assert len(lines) == sum(len(own.lines) + 1 for own in card.cards)
    save(classifier, tmp_path / "m")
    again = load(tmp_path / "m").scorecard()
    assert again.text() == card.text()
    other = with_networks(copy_of(classifier), classifier.ensemble_.networks, classifier.ensemble_.splitting)
    assert "training rows" not in other.scorecard().totals(), "other networks have other counts"


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
