"""Cards as HTML that loads nothing, readable in light and dark, on paper and by screen readers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from bemi.inputs.export_hooks import file_of
from bemi.report.scorecard.card import Card, Line

MINUS = "\u2212"


def document(cards: Sequence[Card], title: str | None = None) -> str:
    """A complete page."""
    heading = "" if title is None else f"<h1>{escape(title)}</h1>\n"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title or 'Scorecard')}</title>\n"
        "<style>body { font-family: system-ui, sans-serif; }</style>\n"
        f"</head>\n<body>\n{heading}{fragment(cards)}\n</body>\n</html>\n"
    )


def fragment(cards: Sequence[Card]) -> str:
    """All cards with their style, for a notebook or inside a page.  ASCII only, so that no encoding can spoil it."""
    style = file_of(__package__, "card.css")
    many = "" if len(cards) == 1 else '<p class="hint">Each card is a vote. The class with the most votes wins.</p>'
    body = "".join(map(_card, cards))
    found = f'<section class="bemi-scorecard" lang="en"><style>{style}</style>{many}{body}</section>'
    return found.encode("ascii", "xmlcharrefreplace").decode()


def _card(card: Card) -> str:
    first, second = (escape(str(label)) for label in card.classes)
    most = max((abs(line.points) for line in card.lines), default=1)
    before = [None, *card.lines]
    rows = "".join(_row(line, most, last) for line, last in zip(card.lines, before, strict=False))
    return (
        f"<article><h2>{second} or {first}?</h2>"
        "<p>Add the points of every line that is true to the start.</p>"
        '<table><thead><tr><th scope="col"><span class="unseen">true?</span></th><th scope="col">line</th>'
        '<th scope="col" class="points">points</th><td></td></tr></thead><tbody>'
        '<tr class="start"><td></td><th scope="row">Start</th>'
        f'<td class="points">{_signed(card.start)}</td><td></td></tr>'
        f"{rows}</tbody>"
        '<tfoot><tr><td></td><th scope="row">Total</th><td class="points"></td><td></td></tr></tfoot></table>'
        f'<p class="rule"><span>above 0: <b class="above">{second}</b></span>'
        f'<span>otherwise: <b class="below">{first}</b></span></p>{_chances(card)}</article>'
    )


def _row(line: Line, most: int, before: Line | None) -> str:
    kind = "plus" if line.points > 0 else "minus"
    more = " more" if before is not None and before.column == line.column else ""
    condition = escape(line.condition.replace(">=", "\u2265", 1) if line.condition.startswith(">=") else line.condition)
    return (
        f'<tr class="{kind}{more}"><td class="box"></td>'
        f'<th scope="row">{escape(line.column)} <span>{condition}</span></th>'
        f'<td class="points">{_signed(line.points)}</td>'
        f'<td class="bars"><span class="bar" style="width:{_percent(abs(line.points) / most / 2)}"></span></td></tr>'
    )


def _chances(card: Card) -> str:
    if card.table is None:
        return ""
    totals = card.some_totals()
    shares = card.chances(totals).tolist()
    heads = "".join(f'<th scope="col">{_signed(total)}</th>' for total in totals)
    wells = "".join(
        f'<td aria-hidden="true"><span class="well"><span style="height:{_percent(share)}"></span></span></td>'
        for share in shares
    )
    cells = "".join(f"<td>{100 * share:.0f}&nbsp;%</td>" for share in shares)
    name = escape(str(card.classes[1]))
    return (
        f'<h3>Chance of {name} by total</h3><table class="chances"><tbody>'
        f'<tr aria-hidden="true"><td></td>{wells}</tr><tr><th scope="row">total</th>{heads}</tr>'
        f'<tr><th scope="row">chance</th>{cells}</tr></tbody></table>'
    )


def _signed(number: int) -> str:
    return f"{MINUS}{-number}" if number < 0 else f"+{number}" if number else "0"


def _percent(share: Any) -> str:
    return f"{100 * share:.4g}%"
