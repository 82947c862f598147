"""What the texts of a column, or of labels, are: numbers, dates, identifiers, an index.

Files and data frames are read by the same rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FEW_LEVELS = 10
"""So many different texts are categories, whatever they look like."""

MANY_LEVELS = 1000
"""More different texts are taken for identifiers."""

INDEX_ROWS = 10
"""With more rows than this, numbers in order are an index."""

MANY_CLASSES = 20
"""With more different numbers than this, labels may be measurements."""

_INDEX_NAME = re.compile(r"Unnamed: 0(\.\d+)?")
"""How pandas calls the column of an index that was written without a name, once or twice."""

_DECIMAL_COMMA = re.compile(r"[+-]?(?:\d+,\d*|,\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)

_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE)

_PLAIN = re.compile(r"[\d.e+-]*", re.ASCII | re.IGNORECASE)
"""Of these characters, Python's numbers are those of ``_NUMBER``."""

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d*)?)?(?: ?[ap]m)?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?"
_DATE = re.compile(
    r"(?:\d{4}([-/.])\d{1,2}\1\d{1,2}"  # 2024-01-31
    r"|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2})"  # 31.01.2024
    rf"|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}}"  # 31 Jan 2024
    rf"|{_MONTH} \d{{1,2}},? \d{{4}})"  # January 31, 2024
    rf"(?:[T ]{_TIME})?|{_TIME}",
    re.ASCII | re.IGNORECASE,
)


class ColumnWarning(UserWarning):
    """A column, the labels or the model may not be what they seem."""


def number_in(text: str, decimal_comma: bool = False) -> float:
    """The number that a text is, infinite ones included; NaN if it is none."""
    if decimal_comma and _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    return float(text) if _NUMBER.fullmatch(text) else math.nan


def numbers_in(texts: Sequence[str], decimal_comma: bool = False) -> NDArray[np.float64]:
    """What :func:`number_in` finds in each text; at once, and ten times as fast, where all are plain numbers."""
    if _PLAIN.fullmatch("".join(texts)):
        try:
            return np.array(texts, dtype=object).astype(np.float64)
        except ValueError:
            pass
    return np.array([number_in(text, decimal_comma) for text in texts], dtype=np.float64)


def have_decimal_commas(texts: Collection[str]) -> bool:
    """Whether some texts are numbers with a comma, and none is one with a point."""
    if not any(map(_DECIMAL_COMMA.fullmatch, texts)):
        return False
    return not any("." in text and math.isfinite(number_in(text)) for text in texts)


def are_numbers(texts: Collection[str]) -> bool:
    """Whether all texts are numbers, written in one way."""
    commas = have_decimal_commas(texts)
    return not any(math.isnan(number_in(text, commas)) for text in texts)


def is_index_name(name: str) -> bool:
    """Whether a column has the name that pandas gives to an index without one."""
    return _INDEX_NAME.fullmatch(name) is not None


def count_rows(texts: Sequence[str]) -> bool:
    """Whether the cells of a column only count the rows, from 0 or from 1."""
    starts = (0, 1) if len(texts) > INDEX_ROWS else ()
    return any(all(text == str(k) for k, text in enumerate(texts, start)) for start in starts)


def look_continuous(labels: Collection[str], rows: int) -> bool:
    """Whether the different labels of so many rows are numbers that look measured rather than given."""
    values = [number_in(label) for label in labels]
    if len(values) <= MANY_CLASSES or any(map(math.isnan, values)):
        return False
    return sum(not value.is_integer() for value in values) > MANY_CLASSES or 2 * len(values) > rows


def most_categories(cells: int) -> float:
    """Different texts from which on so many cells are identifiers: what most rows do not share says nothing."""
    return max(FEW_LEVELS, min(MANY_LEVELS, cells / 2))


class Trouble(NamedTuple):
    """Why the texts of a column are probably not categories: words that end in "such as", and an example."""

    words: str
    example: str


def trouble_with_text(texts: Sequence[str], most: float = MANY_LEVELS) -> Trouble | None:
    """Why a column's texts are probably not categories: dates, spoiled numbers, identifiers; None if they may be.

    Parameters
    ----------
    texts
        Each text of the column once, without missing cells.
    most
        Number of different texts beyond which they are taken for identifiers.
    """
    dates = [text for text in texts if _DATE.fullmatch(text)]
    if 2 * len(dates) > len(texts):
        return Trouble("holds dates or times, such as", dates[0])
    if len(texts) <= FEW_LEVELS:
        return None
    others = [text for text in texts if math.isnan(number_in(text))]
    if 0 < 2 * len(others) < len(texts):
        return Trouble("holds numbers, but also text, such as", others[0])
    if len(texts) > most:
        return Trouble(f"looks like an identifier, with {len(texts):,} different texts such as", texts[0])
    return None


def listed(texts: Sequence[str], most: int = 5) -> str:
    """The first texts, quoted, and how many more there are."""
    return ", ".join(map(repr, texts[:most])) + (f" and {len(texts) - most} more" if len(texts) > most else "")
