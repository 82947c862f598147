"""Whether the texts of a column are numbers, categories or neither.

Data frames and files are judged by the same rules; who calls adds where the column is and what to do about it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

FEW_LEVELS = 10
"""So many different texts are categories, whatever they look like."""

MANY_LEVELS = 1000
"""More different texts are taken for identifiers."""

_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE)

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


def number_in(text: str) -> float:
    """The number that a text is, infinite ones included; NaN if it is none."""
    return float(text) if _NUMBER.fullmatch(text) else math.nan


class Trouble(NamedTuple):
    """Why the texts of a column are hardly categories: words that end in "such as", and an example."""

    words: str
    example: str


def trouble_with_text(texts: Sequence[str], most: float = MANY_LEVELS) -> Trouble | None:
    """Why these texts of a column are hardly categories: dates, spoiled numbers, identifiers; None if they may be.

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
