"""Checks of values, and the errors for invalid ones: of parameters, and of what untrusted files say.

For parameters, booleans are neither integers nor numbers, although Python derives them from integers:
``weight_bound=True`` is a mistake.  NumPy scalars are accepted wherever Python scalars are.  Values of a file must have
exactly the type that JSON gives them.  Imports nothing slow, since the declarations of all settings use it.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterable, Set
from numbers import Integral, Real
from typing import Any


def is_integer(value: Any, low: float = -math.inf, high: float = math.inf) -> bool:
    """Whether a value is an integer in ``low..high``."""
    known: Any = value
    return isinstance(value, Integral) and not isinstance(value, bool) and bool(low <= known <= high)


def is_number(value: Any, low: float = -math.inf, high: float = math.inf) -> bool:
    """Whether a value is a finite number in ``low..high``."""
    known = isinstance(value, Real) and not isinstance(value, bool)
    return known and abs(value) < math.inf and bool(low <= value <= high)


def is_list(value: Any) -> bool:
    """Whether a value is a tuple, a list or an array."""
    return isinstance(value, (tuple, list)) or (hasattr(value, "__array__") and getattr(value, "ndim", 0) > 0)


KEYWORD_OF_C = re.compile(
    "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|inline|int|long|register|"
    "restrict|return|short|signed|sizeof|static|struct|switch|typedef|union|unsigned|void|volatile|while"
)

LONGEST_PREFIX = 31
"""Compilers may look at the first 63 characters of a name only, and the rest of it needs room."""


def check_prefix(name: str, value: Any) -> None:
    """Raise ValueError unless names of C and Verilog can begin with this one and ``_``.

    Names with two ``_`` in a row, or one in front, are reserved.
    """
    text = value if isinstance(value, str) and len(value) <= LONGEST_PREFIX else ""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", text):
        raise ValueError(
            f"{name} must be up to {LONGEST_PREFIX} letters, digits and single _, a letter first and no _ last, "
            f"such as 'gestures'; got {value!r}"
        )
    if KEYWORD_OF_C.fullmatch(text):
        raise ValueError(f"{name} must not be a keyword of C, got {value!r}")


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
    given: list[Any] = list(values) if is_list(values) else [None]
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
    import numpy as np

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


def counted(number: int, noun: str) -> str:
    """A number of things in words, such as "1 network" or "45 networks"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _or_none(optional: bool) -> str:
    return "None or " if optional else ""


def _integers(low: int | None, high: int | None) -> str:
    if low is None:
        return "an integer"
    return f"an integer of at least {low}" if high is None else f"an integer in {low}..{high}"


LARGEST_INTEGER = 2**63 - 1
"""Of a file."""
LARGEST_NUMBER = 1e300
LONGEST_TEXT = 2**14


def members(value: Any, what: str, required: Set[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    """An object of a file with all of the required members and no unknown ones."""
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be an object, got {brief(value)}")
    wrong = [*sorted(required - value.keys()), *sorted(value.keys() - required - set(optional))]
    if wrong:
        raise ValueError(f"{what} has {'an unknown' if wrong[0] in value else 'no'} member {brief(wrong[0])}")
    return value


def listed(value: Any, what: str, most: int = LARGEST_INTEGER, fewest: int = 0) -> list[Any]:
    """A list of a file with so many values."""
    if not isinstance(value, list) or not fewest <= len(value) <= most:
        size = f"{most}" if fewest == most else f"{fewest} to {most}"
        raise ValueError(f"{what} must be a list of {size} values, got {brief(value)}")
    return value


def whole(value: Any, what: str, low: int, high: int = LARGEST_INTEGER) -> int:
    """An integer of a file in ``low..high``."""
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{what} must be an integer in {low}..{high}, got {brief(value)}")
    return value


def number(value: Any, what: str) -> float:
    """A number of a file, at least 0."""
    if type(value) not in (int, float) or not 0 <= value <= LARGEST_NUMBER:
        raise ValueError(f"{what} must be a number of at least 0, got {brief(value)}")
    return value


def text(value: Any, what: str, longest: int = LONGEST_TEXT) -> str:
    """A text of a file."""
    if type(value) is not str or len(value) > longest:
        raise ValueError(f"{what} must be text of at most {longest} characters, got {brief(value)}")
    value.encode()  # JSON can hold half a surrogate pair, but no output can.
    return value


def pairs(value: Any, what: str, most: int) -> list[list[Any]]:
    """A mapping as a file has it: a list of pairs with different keys."""
    entries = listed(value, what, most)
    for entry in entries:
        listed(entry, f"an entry of {what}", 2, 2)
    if any(isinstance(key, (list, dict)) for key, _ in entries) or len({key for key, _ in entries}) < len(entries):
        raise ValueError(f"{what} must have different keys")
    return entries


def brief(value: Any) -> str:
    """A value for an error message: short, however large or deep it is."""
    return reprlib.repr(value)
