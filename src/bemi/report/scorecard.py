"""Scorecards: models of bits as points that you can add up by hand, one card for each network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi.checks import check_choice
from bemi.ensemble.ensemble import Ensemble
from bemi.ensemble.probabilities import CERTAIN, ProbabilityTable
from bemi.exact import Integers
from bemi.inputs.table.columns import AtLeast, Column, Constant, IsLike, Output, Value

UNLIKELY = 0.02
"""Totals with a smaller probability, of either class, are not worth a place in a list of totals."""


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
class Card:
    """Points that decide between two classes: the second if the total is above 0, otherwise the first.

    With bits of magnitude c and the constant d, a network gives the first class if

        s = d w_0 + c sum_i w_i b_i >= 0,   b_i = +1 if bit i is on, otherwise -1,

    where w_0 belongs to the constant.  A line has the points ``-2 c w_i / unit``, and the card starts with
    ``-(d w_0 - c sum_i w_i) / unit``, so the total is ``-s / unit``.  The unit is the largest that leaves integers.

    Attributes
    ----------
    classes
        Labels of the two classes; points count for the second.
    start
        The total if no line holds.
    lines
        In the order of the columns.
    unit
        What a point stands for in the sum of the network.
    lowest, highest
        Smallest and largest total that a row can have.
    table
        Probability of the first class by the sum of the network; None if the model has no probabilities.

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
    >>> card.lowest <= card.start <= card.highest
    True
    """

    classes: tuple[Any, Any]
    start: int
    lines: tuple[Line, ...]
    unit: int
    lowest: int
    highest: int
    table: ProbabilityTable | None = None

    @classmethod
    def of(
        cls,
        classes: tuple[Any, Any],
        weights: Integers,
        columns: Sequence[Column],
        outputs: Sequence[Output],
        level: int,
        table: ProbabilityTable | None = None,
    ) -> Card:
        """The card of a network with these weights, for bits of magnitude ``level``."""
        linked = [place for place, output in enumerate(outputs) if weights[place] and not isinstance(output, Constant)]
        # Bits of one column stand together, thresholds in increasing order.
        linked.sort(key=lambda place: (outputs[place].column, place))
        points = {place: -2 * level * int(weights[place]) for place in linked}
        constants = [
            (output.reading, w) for output, w in zip(outputs, weights, strict=True) if isinstance(output, Constant)
        ]
        constant = sum(value * int(weight) for value, weight in constants)
        start = level * sum(int(weights[place]) for place in linked) - constant
        unit = math.gcd(start, *points.values()) or 1
        points = {place: number // unit for place, number in points.items()}
        start //= unit
        lines = [_line(outputs[place], columns, number, place) for place, number in points.items()]
        ends = [_ends([(outputs[p], points[p]) for p in own]) for own in _by_column(linked, outputs)]
        lowest, highest = (start + sum(end) for end in (zip(*ends, strict=True) if ends else ((), ())))
        return cls(classes, start, tuple(lines), unit, lowest, highest, table)

    def by_size(self) -> Card:
        """The same card with the most points first.

        Examples
        --------
        >>> len(card.by_size().lines) == len(card.lines)
        True
        """
        return replace(self, lines=tuple(sorted(self.lines, key=lambda line: -abs(line.points))))

    def totals(self, inputs: Integers) -> Integers:
        """The total of each row, from the inputs of the networks.

        Examples
        --------
        >>> card.totals(scorecard.transform.transform(X)).shape
        (6,)
        """
        on = inputs[:, [line.input for line in self.lines]] > 0
        return self.start + on @ np.array([line.points for line in self.lines], dtype=np.int64)

    def probabilities(self, totals: ArrayLike) -> NDArray[np.float64]:
        """Probability of the second class for each total; only if the model has probabilities.

        Examples
        --------
        >>> bool(card.probabilities(card.highest) > 0.5)
        True
        """
        assert self.table is not None
        return 1 - self.table(-self.unit * np.asarray(totals)) / CERTAIN

    @property
    def every_total(self) -> Integers:
        """All totals from the lowest to the highest."""
        return np.arange(self.lowest, self.highest + 1)

    def some_totals(self, most: int = 9) -> list[int]:
        """Up to so many round totals, evenly spaced, over the range where the probability changes.

        Examples
        --------
        >>> len(card.some_totals(most=5)) <= 5
        True
        """
        every = self.every_total
        open_ = every[np.abs(self.probabilities(every) - 0.5) <= 0.5 - UNLIKELY]
        low, high = (int(open_[0]), int(open_[-1])) if len(open_) else (self.lowest, self.highest)
        steps = (factor * 10**power for power in range(10) for factor in (1, 2, 5))
        step = next(step for step in steps if high // step - -(-low // step) < most)
        return list(range(-(-low // step) * step, high + 1, step))


def _line(output: Output, columns: Sequence[Column], points: int, place: int) -> Line:
    column = columns[output.column]
    return Line(column.name, output.name(column)[len(column.name) :].strip(), points, place)


def _by_column(linked: Iterable[int], outputs: Sequence[Output]) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for place in linked:
        found.setdefault(outputs[place].column, []).append(place)
    return list(found.values())


def _ends(bits: Iterable[tuple[Output, int]]) -> tuple[int, int]:
    """Least and most points that one column gives.

    Thresholds add up from the lowest, and of levels and a missing cell at most one holds.
    """
    reached, sums = 0, [0]
    for output, points in bits:
        if isinstance(output, AtLeast):
            reached += points
            sums.append(reached)
        else:
            sums.append(points)
    return min(sums), max(sums)


ORDERS = ("column", "size")
"""How lines are sorted: by column, or the most points first."""


@dataclass(frozen=True, eq=False)
class Scorecard:
    """A model you can add up by hand: points for a few lines, one card per pair of classes.

    Printing it gives the text; notebooks show the HTML.

    Attributes
    ----------
    cards
        One :class:`bemi.report.scorecard.Card` per network.
    transform
        The transform that makes the bits.

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

    @classmethod
    def of(cls, ensemble: Ensemble) -> Scorecard:
        """The scorecard of an ensemble; ValueError says why it has none."""
        trouble = why_no_card(ensemble)
        if trouble is not None:
            raise ValueError(trouble)
        transform: Any = ensemble.inputs.transform
        known = ensemble.probabilities
        tables = [None] * len(ensemble.networks) if known is None else known.tables
        return cls(
            tuple(
                Card.of(key, n.weights[0][:, 0], transform.columns_, transform.outputs_, transform.level_, table)
                for key, n, table in zip(ensemble.keys, ensemble.networks, tables, strict=True)
            ),
            transform,
        )

    def score(self, X: Any) -> Integers:
        """The total of each row of a table: shape (rows), or (rows, cards) with more than one card.

        Examples
        --------
        >>> card.score(X).shape
        (6,)
        """
        inputs = self.transform.transform(X)
        totals = np.stack([card.totals(inputs) for card in self.cards], axis=1)
        return totals[:, 0] if len(self.cards) == 1 else totals

    def text(self, order: str = "column") -> str:
        """The cards as plain text, lines sorted by ``"column"`` or by ``"size"``, the most points first.

        Examples
        --------
        >>> "age" in card.text()
        True
        """
        from bemi.report.scorecard_views import text

        return text(self._sorted(order))

    def html(self, order: str = "column", title: str | None = None) -> str:
        """The cards as a page that loads nothing, for browsers and printers, with a heading if there is a title.

        Examples
        --------
        >>> card.html(title="Example").startswith("<!doctype html>")
        True
        """
        from bemi.report.scorecard_views import document

        return document(self._sorted(order), title)

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

    def _repr_html_(self) -> str:
        from bemi.report.scorecard_views import fragment

        return fragment(self.cards)


def why_no_card(ensemble: Ensemble) -> str | None:
    """Why an ensemble has no scorecard; None if it has one."""
    transform: Any = ensemble.inputs.transform
    if not hasattr(transform, "outputs_"):
        return "a scorecard needs bits: train with inputs=TableBits()"
    if len(ensemble.layers) > 2 or ensemble.subsets.shape[1] > 2:
        return "a scorecard needs networks of two classes without a hidden layer: hidden_layers=()"
    others = [place for place, output in enumerate(transform.outputs_) if isinstance(output, (Value, IsLike))]
    if any(network.weights[0][others].any() for network in ensemble.networks):
        return "a scorecard has points for bits only: train with TableBits(values=False, similarities=0)"
    return None
