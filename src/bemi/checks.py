"""Parameter checks: one definition of integers and numbers, and the errors for all other values.

Booleans are neither, although Python derives them from integers: ``weight_bound=True`` is a mistake.  NumPy scalars are
accepted wherever Python scalars are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np


def is_integer(value: Any, low: float = -math.inf, high: float = math.inf) -> bool:
    """Whether a value is an integer in ``low..high``."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(low <= value <= high)


def is_number(value: Any, low: float = -math.inf, high: float = math.inf) -> bool:
    """Whether a value is a finite number in ``low..high``."""
    known = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return known and abs(value) < math.inf and bool(low <= value <= high)


def check_integer(
    name: str, value: Any, low: int | None = None, high: int | None = None, *, optional: bool = False
) -> None:
    """Raise ValueError unless ``value`` is an integer in ``low..high``, or None with ``optional``."""
    if value is None and optional:
        return
    if not is_integer(value, -math.inf if low is None else low, math.inf if high is None else high):
        raise ValueError(f"{name} must be {_or_none(optional)}{_integers(low, high)}, got {value!r}")


def check_number(
    name: str, value: Any, *, positive: bool = False, optional: bool = False, what: str = "number"
) -> None:
    """Raise ValueError unless ``value`` is a finite number, at least 0 or positive, or None with ``optional``."""
    if value is None and optional:
        return
    if not is_number(value, 0) or (positive and value == 0):
        wanted = f"a positive {what}" if positive else f"a {what} of at least 0"
        raise ValueError(f"{name} must be {_or_none(optional)}{wanted}, got {value!r}")


def numbers_in(name: str, values: Any, at_least: float = -math.inf) -> list[float]:
    """The numbers of a tuple, list or array; ValueError unless all are finite numbers of at least this."""
    given: list[Any] = list(values) if isinstance(values, (tuple, list, np.ndarray)) else [None]
    if not all(is_number(value, at_least) for value in given):
        limit = "" if at_least == -math.inf else f" of at least {at_least:g}"
        raise ValueError(f"{name} must be a tuple of numbers{limit}, got {values!r}")
    return [float(v) for v in given]


def check_seconds(name: str, value: Any) -> None:
    """Raise ValueError unless ``value`` is None or a positive number of seconds."""
    if value is not None and not (is_number(value, 0) and value > 0):
        raise ValueError(f"{name} must be None or positive seconds, got {value!r}")


def check_choice(name: str, value: Any, known: Any) -> None:
    """Raise ValueError unless ``value`` is one of ``known``."""
    # An array, or anything else that is not hashable, is not a valid choice either.
    if not any(value is choice or (type(value) is type(choice) and value == choice) for choice in known):
        raise ValueError(f"{name} must be one of {', '.join(map(str, known))}, got {value!r}")


def check_finite(X: Any, names: Iterable[str] | None = None) -> None:
    """Raise ValueError for NaN and infinity, naming the first cell that holds one."""
    # A non-finite number makes the sum non-finite.  Large finite ones may, too, so the cells are then checked.
    if X.dtype.kind in "iub" or np.isfinite(X.sum(dtype=np.float64)):
        return
    bad = ~np.isfinite(X)
    if not bad.any():
        return
    row, column = np.argwhere(bad)[0]
    name = column if names is None else repr(list(names)[column])
    kind = "NaN" if np.isnan(X[row, column]) else "infinity (inf)"
    raise ValueError(
        f"X contains {kind} at row {row}, column {name} ({bad.sum()} such cells in all); remove or impute them"
    )


def _or_none(optional: bool) -> str:
    return "None or " if optional else ""


def _integers(low: int | None, high: int | None) -> str:
    if low is None:
        return "an integer"
    return f"an integer of at least {low}" if high is None else f"an integer in {low}..{high}"
