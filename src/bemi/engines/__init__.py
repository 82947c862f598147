"""Ways to run a stage.

An engine is a module with ``RUNNERS``, the strategies of each stage by the stage's name, and
``run(stage, problem, *, start, keep, limits, solver) -> StageResult``, which tries them in order
(:mod:`bemi.engines.portfolio`): it takes a problem and a network to start from, and returns a network that is at least
as good, with a proven bound.
"""

from __future__ import annotations

import importlib
from types import ModuleType

from bemi import lazily

ENGINES = ("decomposition", "monolithic")

__getattr__ = lazily(
    __name__,
    {
        "portfolio": ("Finding", "Strategy", "observed"),
        "start": ("first_network", "initial_network"),
    },
)


def get(name: str) -> ModuleType:
    """The engine module of that name."""
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}; known: {', '.join(ENGINES)}")
    return importlib.import_module(f"bemi.engines.{name}")
