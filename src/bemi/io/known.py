"""Texts that a model knows, its labels and categories, found again in other files."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any


class Known:
    """Finds known values by what is written in a file: ``1``, ``1.0`` and ``+1`` are one value.

    The same text comes first.  A number written in another way is found if only one known value equals it, so that
    ``01`` and ``1`` stay apart where both are known.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        self._by_text = {str(value): value for value in values}
        self._by_number: dict[Decimal, list[Any]] = {}
        for text, value in self._by_text.items():
            number = _number(text)
            if number is not None:
                self._by_number.setdefault(number, []).append(value)

    def find(self, given: Any, otherwise: Any = None) -> Any:
        """The known value that ``given`` is, or ``otherwise``."""
        text = str(given)
        if text in self._by_text:
            return self._by_text[text]
        equal = self._by_number.get(_number(text), [])  # type: ignore[arg-type]
        return equal[0] if len(equal) == 1 else otherwise


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
