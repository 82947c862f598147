"""Every rule of the specification is cited by the function that checks it, and every citation has its rule."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import bemi.certificate

PAGE = Path(__file__).parents[2] / "docs" / "certificates.md"
FOLDER = Path(bemi.certificate.__file__).parent
CITATION = re.compile(r"\bR([1-9][0-9]?)(?: to R([1-9][0-9]?))?\b")


def cited(text: str) -> set[int]:
    """The rules that a text names."""
    return {n for first, last in CITATION.findall(text) for n in range(int(first), int(last or first) + 1)}


def defined() -> list[int]:
    return [int(n) for n in re.findall(r"^\*\*R([0-9]+) ", PAGE.read_text(), flags=re.MULTILINE)]


def test_rules_are_numbered_in_order():
    assert defined() == list(range(1, len(defined()) + 1))
    assert cited(PAGE.read_text()) == set(defined())


def test_the_checker_cites_every_rule_and_no_other():
    found = set().union(*(cited(path.read_text()) for path in FOLDER.glob("*.py")))
    assert found == set(defined())


def test_the_engines_leave_the_grammar_to_the_page():
    engines = FOLDER.parent / "engines"
    for path in engines.rglob("*.py"):
        head = ast.get_docstring(ast.parse(path.read_text())) or ""
        assert not re.search(r"``\[\"[A-Z]\"|^ +(PROOF|NODE|STEP|WEIGHTS) |^The proof[^.]*::", head, re.MULTILINE), path
