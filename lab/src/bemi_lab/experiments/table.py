"""Tables of plain values and of means with their ranges, as Markdown for people and CSV for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

CONFIDENCE = 0.95

Row = dict[str, Any]
"""Values by heading."""


@dataclass(frozen=True)
class Spread:
    """A mean, and the smallest and largest value or the ends of an interval."""

    mean: float
    low: float
    high: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        return Spread(float(np.mean(values)), float(np.min(values)), float(np.max(values)))

    def __mul__(self, factor: float) -> Spread:
        return Spread(factor * self.mean, factor * self.low, factor * self.high)


def interval(values: Sequence[float]) -> Spread | None:
    """The mean and its 95 % confidence interval by Student's t; values are independent, one per table or sample."""
    if len(set(values)) < 2:
        return Spread.of(values) if values else None
    mean = float(np.mean(values))
    low, high = stats.t.interval(CONFIDENCE, len(values) - 1, mean, stats.sem(values))
    return Spread(mean, float(low), float(high))


@dataclass(frozen=True)
class Table:
    """Rows of plain values by heading; all rows have the first row's headings.  Text has so many ``digits``."""

    caption: str
    content: Sequence[Mapping[str, Any]]
    digits: int = 2

    @property
    def headings(self) -> list[str]:
        return list(self.content[0]) if self.content else []

    @property
    def rows(self) -> list[list[Any]]:
        return [[row[heading] for heading in self.headings] for row in self.content]

    def without(self, headings: set[str]) -> Table:
        """The table without the columns of these headings."""
        return replace(self, content=[{h: v for h, v in row.items() if h not in headings} for row in self.content])

    def without_empty_columns(self) -> Table:
        """The table without the columns in which no row has a value."""
        return self.without({h for h in self.headings if all(row[h] is None for row in self.content)})

    def markdown(self) -> str:
        rows = [[in_text(value, self.digits) for value in row] for row in self.rows]
        return f"{self.caption}\n\n{markdown(self.headings, rows)}\n"

    def frame(self) -> pd.DataFrame:
        """One column per number: a mean with its range becomes three."""
        columns: dict[str, list[Any]] = {}
        for heading, values in zip(self.headings, zip(*self.rows, strict=True), strict=True):
            columns[heading] = [v.mean if isinstance(v, Spread) else v for v in values]
            if any(isinstance(v, Spread) for v in values):
                columns[f"{heading} min"] = [v.low if isinstance(v, Spread) else None for v in values]
                columns[f"{heading} max"] = [v.high if isinstance(v, Spread) else None for v in values]
        rounded = {h: [round(v, 6) if isinstance(v, float) else v for v in vs] for h, vs in columns.items()}
        return pd.DataFrame(rounded, dtype=object)

    def csv(self) -> str:
        return self.frame().to_csv(index=False, lineterminator="\n")


def in_text(value: Any, digits: int = 2) -> str:
    """A value as text."""
    if isinstance(value, Spread) and value.low < value.high:
        return f"{value.mean:.{digits}f} ({value.low:.{digits}f} to {value.high:.{digits}f})"
    number = value.mean if isinstance(value, Spread) else value
    if pd.isna(number):
        return "-"
    return f"{number:.{digits}f}" if isinstance(number, float) else str(number)


def markdown(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; column separators in cells are escaped."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
