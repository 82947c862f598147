"""Scorecards as plain text, as HTML and as a matplotlib figure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from io import BytesIO
from typing import Any

import numpy as np

from bemi.inputs.export_hooks import file_of
from bemi.report.scorecard import Card, Line, signed


def text(cards: Sequence[Card], proof: Sequence[str] = ()) -> str:
    """All cards, one below the other."""
    return "\n\n".join(map(_text_card, cards)) + _many(cards) + "".join(f"\n{line}" for line in ("", *proof))


def _text_card(card: Card) -> str:
    first, second = map(str, card.classes)
    rows = [("start", f"{card.start:+d}"), *((line.name, f"{line.points:+d}") for line in card.lines)]
    wide, digits = (max(len(row[part]) for row in rows) for part in (0, 1))
    lines = [f"  {name:<{wide}}  {points:>{digits}}" for name, points in rows]
    return "\n".join(
        [
            f"Scorecard: {second} or {first}?",
            f"Add the points of every line that is true to the start.  {missing_cells(card)}",
            "",
            *lines,
            "",
            f"Total above 0: {second}.  Otherwise: {first}.{_odds(card, '  ')}",
            *_text_probabilities(card),
        ]
    )


def missing_cells(card: Card) -> str:
    """What a missing cell counts."""
    if any("<" in line.column or "!=" in line.column or " not " in f" {line.column}" for line in card.lines):
        return 'A missing cell makes only "missing", "<" and "!=" true.'
    return 'A missing cell makes only lines with "missing" true.'


def _odds(card: Card, before: str) -> str:
    """What a point means."""
    if card.factor is None:
        return ""
    return f"{before}A point multiplies the odds of {card.classes[1]} by {card.factor:.2f}."


def _text_probabilities(card: Card) -> list[str]:
    if card.table is None:
        return []
    groups = card.grouped()
    columns = [
        ["total", *(group.name() for group in groups)],
        [f"chance of {card.classes[1]}", *(group.percent for group in groups)],
    ]
    if card.rows is not None:
        columns.append(["training rows", *(str(group.rows) for group in groups)])
    wide = [max(map(len, column)) for column in columns]
    return [
        "",
        *("  " + "  ".join(f"{c:>{w}}" for c, w in zip(row, wide, strict=True)) for row in zip(*columns, strict=True)),
    ]


def _many(cards: Sequence[Card]) -> str:
    return (
        ""
        if len(cards) == 1
        else "\n\nEach card is a vote for one of its two classes.  The class with the most votes wins."
    )


MINUS_SIGN = "\u2212"


def document(cards: Sequence[Card], proof: Sequence[str], title: str | None = None) -> str:
    """A complete page."""
    heading = "" if title is None else f"<h1>{escape(title)}</h1>\n"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title or 'Scorecard')}</title>\n"
        "<style>body { font-family: system-ui, sans-serif; }</style>\n"
        f"</head>\n<body>\n{heading}{fragment(cards, proof)}\n</body>\n</html>\n"
    )


def fragment(cards: Sequence[Card], proof: Sequence[str] = ()) -> str:
    """All cards with their style, for a notebook or inside a page.  ASCII only, so that no encoding can spoil it."""
    style = file_of(__package__, "scorecard.css")
    many = "" if len(cards) == 1 else '<p class="hint">Each card is a vote. The class with the most votes wins.</p>'
    body = "".join(map(_html_card, cards))
    known = f'<p class="hint">{escape(" ".join(proof))}</p>' if proof else ""
    found = f'<section class="bemi-scorecard" lang="en"><style>{style}</style>{many}{body}{known}</section>'
    return found.encode("ascii", "xmlcharrefreplace").decode()


def _html_card(card: Card) -> str:
    first, second = (escape(str(label)) for label in card.classes)
    most = max((abs(line.points) for line in card.lines), default=1)
    before = [None, *card.lines]
    rows = "".join(_html_row(line, most, last) for line, last in zip(card.lines, before, strict=False))
    return (
        f"<article><h2>{second} or {first}?</h2>"
        f"<p>Add the points of every line that is true to the start. "
        f"{escape(missing_cells(card) + _odds(card, ' '))}</p>"
        '<table><thead><tr><th scope="col"><span class="unseen">true?</span></th><th scope="col">line</th>'
        '<th scope="col" class="points">points</th><td></td></tr></thead><tbody>'
        '<tr class="start"><td></td><th scope="row">Start</th>'
        f'<td class="points">{signed(card.start, MINUS_SIGN)}</td><td></td></tr>'
        f"{rows}</tbody>"
        '<tfoot><tr><td></td><th scope="row">Total</th><td class="points"></td><td></td></tr></tfoot></table>'
        f'<p class="rule"><span>above 0: <b class="above">{second}</b></span>'
        f'<span>otherwise: <b class="below">{first}</b></span></p>{_html_probabilities(card)}</article>'
    )


def _html_row(line: Line, most: int, before: Line | None) -> str:
    kind = "plus" if line.points > 0 else "minus"
    more = " more" if before is not None and before.column == line.column else ""
    condition = escape(line.condition.replace(">=", "\u2265", 1) if line.condition.startswith(">=") else line.condition)
    return (
        f'<tr class="{kind}{more}"><td class="box"></td>'
        f'<th scope="row">{escape(line.column)} <span>{condition}</span></th>'
        f'<td class="points">{signed(line.points, MINUS_SIGN)}</td>'
        f'<td class="bars"><span class="bar" style="width:{_percent(abs(line.points) / most / 2)}"></span></td></tr>'
    )


def _html_probabilities(card: Card) -> str:
    if card.table is None:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{group.name(MINUS_SIGN)}</th><td>{group.percent.replace(" %", "&nbsp;%")}</td>'
        f'<td class="well" aria-hidden="true"><span style="width:{_percent(group.chance)}"></span></td>'
        + (f"<td>{group.rows}</td></tr>" if group.rows is not None else "</tr>")
        for group in card.grouped()
    )
    counted = "" if card.rows is None else '<th scope="col">training rows</th>'
    return (
        f'<h3>Chance of {escape(str(card.classes[1]))} by total</h3><table class="chances"><thead><tr>'
        f'<th scope="col">total</th><th scope="col">chance</th><td></td>{counted}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _percent(share: Any) -> str:
    return f"{100 * share:.4g}%"


PLUS, MINUS, GREY = "#0072B2", "#D55E00", "#666666"
"""Okabe and Ito's colours, distinguishable for colour-blind readers."""

LINE_HEIGHT, FRAME_HEIGHT = 0.3, 1.1  # inches
WIDTH, CURVE_WIDTH = 6.0, 3.2


def figure(cards: Sequence[Card]) -> Any:
    """One row per card: bars of points, and beside them the probability by total if the model has any."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("matplotlib is not installed; install it with: pip install 'bemi[figures]'") from error

    class Picture(Figure):
        """A figure that notebooks show without pyplot."""

        def _repr_png_(self) -> bytes:
            written = BytesIO()
            self.savefig(written, format="png")
            return written.getvalue()

    curves = cards[0].table is not None
    heights = [LINE_HEIGHT * (len(card.lines) + 1) + FRAME_HEIGHT for card in cards]
    made = Picture(figsize=(WIDTH + CURVE_WIDTH * curves, sum(heights)), layout="constrained")
    ratios = [WIDTH, CURVE_WIDTH] if curves else [WIDTH]
    axes = made.subplots(len(cards), len(ratios), squeeze=False, height_ratios=heights, width_ratios=ratios)
    for card, row in zip(cards, axes, strict=True):
        _bars(row[0], card)
        if curves:
            _curve(row[1], card)
    return made


def _bars(axis: Any, card: Card) -> None:
    points = [card.start, *(line.points for line in card.lines)]
    names = ["start", *(line.name.replace(">=", "\u2265") for line in card.lines)]
    places = np.arange(len(points))
    colours = [GREY, *(PLUS if number > 0 else MINUS for number in points[1:])]
    bars = axis.barh(places, points, height=0.62, color=colours)
    axis.bar_label(bars, [f"{number:+d}".replace("-", "\u2212") for number in points], padding=3, fontsize=9)
    axis.set_yticks(places, [_plain(name) for name in names])
    axis.set_ylim(len(points) - 0.4, -0.6)
    axis.axvline(0, color="black", linewidth=0.8)
    axis.margins(x=0.14)
    axis.set_xlabel("points")
    axis.xaxis.get_major_locator().set_params(integer=True)
    first, second = card.classes
    axis.set_title(_plain(f"total above 0: {second}, otherwise {first}"), loc="left", fontsize=10)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.tick_params(axis="y", length=0)


def _curve(axis: Any, card: Card) -> None:
    """The chance at every total, and below it how many training rows have it."""
    axis.plot(card.totals, 100 * card.probabilities(card.totals), ".", color=PLUS, markersize=5)
    if card.rows:
        most = max(card.rows.values())
        axis.bar(list(card.rows), [25 * rows / most for rows in card.rows.values()], color=GREY, alpha=0.35, width=0.8)
    axis.axvline(0, color="black", linewidth=0.8)
    axis.axhline(50, color="#cccccc", linewidth=0.8, zorder=0)
    axis.set(ylim=(0, 104), xlabel="total; bars: training rows" if card.rows else "total", yticks=range(0, 101, 25))
    axis.yaxis.set_major_formatter("{x:.0f} %")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set_title(_plain(f"chance of {card.classes[1]}"), loc="left", fontsize=10)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _plain(text: str) -> str:
    """Text in which matplotlib finds no formulas."""
    return text.replace("$", r"\$")
