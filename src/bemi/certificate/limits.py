"""What a certificate may contain and how much work it may cause: files are untrusted, and every check must end.

Every number has a type and a range before anything is computed with it.  Steps are counted before they are done: one
step is about one operation on small integers in plain Python, or sixteen on the digits of a long integer.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from bemi.files import printable

Row = tuple[int, ...]

DEFAULT_BUDGET = 3_000
"""Millions of steps: a few minutes."""

MORE = "if you know who made the file, allow more with --budget"

MOST_BYTES = 1 << 28
"""Bytes that the rows of one network, or the open branches of one proof, may take."""

LARGEST_MULTIPLIER = LARGEST_MARGIN = 1 << 64


class CertificateError(ValueError):
    """A certificate claims something that does not follow; the message says what.

    Whatever the file contains, the message is one line that a terminal can show.
    """

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


def require(condition: object, message: str) -> None:
    """Reject a certificate unless the condition holds."""
    if not condition:
        raise CertificateError(message)


def whole(value: Any, low: int, high: int, what: str) -> int:
    """An integer in ``low..high - 1``; booleans and floats are not integers here."""
    if type(value) is not int or not low <= value < high:
        raise CertificateError(f"bad {what}: {value!r:.40}")
    return value


def whole_row(values: Any, low: int, high: int, what: str) -> Row:
    """A list of integers in ``low..high - 1``; there may be millions, so they are not checked one by one."""
    require(isinstance(values, list) and set(map(type, values)) <= {int}, f"a {what} is not an integer")
    require(not values or (low <= min(values) and max(values) < high), f"a {what} is not in {low}..{high - 1}")
    return tuple(values)


def only(value: Any, required: Set[str], optional: Set[str] = frozenset()) -> dict[str, Any]:
    """An object that has the members it needs and none that do not belong."""
    if not isinstance(value, dict):
        raise CertificateError("a part of the certificate is not an object")
    wrong = sorted((required - value.keys()) | (value.keys() - required - optional))
    require(not wrong, f"a member is missing or does not belong: {''.join(wrong[:1])}")
    return value


KIND = frozenset({"kind"})
"""The member that every proof has beside those of its rule; :func:`kind_of` checks it before the proof is replayed."""


def kind_of(proof: Any, *allowed: str) -> str:
    """The kind of a proof (R8), which must be one of those that its stage allows."""
    if not isinstance(proof, dict):
        raise CertificateError("a part of the certificate is not an object")
    kind = proof.get("kind")
    require(kind in allowed, f"a proof of kind {kind!r:.40} does not belong here")
    assert isinstance(kind, str)
    return kind


class Work:
    """The steps that are done.

    Parameters
    ----------
    budget
        Millions of steps.
    """

    def __init__(self, budget: float = DEFAULT_BUDGET) -> None:
        self.budget = budget
        self.spent = 0

    def spend(self, steps: int) -> None:
        """Count steps before they are done; refuse the certificate if there are not enough left."""
        self.spent += steps
        if self.spent > self.budget * 1_000_000:
            raise CertificateError(f"checking takes more than {self.budget:g} million steps; {MORE}")


def fits(size: int) -> None:
    """Refuse a certificate that would need so many bytes at a time."""
    if size > MOST_BYTES:
        raise CertificateError(f"checking would take more than {MOST_BYTES >> 20} MB")
