"""Weakened checkers: the modules of the checker with one condition removed, and what they then say of certificates.

A condition is whatever can refuse a certificate: a call of ``require``, ``whole``, ``whole_row`` or ``only``, or an
``if`` that raises, as a whole, each part of its ``and``, and each comparison in it, moved by one.  A weakened checker
is *caught* if it says of some certificate in the corpus what the real one does not.
"""

from __future__ import annotations

import ast
import copy
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import bemi.certificate
from bemi.certificate import CertificateError

FOLDER = Path(bemi.certificate.__file__).parent
MODULES = (
    *("limits", "arithmetic", "confidence", "shapes", "margins", "neurons", "links", "separators", "softmargins"),
    *("widest", "reading", "verification"),
)
"""In the order in which they import each other."""

CHECKS = {"whole": 0, "whole_row": 0, "only": 0}
"""Functions that return what they are given, and which argument that is."""
WEAKER = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.GtE, ast.NotEq: ast.Gt}


Said = tuple[str, Any, tuple[str, int] | None]
"""Accepted with what was found, or refused with the reason, and the place of the refusal."""


@dataclass(frozen=True)
class Weakening:
    """One change: where it is, and the module with it."""

    module: str
    line: int
    name: str
    code: CodeType


def _refusals(tree: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Nodes that refuse certificates, with the name of their function."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                if node.func.id in ("require", *CHECKS):
                    yield node, function.name
            elif isinstance(node, ast.If) and any(isinstance(child, ast.Raise) for child in node.body):
                yield node, function.name


def _condition(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.If):
        return node.test
    assert isinstance(node, ast.Call)
    return node.args[0] if isinstance(node.func, ast.Name) and node.func.id == "require" else None


class _Change(ast.NodeTransformer):
    """Replaces one node, known by its position in a walk."""

    def __init__(self, target: ast.AST, new: ast.AST) -> None:
        self.target, self.new = target, new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.target else self.generic_visit(node)


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST, str]]:
    """What may be replaced within a refusal, by what, and how it reads."""
    condition = _condition(node)
    if condition is None:
        assert isinstance(node, ast.Call)
        assert isinstance(node.func, ast.Name)
        yield node, node.args[CHECKS[node.func.id]], f"{ast.unparse(node)} unchecked"
        if node.func.id in ("whole", "whole_row"):
            for at, step in ((1, ast.Sub()), (2, ast.Add())):
                wider = ast.BinOp(copy.deepcopy(node.args[at]), step, ast.Constant(1))
                yield node.args[at], wider, f"{ast.unparse(node)} with {ast.unparse(wider)}"
        return
    holds = not isinstance(node, ast.If)  # a condition that must hold, or one that must not
    yield condition, ast.Constant(holds), f"{ast.unparse(condition)} unchecked"
    for part in ast.walk(condition):
        if isinstance(part, ast.BoolOp) and isinstance(part.op, ast.And if holds else ast.Or):
            for value in part.values:
                yield value, ast.Constant(holds), f"{ast.unparse(condition)} without {ast.unparse(value)}"
        if isinstance(part, ast.Compare):
            for at, operator in enumerate(part.ops):
                if type(operator) in WEAKER:
                    new = copy.deepcopy(part)
                    new.ops[at] = WEAKER[type(operator)]()
                    yield part, new, f"{ast.unparse(condition)} with {ast.unparse(new)}"


def weakenings(module: str) -> Iterator[Weakening]:
    """All changes of a module that take something from its conditions."""
    source = (FOLDER / f"{module}.py").read_text()
    tree = ast.parse(source)
    seen = set()
    for node, function in _refusals(tree):
        for target, new, words in _changes(node):
            name = f"{module}.{function}: {words}"
            if (name, target.lineno) in seen:
                continue
            seen.add((name, target.lineno))
            changed = _Change(target, ast.copy_location(new, target)).visit(_copied(tree, target, new))
            ast.fix_missing_locations(changed)
            yield Weakening(module, node.lineno, name, compile(changed, module, "exec"))


def _copied(tree: ast.AST, target: ast.AST, new: ast.AST) -> Any:
    """A copy in which the target and its replacement stay the same objects."""
    return copy.deepcopy(tree, {id(target): target, id(new): new})


REAL = {name: compile((FOLDER / f"{name}.py").read_text(), name, "exec") for name in MODULES}


class Checker:
    """All modules of the checker, built anew; those given are used instead of the real ones."""

    def __init__(self, changed: dict[str, CodeType] | None = None) -> None:
        self.modules: dict[str, ModuleType] = {}
        kept = {name: sys.modules.get(f"bemi.certificate.{name}") for name in MODULES}
        try:
            for name in MODULES:
                full = f"bemi.certificate.{name}"
                module = ModuleType(full)
                sys.modules[full] = self.modules[name] = module
                exec((changed or {}).get(name, REAL[name]), module.__dict__)
        finally:
            for name, module_ in kept.items():
                if module_ is not None:
                    sys.modules[f"bemi.certificate.{name}"] = module_

    def says(self, parts: tuple[dict, bytes, dict]) -> Said:
        """What it says of a header, packed weights and claims."""
        header, weights, claims = parts
        verification, limits = self.modules["verification"], self.modules["limits"]
        result = verification.Verification(digest=claims.get("model"))
        return self._said(lambda: verification._check(header, weights, claims, result, limits.Work(20)) or result)

    def says_of_files(self, folder: Path, case: tuple[bytes, bytes, dict[str, str] | None]) -> Said:
        """What it says of a model file and its certificate; without questions, of the training record in them."""
        model, certificate, ask = case
        path, verification, reading = folder / "m", self.modules["verification"], self.modules["reading"]
        path.write_bytes(model)
        Path(f"{path}.cert").write_bytes(certificate)
        if ask is None:
            return self._said(lambda: reading.training_record(path) and verification.Verification())
        return self._said(lambda: verification.verify(path, **ask))

    def _said(self, check: Callable[[], Any]) -> Said:
        try:
            result = check()
        except (self.modules["limits"].CertificateError, CertificateError) as error:
            return "refused", str(error), _place(error)
        except (
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
            RecursionError,
            AssertionError,
            struct.error,
        ) as error:
            # As the real checker says it; the words are Python's.
            return "malformed", type(error).__name__, None
        return "accepted", (result.networks, dict(result.certified), dict(result.claimed), dict(result.rows)), None


def _place(error: BaseException) -> tuple[str, int] | None:
    """The condition that refused: the innermost frame outside of the helpers."""
    while error.__cause__ is not None:
        error = error.__cause__
    place, at = None, error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        if code.co_filename in MODULES and code.co_filename != "limits":
            place = (code.co_filename, at.tb_lineno)
        at = at.tb_next
    return place
