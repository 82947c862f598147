"""Scorecards: models of bits as points that you can add up by hand, one card for each network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bemi.checks import check_choice, counted
from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.probabilities import CERTAIN, UNIT, ProbabilityTable, Sigmoid
from bemi.exact import Integers
from bemi.inputs.fixed_point import MISSING
from bemi.inputs.table.columns import AtLeast, Column, Condition, Constant, IsLike, Output, Rule, Value
from bemi.inputs.table.rules import holds
from bemi.report.estimates import expected_accuracy

MOST_TOTALS = 10
"""Lines of a list of totals; more neighbouring totals are put together."""

MOST_ENUMERATED = 2**16
"""Totals of a card that are enumerated; of more, these are a part."""


@dataclass(frozen=True)
class Line:
    """Points for a condition.

    Attributes
    ----------
    column, condition
        Name of a column, and what must hold for it, such as ``>= 54.5``; an empty condition for a column of 0 and 1.
    points
        What the line adds to the total.
    input
        Position of the bit among the inputs of the networks.

    Examples
    --------
    >>> from bemi.report.scorecard import Line
    >>> Line("age", ">= 54.5", points=3, input=0).name
    'age >= 54.5'
    """

    column: str
    condition: str
    points: int
    input: int

    @property
    def name(self) -> str:
        """Column and condition."""
        return f"{self.column} {self.condition}".strip()


@dataclass(frozen=True)
class Totals:
    """Neighbouring totals of a card, or a single one.

    Attributes
    ----------
    low, high
        The smallest and the largest of them; a row can have either.
    chance
        Probability of the second class, the mean over the training rows that have these totals.
    least, most
        The same for the smallest total and for the largest one.
    rows
        How many training rows have them; None if the model does not know.
    """

    low: int
    high: int
    chance: float
    least: float
    most: float
    rows: int | None

    def name(self, minus: str = "-") -> str:
        """The totals in words."""
        low, high = (signed(total, minus) for total in (self.low, self.high))
        return low if self.low == self.high else f"{low} to {high}"

    @property
    def percent(self) -> str:
        """The chance in words, or between which chances theirs are."""
        least, most = (f"{100 * chance:.0f} %" for chance in (self.least, self.most))
        return least if least == most else f"{least} to {most}"


@dataclass(frozen=True, repr=False)
class Card:
    """Points that decide between two classes: the second if the total is above 0, otherwise the first.

    With bits of magnitude c and the constant d, a network gives the first class if

        s = d w_0 + c sum_i w_i b_i >= 0,   b_i = +1 if bit i is on, otherwise -1,

    where w_0 belongs to the constant.  With k_i = 1 if bit i is on, otherwise 0,

        -s = a + u sum_i p_i k_i,   u p_i = -2 c w_i,   a = c sum_i w_i - d w_0.

    The points p_i have no common factor, so none is larger than the weight bound.  The start is a / u, rounded up: u is
    an integer, so the total, start + sum_i p_i k_i, is above 0 exactly if -s is.

    Attributes
    ----------
    classes
        Labels of the two classes; points count for the second.
    start
        The total if no line holds.
    lines
        In the order of the columns.
    unit, offset
        u, and a - u start, so that ``-s = unit * total + offset``.
    totals
        The totals that a row can have, increasing.
    table
        Probability of the first class by the sum of the network; None if the model has no probabilities.
    factor
        By what a point multiplies the odds of the second class; None without probabilities.
    rows
        How many training rows have each total that some have; None if the model does not know.

    Examples
    --------
    >>> import pandas as pd
    >>> from bemi import ScorecardClassifier
    >>> X = pd.DataFrame({"age": [30, 40, 50, 60, 70, 80], "smoker": [0, 1, 0, 1, 1, 1]})
    >>> y = ["well", "well", "well", "ill", "ill", "ill"]
    >>> scorecard = ScorecardClassifier(max_lines=2).fit(X, y).scorecard()
    >>> card = scorecard.cards[0]
    >>> card.classes
    ('ill', 'well')
    >>> card.start in card.totals
    True
    """

    classes: tuple[Any, Any]
    start: int
    lines: tuple[Line, ...]
    unit: int
    offset: int
    totals: Integers
    table: ProbabilityTable | None = None
    factor: float | None = None
    rows: Mapping[int, int] | None = None

    @classmethod
    def of(
        cls,
        classes: tuple[Any, Any],
        weights: Integers,
        transform: Any,
        table: ProbabilityTable | None = None,
        sigmoid: Sigmoid | None = None,
        scores: Mapping[int, int] | None = None,
    ) -> Card:
        """The card of a network with these weights; ``scores`` counts the training rows with each sum."""
        outputs, level = transform.outputs_, transform.level_
        linked = [place for place, output in enumerate(outputs) if weights[place] and not isinstance(output, Constant)]
        # Bits of one column stand together, thresholds in increasing order; rules come last.
        linked.sort(key=lambda place: (isinstance(outputs[place], Rule), outputs[place].column, place))
        constants = [
            (output.reading, w) for output, w in zip(outputs, weights, strict=True) if isinstance(output, Constant)
        ]
        common = math.gcd(*(int(weights[place]) for place in linked)) or 1
        unit = 2 * level * common
        points = {place: -int(weights[place]) // common for place in linked}
        plain = level * sum(int(weights[place]) for place in linked) - sum(v * int(w) for v, w in constants)
        start = -(-plain // unit)
        offset = plain - unit * start
        return cls(
            classes,
            start,
            tuple(_line(outputs[place], transform.columns_, number, place) for place, number in points.items()),
            unit,
            offset,
            _totals(start, [(outputs[place], points[place]) for place in linked]),
            table,
            None if sigmoid is None else math.exp(sigmoid.slope / UNIT * unit),
            None if scores is None else {(-score - offset) // unit: rows for score, rows in scores.items()},
        )

    def __repr__(self) -> str:
        lines = counted(len(self.lines), "line")
        return f"Card({self.classes[1]} or {self.classes[0]}, start {signed(self.start)}, {lines})"

    def by_size(self) -> Card:
        """The same card with the most points first.

        Examples
        --------
        >>> len(card.by_size().lines) == len(card.lines)
        True
        """
        return replace(self, lines=tuple(sorted(self.lines, key=lambda line: -abs(line.points))))

    def totals_of(self, inputs: Integers) -> Integers:
        """The total of each row, from the inputs of the networks.

        Examples
        --------
        >>> card.totals_of(scorecard.transform.transform(X)).shape
        (6,)
        """
        on = inputs[:, [line.input for line in self.lines]] > 0
        return self.start + on @ np.array([line.points for line in self.lines], dtype=np.int64)

    def probabilities(self, totals: ArrayLike) -> NDArray[np.float64]:
        """Probability of the second class for each total; only if the model has probabilities.

        Examples
        --------
        >>> bool(card.probabilities(card.totals.max()) > 0.5)
        True
        """
        assert self.table is not None
        return 1 - self.table(-self.unit * np.asarray(totals) - self.offset) / CERTAIN

    def grouped(self, most: int = MOST_TOTALS) -> list[Totals]:
        """All totals that a row can have, neighbours put together where there are more than ``most``.

        Those are put together first that fewest training rows have and whose chances differ least (Ward's criterion);
        never totals on both sides of the decision.

        Examples
        --------
        >>> len(card.grouped(most=2))
        2
        """
        chances, known = self.probabilities(self.totals), self.rows
        counts = np.array([0 if known is None else known.get(total, 0) for total in self.totals.tolist()])
        # A total that no training row has counts a little.
        sizes = counts + (1.0 if known is None else 0.1)
        parts = [(place, place + 1) for place in range(len(chances))]

        def mean(low: int, high: int) -> float:
            return float(np.average(chances[low:high], weights=sizes[low:high]))

        def cost(one: tuple[int, int], other: tuple[int, int]) -> float:
            if self.totals[other[0]] > 0 >= self.totals[one[0]]:
                return math.inf
            a, b = sizes[slice(*one)].sum(), sizes[slice(*other)].sum()
            return float(a * b / (a + b)) * (mean(*one) - mean(*other)) ** 2

        costs = [cost(*pair) for pair in pairwise(parts)]
        while len(parts) > max(2, most):
            cheapest = int(np.argmin(costs))
            parts[cheapest : cheapest + 2] = [(parts[cheapest][0], parts[cheapest + 1][1])]
            del costs[cheapest]
            for place in (cheapest - 1, cheapest):
                if 0 <= place < len(costs):
                    costs[place] = cost(parts[place], parts[place + 1])
        return [
            Totals(
                int(self.totals[low]),
                int(self.totals[high - 1]),
                mean(low, high),
                float(chances[low]),
                float(chances[high - 1]),
                None if known is None else int(counts[low:high].sum()),
            )
            for low, high in parts
        ]


def signed(number: int, minus: str = "-") -> str:
    """A number with its sign; 0 has none."""
    return f"{minus}{-number}" if number < 0 else f"+{number}" if number else "0"


def _line(output: Output, columns: Sequence[Column], points: int, place: int) -> Line:
    if isinstance(output, Rule):
        return Line(output.name(columns), "", points, place)
    column = columns[output.column]
    return Line(column.name, output.name(columns)[len(column.name) :].strip(), points, place)


def _totals(start: int, lines: Sequence[tuple[Output, int]]) -> Integers:
    """All sums of the start and the points of lines that can be true together, or some of them if there are too many.

    A column can make true what one of its readings does.  Columns of one rule are looked at together.
    """
    readings: dict[int, set[int]] = {}
    groups: list[set[int]] = []
    for output, _ in lines:
        bits = _bits(output)
        for bit in bits:
            # On both sides of a threshold, at a level and at another one, and a missing cell.
            below = bit.reading - 1 if isinstance(bit, AtLeast) else -1
            readings.setdefault(bit.column, {MISSING}).update((bit.reading, below))
        columns = {bit.column for bit in bits}
        joined = [group for group in groups if group & columns]
        groups = [*(group for group in groups if not group & columns), columns.union(*joined)]
    totals = np.array([start])
    for group in groups:
        places = {column: place for place, column in enumerate(sorted(group))}
        rows = _combinations([sorted(readings[column]) for column in places])
        sums = np.zeros(len(rows), dtype=np.int64)
        for output, points in lines:
            if (conditions := _conditions(output))[0].bit.column in group:
                here = [Condition(replace(bit, column=places[bit.column]), on) for bit, on in conditions]
                sums += points * holds(Rule(0, 0, tuple(here)), rows)
        totals = np.unique(np.add.outer(totals, np.unique(sums)))
        if len(totals) > MOST_ENUMERATED:
            totals = totals[np.linspace(0, len(totals) - 1, MOST_ENUMERATED).astype(np.int64)]
    return totals


def _conditions(output: Output) -> tuple[Condition, ...]:
    return output.conditions if isinstance(output, Rule) else (Condition(output, True),)


def _bits(output: Output) -> list[Output]:
    return [bit for bit, _ in _conditions(output)]


def _combinations(choices: Sequence[Sequence[int]]) -> Integers:
    """All ways to choose one number of each list, or evenly spaced ones of them if there are too many; as rows."""
    sizes = [len(own) for own in choices]
    count = math.prod(sizes)
    numbers = range(0, count, -(-count // MOST_ENUMERATED))
    places = np.array(np.unravel_index(np.array(numbers), sizes))
    return np.stack([np.array(own)[place] for own, place in zip(choices, places, strict=True)], axis=1)


ORDERS = ("column", "size")
"""How lines are sorted: by column, or the most points first."""


@dataclass(frozen=True, eq=False, repr=False)
class Scorecard:
    """A model you can add up by hand: points for a few lines, one card per pair of classes.

    Printing it, or showing it in a console, gives the text; notebooks show the HTML.

    Attributes
    ----------
    cards
        One :class:`bemi.report.scorecard.Card` per network.
    transform
        The transform that makes the bits.
    proof
        What is known about the cards, one sentence each: rows, expected accuracy, gap.

    Examples
    --------
    >>> import pandas as pd
    >>> from bemi import ScorecardClassifier
    >>> X = pd.DataFrame({"age": [30, 40, 50, 60, 70, 80], "smoker": [0, 1, 0, 1, 1, 1]})
    >>> y = ["well", "well", "well", "ill", "ill", "ill"]
    >>> card = ScorecardClassifier(max_lines=2).fit(X, y).scorecard()
    >>> len(card.cards)
    1
    """

    cards: tuple[Card, ...]
    transform: Any
    proof: tuple[str, ...] = ()

    @classmethod
    def of(cls, ensemble: Ensemble) -> Scorecard:
        """The scorecard of an ensemble; ValueError says why it has none."""
        trouble = why_no_card(ensemble)
        if trouble is not None:
            raise ValueError(trouble)
        transform: Any = ensemble.inputs.transform
        known, missing = ensemble.probabilities, [None] * len(ensemble.networks)
        cards = tuple(
            Card.of(key, network.weights[0][:, 0], transform, table, sigmoid, counts)
            for key, network, table, sigmoid, counts in zip(
                ensemble.keys,
                ensemble.networks,
                missing if known is None else known.tables,
                missing if known is None else known.sigmoids,
                ensemble.score_counts or missing,
                strict=True,
            )
        )
        return cls(cards, transform, proof_of(ensemble))

    def score(self, X: Any) -> Integers:
        """The total of each row of a table: shape (rows), or (rows, cards) with more than one card.

        Examples
        --------
        >>> card.score(X).shape
        (6,)
        """
        inputs = self.transform.transform(X)
        totals = np.stack([card.totals_of(inputs) for card in self.cards], axis=1)
        return totals[:, 0] if len(self.cards) == 1 else totals

    def spare_lines(self) -> list[str]:
        """Names of lines that one card of two classes could do without: those of levels with the same points.

        Exactly one level of a category is there, or its cell is missing.  So points that most of these have could go to
        the start, and the lines of the others would tell these levels from the rest.

        Examples
        --------
        >>> card.spare_lines()
        []
        """
        if len(self.cards) > 1:
            return []
        transform, (card,) = self.transform, self.cards
        points = {line.input: line.points for line in card.lines}
        found = []
        for place, column in enumerate(transform.columns_):
            own = [
                n
                for n, bit in enumerate(transform.outputs_)
                if bit.column == place and not isinstance(bit, (Constant, Rule))
            ]
            if not column.levels or len(own) < len(column.levels) + column.has_missing or len(own) < 3:
                continue
            of_bits = [points.get(n, 0) for n in own]
            most = max(set(of_bits), key=lambda number: (of_bits.count(number), number == 0))
            found += [
                transform.outputs_[n].name(transform.columns_)
                for n, p in zip(own, of_bits, strict=True)
                if p == most != 0
            ]
        return found

    def frame(self) -> pd.DataFrame:
        """The lines as a data frame with their points, the start of each card first.

        Examples
        --------
        >>> card.frame().columns.tolist()
        ['card', 'column', 'condition', 'points']
        """
        return pd.DataFrame(
            [
                (_title(card), *line)
                for card in self.cards
                for line in (("start", "", card.start), *((n.column, n.condition, n.points) for n in card.lines))
            ],
            columns=["card", "column", "condition", "points"],
        )

    def totals(self) -> pd.DataFrame:
        """Every total that a row can have as a data frame, with its chance and the number of training rows.

        Examples
        --------
        >>> int(card.totals()["training rows"].sum())
        6
        """
        frames = []
        for card in self.cards:
            found = pd.DataFrame({"card": _title(card), "total": card.totals})
            if card.table is not None:
                found["chance"] = card.probabilities(card.totals)
            if card.rows is not None:
                found["training rows"] = [card.rows.get(total, 0) for total in card.totals.tolist()]
            frames.append(found)
        return pd.concat(frames, ignore_index=True)

    def text(self, order: str = "column") -> str:
        """The cards as plain text, lines sorted by ``"column"`` or by ``"size"``, the most points first.

        Examples
        --------
        >>> "age" in card.text()
        True
        """
        from bemi.report.scorecard_views import text

        return text(self._sorted(order), self.proof)

    def html(self, order: str = "column", title: str | None = None) -> str:
        """The cards as a page that loads nothing, for browsers and printers, with a heading if there is a title.

        Examples
        --------
        >>> card.html(title="Example").startswith("<!doctype html>")
        True
        """
        from bemi.report.scorecard_views import document

        return document(self._sorted(order), self.proof, title)

    def figure(self, order: str = "column") -> Any:
        """The cards as a matplotlib figure: points of every line, and the probability by total if it has any.

        Examples
        --------
        >>> len(card.figure().axes)
        2
        """
        from bemi.report.scorecard_views import figure

        return figure(self._sorted(order))

    def _sorted(self, order: str) -> list[Card]:
        check_choice("order", order, ORDERS)
        return [card.by_size() if order == "size" else card for card in self.cards]

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from bemi.report.scorecard_views import fragment

        return fragment(self.cards, self.proof)


def _title(card: Card) -> str:
    return f"{card.classes[1]} or {card.classes[0]}"


def proof_of(ensemble: Ensemble) -> tuple[str, ...]:
    """What is known about cards, one sentence each."""
    final = [list(reports.values())[-1] for reports in ensemble.reports]
    rows = {next(iter(reports.values())).rows for reports in ensemble.reports}
    found = [f"Trained on {' to '.join(f'{n:,}' for n in sorted({min(rows), max(rows)}))} rows"]
    found[0] = "; ".join(filter(None, [found[0], expected_accuracy(ensemble.training.expected)])) + "."
    gaps = [report.gap for report in final if report.ran]
    if gaps and math.isfinite(max(gaps)):
        limit = ensemble.training.settings.get("max_links")
        other = "no other card" if limit is None else f"no other card of at most {counted(limit, 'line')}"
        less = f"by more than {math.ceil(10_000 * max(gaps)) / 100:.2f} %" if max(gaps) else "further"
        found.append(f"Proved: {other} lowers the training objective {less}.")
    return tuple(found)


def why_no_card(ensemble: Ensemble) -> str | None:
    """Why an ensemble has no scorecard; None if it has one."""
    transform: Any = ensemble.inputs.transform
    if not hasattr(transform, "outputs_"):
        return "a scorecard needs bits: train with inputs=TableBits()"
    if len(ensemble.layers) > 2 or ensemble.subsets.shape[1] > 2:
        return "a scorecard needs networks of two classes without a hidden layer: hidden_layers=()"
    others = [place for place, output in enumerate(transform.outputs_) if isinstance(output, (Value, IsLike))]
    if any(network.weights[0][others].any() for network in ensemble.networks):
        return "a scorecard has points for bits and rules only: train with inputs=TableBits()"
    return None
