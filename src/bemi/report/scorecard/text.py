"""Cards as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from bemi.report.scorecard.card import Card


def text(cards: Sequence[Card]) -> str:
    """All cards, one below the other."""
    return "\n\n".join(map(_card, cards)) + _many(cards)


def _card(card: Card) -> str:
    first, second = map(str, card.classes)
    rows = [("start", f"{card.start:+d}"), *((line.name, f"{line.points:+d}") for line in card.lines)]
    wide, digits = (max(len(row[part]) for row in rows) for part in (0, 1))
    lines = [f"  {name:<{wide}}  {points:>{digits}}" for name, points in rows]
    return "\n".join(
        [
            f"Scorecard: {second} or {first}?",
            "Add the points of every line that is true to the start.",
            "",
            *lines,
            "",
            f"Total above 0: {second}.  Otherwise: {first}.",
            *_chances(card),
        ]
    )


def _chances(card: Card) -> list[str]:
    if card.table is None:
        return []
    totals = card.some_totals()
    cells = [
        (f"{total:+d}" if total else "0", f"{100 * chance:.0f} %")
        for total, chance in zip(totals, card.chances(totals), strict=True)
    ]
    wide = [max(map(len, pair)) for pair in cells]
    heads = ("total", f"chance of {card.classes[1]}")
    name = max(map(len, heads))
    return [
        "",
        *(
            f"  {head:<{name}}  " + "  ".join(f"{pair[row]:>{w}}" for pair, w in zip(cells, wide, strict=True))
            for row, head in enumerate(heads)
        ),
    ]


def _many(cards: Sequence[Card]) -> str:
    return (
        ""
        if len(cards) == 1
        else "\n\nEach card is a vote for one of its two classes.  The class with the most votes wins."
    )
