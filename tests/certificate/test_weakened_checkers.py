"""Every condition of the checker matters: with one removed, the checker says something else of some certificate.

The corpus is forgeries.json (genuine models, numbered mutants of them, and single values that were replaced) and
made_forgeries.py (certificates made by hand).  survivors.json lists the weakened checkers that nothing in it tells from
the real one, each with the reason why that is harmless.
"""

from __future__ import annotations

import json
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from both_checkers import unwatched
from certificate_mutants import Mutator, forgery, genuine
from made_forgeries import by_module, in_files
from weakened_checkers import MODULES, Checker, Weakening, weakenings

HERE = Path(__file__).parent
SURVIVORS = json.loads((HERE / "survivors.json").read_text())
ABOUT = {
    **{"confidence": ["prices", "last layers"], "shapes": ["shapes", "more shapes"]},
    "margins": ["shapes", "more shapes", "open", "list", "deep", "no hidden layer", "by hand"],
    **{"neurons": ["splits"], "links": ["deep", "weights", "no hidden layer", "by hand"]},
    **{"separators": ["labels"], "softmargins": ["soft", "limits"], "arithmetic": ["list", "by hand"]},
    **{"widest": [], "verification": [], "reading": ["verification by hand"]},
    "limits": ["prices", "soft", "no hidden layer", "verification by hand"],
}
"""The models whose certificates a module takes part in checking."""

NTH = 12
"""The ordinary run tries every twelfth condition."""


@cache
def corpus() -> dict[str, list[tuple[Any, tuple]]]:
    """By title, certificates with what the real checker says of them."""
    chosen, models, real = json.loads((HERE / "forgeries.json").read_text()), genuine(), real_checker()
    found: dict[str, list] = {title: [parts] for title, parts in models.items()}
    for title, parts in found.items():
        assert real.says(parts[0])[0] == "accepted", title
    mutator = Mutator(models)
    for title, numbers in chosen["mutants"].items():
        found[title] += [mutator.mutant(number, title)[1] for number in numbers]
    for title, path, value in chosen["replaced"]:
        found[title].append(forgery(models, title, path, value))
    found |= {f"{module} by hand": cases for module, cases in by_module().items()}
    return {title: [(parts, real.says(parts)) for parts in cases] for title, cases in found.items()}


def is_caught(weakened: Weakening) -> bool:
    checker = Checker({weakened.module: weakened.code})
    titles = [*ABOUT[weakened.module], f"{weakened.module} by hand"]
    cases = [case for title in titles for case in corpus().get(title, [])]

    def distance(case: tuple[Any, tuple]) -> bool:
        place = case[1][2]
        return place is None or place[0] != weakened.module or abs(place[1] - weakened.line) > 3

    if any(checker.says(parts)[:2] != said[:2] for parts, said in sorted(cases, key=distance)):
        return True
    return weakened.module in ("reading", "verification") and of_files(checker) != of_files(real_checker())


@cache
def real_checker() -> Checker:
    return Checker()


@cache
def of_files(checker: Checker) -> list[tuple]:
    with tempfile.TemporaryDirectory() as folder:
        # Messages name the file, which is not the same every time.
        said = [checker.says_of_files(Path(folder), case)[:2] for case in in_files()]
        return [(verdict, str(words).replace(folder, "")) for verdict, words in said]


def uncaught(tried: list[Weakening]) -> set[str]:
    """The names of conditions whose absence nothing shows."""
    with unwatched():
        return {w.name for w in tried if not is_caught(w)}


@pytest.mark.parametrize("module", MODULES)
def test_a_weakened_checker_is_caught(module):
    tried = [w for w in list(weakenings(module))[::NTH] if w.name not in SURVIVORS]
    assert tried
    assert not uncaught(tried)


@pytest.mark.slow
@pytest.mark.parametrize("module", MODULES)
def test_every_weakened_checker_is_caught_or_listed(module):
    tried = list(weakenings(module))
    listed = {name for name in SURVIVORS if name.startswith(f"{module}.")}
    assert listed <= {w.name for w in tried}, "the list names conditions that do not exist"
    assert uncaught(tried) == listed
