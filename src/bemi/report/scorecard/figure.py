"""Cards as a matplotlib figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bemi.report.scorecard.card import Card

PLUS, MINUS, GREY = "#0072B2", "#D55E00", "#666666"
"""Okabe and Ito's colours, distinguishable for colour-blind readers."""

LINE_HEIGHT, FRAME_HEIGHT = 0.3, 1.1  # inches
WIDTH, CURVE_WIDTH = 6.0, 3.2


def figure(cards: Sequence[Card]) -> Any:
    """One row per card: bars of points, and beside them the chance by total if the model has chances."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("matplotlib is not installed; install it with: pip install 'bemi[figures]'") from error
    curves = cards[0].table is not None
    heights = [LINE_HEIGHT * (len(card.lines) + 1) + FRAME_HEIGHT for card in cards]
    made = Figure(figsize=(WIDTH + CURVE_WIDTH * curves, sum(heights)), layout="constrained")
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
    first, second = card.classes
    axis.set_title(_plain(f"total above 0: {second}, otherwise {first}"), loc="left", fontsize=10)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.tick_params(axis="y", length=0)


def _curve(axis: Any, card: Card) -> None:
    totals = np.arange(card.lowest, card.highest + 1)
    axis.step(totals, 100 * card.chances(totals), where="mid", color=PLUS)
    axis.axvline(0, color="black", linewidth=0.8)
    axis.axhline(50, color="#cccccc", linewidth=0.8, zorder=0)
    axis.set(ylim=(0, 100), xlabel="total", yticks=range(0, 101, 25))
    axis.yaxis.set_major_formatter("{x:.0f} %")
    axis.set_title(_plain(f"chance of {card.classes[1]}"), loc="left", fontsize=10)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _plain(text: str) -> str:
    """Text in which matplotlib finds no formulas."""
    return text.replace("$", r"\$")
