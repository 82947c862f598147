"""The scorecard of an ensemble: one card for each of its networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bemi.checks import check_choice
from bemi.ensemble.ensemble import Ensemble
from bemi.exact import Integers
from bemi.inputs.table.columns import IsLike, Value
from bemi.report.scorecard.card import Card

ORDERS = ("column", "size")
"""How lines are sorted: by column, or the most points first."""


@dataclass(frozen=True, eq=False)
class Scorecard:
    """A model as points that people can add up, one card per pair of classes.

    Printing it gives the text; notebooks show the HTML.

    Attributes
    ----------
    cards
        One :class:`bemi.report.scorecard.card.Card` per network.
    transform
        The transform that makes the bits.
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
        chances = ensemble.probabilities
        tables = [None] * len(ensemble.networks) if chances is None else chances.tables
        return cls(
            tuple(
                Card.of(key, n.weights[0][:, 0], transform.columns_, transform.outputs_, transform.level_, table)
                for key, n, table in zip(ensemble.keys, ensemble.networks, tables, strict=True)
            ),
            transform,
        )

    def score(self, X: Any) -> Integers:
        """The total of each row of a table: shape (rows), or (rows, cards) with more than one card."""
        inputs = self.transform.transform(X)
        totals = np.stack([card.totals(inputs) for card in self.cards], axis=1)
        return totals[:, 0] if len(self.cards) == 1 else totals

    def text(self, order: str = "column") -> str:
        """The cards as plain text, lines sorted by ``"column"`` or by ``"size"``, the most points first."""
        from bemi.report.scorecard.text import text

        return text(self._sorted(order))

    def html(self, order: str = "column", title: str | None = None) -> str:
        """The cards as a page that loads nothing, for browsers and printers, with a heading if there is a title."""
        from bemi.report.scorecard.html import document

        return document(self._sorted(order), title)

    def figure(self, order: str = "column") -> Any:
        """The cards as a matplotlib figure: points of every line, and the chance by total if the model has chances."""
        from bemi.report.scorecard.figure import figure

        return figure(self._sorted(order))

    def _sorted(self, order: str) -> list[Card]:
        check_choice("order", order, ORDERS)
        return [card.by_size() if order == "size" else card for card in self.cards]

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        from bemi.report.scorecard.html import fragment

        return fragment(self.cards)


def why_no_card(ensemble: Ensemble) -> str | None:
    """Why an ensemble has no scorecard; None if it has one."""
    transform: Any = ensemble.inputs.transform
    if not hasattr(transform, "outputs_"):
        return "a scorecard needs bits: train with transform=TableBits()"
    if len(ensemble.layers) > 2 or ensemble.subsets.shape[1] > 2:
        return "a scorecard needs networks of two classes without a hidden layer: hidden_layers=()"
    others = [place for place, output in enumerate(transform.outputs_) if isinstance(output, (Value, IsLike))]
    if any(network.weights[0][others].any() for network in ensemble.networks):
        return "a scorecard has points for bits only: train with TableBits(values=False, similarities=0)"
    return None
