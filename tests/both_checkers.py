"""Every certificate that a test gives to the checker is also given to the second one, which must agree.

:func:`watch` wraps the checker.  Whatever a test verifies, a file or a single proof, is then replayed by
:mod:`second_checker`: both must accept it and compute the same objectives and bounds, or both must refuse it.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import second_checker

from bemi.certificate import (
    CertificateError,
    Table,
    combinations,
    confidence,
    links,
    margins,
    neurons,
    separators,
    verification,
    widest,
)

seen: Counter[str] = Counter()
"""How many certificates and single proofs were compared, by what came of it."""

_LIMIT = re.compile(r"million steps|would take more than|too many neurons to try|too many last layers|is too large")
"""Refusals for the sake of time or memory, which the second checker does not have."""
_inside: list[list[tuple[Any, Any]]] = []
"""Objectives and bounds of the stages of the file that is being checked."""


class Disagreement(AssertionError):
    """The two checkers do not say the same."""


def outcome(check: Callable[[], Any]) -> tuple[str, Any]:
    """What a check gives: a value, or a reason to refuse."""
    try:
        return "accepted", check()
    except CertificateError as error:
        return ("limit" if _LIMIT.search(str(error)) else "refused"), error


def second(check: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "accepted", check()
    except second_checker.Refused as error:
        return "refused", error
    except second_checker.TooLarge:
        return "too large", None
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, OverflowError) as error:
        return "refused", error


def compared(kind: str, first: tuple[str, Any], check: Callable[[], Any], *, values: bool = True) -> None:
    """Compare an outcome with that of the second checker."""
    if first[0] == "limit":
        seen[f"{kind}, over a limit"] += 1
        return
    other = second(check)
    seen[f"{kind}, {other[0]}"] += 1
    if other[0] == "too large":
        return
    if first[0] != other[0] or (values and first[0] == "accepted" and first[1] != other[1]):
        raise Disagreement(f"{kind}: {first[0]} {first[1]}, by the second checker {other[0]} {other[1]}")


def _view(rows: Any) -> dict[str, Any]:
    return {"rows": rows.rows, "codes": rows.codes, "layers": rows.layers, "P": rows.weight_bound}


def _file(check: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(check)
    def checked(header: Any, packed: bytes, claims: Any, result: Any, work: Any) -> None:
        _inside.append([])
        try:
            first = outcome(lambda: _steady(lambda: check(header, packed, claims, result, work)))
        finally:
            stages = _inside.pop()
        if first[0] == "accepted":
            first = ("accepted", stages)

        def again() -> list[tuple[Any, Any]]:
            rows = claims["rows"]
            plain = claims | {"rows": list(map(list, rows)) if isinstance(rows, Table) else rows}
            found = second_checker.whole_file(header, packed, result.digest, plain)
            return [(value, shown) for network in found for _, value, _, _, shown in network if value is not None]

        compared("file", first, again)
        if first[0] != "accepted":
            raise first[1]

    return checked


def _steady(check: Callable[[], Any]) -> Any:
    """Run a check; what is malformed is refused, as :func:`bemi.verify` does."""
    try:
        return check()
    except CertificateError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise CertificateError(f"the certificate is malformed: {type(error).__name__} {error}") from error


def _stage(check: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(check)
    def recorded(*arguments: Any) -> Any:
        found = check(*arguments)
        if _inside:
            _inside[-1].append(found)
        return found

    return recorded


def _proof(kind: str, check: Callable[..., Any], again: Callable[..., Any]) -> Callable[..., Any]:
    """A check of a single proof; within a file it is compared with the rest of the file."""

    @functools.wraps(check)
    def checked(*arguments: Any) -> Any:
        if _inside:
            return check(*arguments)
        first = outcome(lambda: check(*arguments))
        compared(kind, first, lambda: again(*arguments))
        if first[0] != "accepted":
            raise first[1]
        return first[1]

    return checked


@contextmanager
def unwatched():
    """Within, the checker is alone: for tests that change it or try very many files."""
    _inside.append([])
    try:
        yield
    finally:
        _inside.pop()


def watch() -> None:
    """Wrap the checker; to be called before a test module imports its functions."""
    second = second_checker
    for name in ("_confident", "_margins", "_soft", "_links"):
        setattr(verification._Network, name, _stage(getattr(verification._Network, name)))
    verification._check = _file(verification._check)
    bound = margins.MarginProof.bound
    margins.MarginProof.bound = _proof(  # type: ignore[method-assign]
        "margins", bound, lambda proof: second.Dichotomies(_view(proof.rows), proof.proof).bound()
    )
    for module, name, again in (
        (links, "links_bound", lambda rows, m, proof: second.Relations(_view(rows), m).proved(proof)),
        (neurons, "listed_links_bound", lambda rows, m, proof: second.listed(_view(rows), m, proof)),
        (combinations, "combined_margins_bound", lambda rows, proof: second.combined_margins(_view(rows), proof)),
        (combinations, "combined_links_bound", lambda rows, m, proof: second.combined_links(_view(rows), m, proof)),
        (neurons, "splits_bound", lambda rows, proof: second.splits(_view(rows), proof)),
        (widest, "widest_bound", lambda rows, proof: second.single_neurons(_view(rows), proof)),
        (confidence, "confident_bound", lambda rows, proof: second.prices(_view(rows), proof)),
        (separators, "separation_bound", lambda rows, proof: second.without_margins(_view(rows), proof)),
        (
            confidence,
            "last_layer_bound",
            lambda codes, n, p, proof: second.last_layers(
                {"rows": codes, "codes": codes, "layers": [1, n, len(codes[0])], "P": p}, proof
            ),
        ),
    ):
        setattr(module, name, _proof(name, getattr(module, name), again))
