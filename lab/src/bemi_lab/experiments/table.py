"""Tables of plain values and of means with their ranges, as Markdown for people and CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Spread:
    """Mean, smallest and largest value over the samples of a cell."""

    mean: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        return Spread(float(np.mean(values)), float(np.min(values)), float(np.max(values)))


def interval(values: Sequence[float]) -> Spread | None:
    """The mean and its 95 % confidence interval by Student's t; values are independent, one per table or sample."""
    if not values:
        return None
    mean = float(np.mean(values))
    if len(values) < 2:
        return Spread(mean, mean, mean)
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return Spread(mean, mean - half, mean + half)


@dataclass(frozen=True)
class Table:
    """Rows of plain values; numbers are shown with two decimals."""

    name: str
    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def without(self, headings: set[str]) -> Table:
        """The table without the columns of these headings."""
        return self._with_columns(i for i, heading in enumerate(self.headings) if heading not in headings)

    def without_empty_columns(self) -> Table:
        """The table without the columns in which no row has a value."""
        return self._with_columns(i for i in range(len(self.headings)) if any(row[i] is not None for row in self.rows))

    def _with_columns(self, indices: Iterable[int]) -> Table:
        kept = list(indices)
        rows = [[row[i] for i in kept] for row in self.rows]
        return replace(self, headings=[self.headings[i] for i in kept], rows=rows)

    def markdown(self) -> str:
        rows = [[in_text(value) for value in row] for row in self.rows]
        return f"{self.caption}\n\n{markdown(self.headings, rows)}\n"

    def csv(self) -> str:
        """One column per number: a mean with its range becomes three."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        wide = [any(isinstance(row[i], Spread) for row in self.rows) for i in range(len(self.headings))]
        headings: list[str] = []
        for heading, is_wide in zip(self.headings, wide, strict=True):
            headings += [heading, f"{heading} min", f"{heading} max"] if is_wide else [heading]
        writer.writerow(headings)
        for row in self.rows:
            cells: list[Any] = []
            for value, is_wide in zip(row, wide, strict=True):
                parts = [value.mean, value.low, value.high] if isinstance(value, Spread) else [value]
                parts += [None] * (3 - len(parts)) if is_wide else []
                cells += [round(v, 6) if isinstance(v, float) else v for v in parts]
            writer.writerow(cells)
        return text.getvalue()


def in_text(value: Any) -> str:
    """A value as text."""
    if value is None:
        return "-"
    if isinstance(value, Spread) and value.low < value.high:
        return f"{value.mean:.2f} ({value.low:.2f} to {value.high:.2f})"
    if isinstance(value, Spread):
        return f"{value.mean:.2f}"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def markdown(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; column separators in cells are escaped."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
