"""Solver backends, one module each: ``solve(milp, *, start, limits, **native) -> Solution`` and ``version()``.

A backend that does not support continuous columns sets ``INTEGERS_ONLY = True``.
"""

from __future__ import annotations

import importlib
from types import ModuleType

SOLVERS = {"highs": None, "gurobi": "gurobi", "scip": "scip", "cpsat": "cpsat"}
"""Backend name -> the extra of this package that installs it (None: always installed)."""


class SolverNotInstalled(ImportError, ValueError):
    """A known solver whose Python package is missing."""


def get(name: str) -> ModuleType:
    """The backend module of that name."""
    if name not in tuple(SOLVERS):  # of any type, hashable or not
        raise ValueError(f"unknown solver {name!r}; known: {', '.join(SOLVERS)}")
    try:
        return importlib.import_module(f"bemi.solvers.{name}")
    except ImportError as error:
        raise SolverNotInstalled(
            f"solver {name!r} is not installed; install it with: pip install 'bemi[{SOLVERS[name]}]'"
        ) from error


def installed() -> list[str]:
    """Names of the backends that can be imported here."""
    names = []
    for name in SOLVERS:
        try:
            get(name)
        except SolverNotInstalled:
            continue
        names.append(name)
    return names


def integers_only(name: str) -> bool:
    """Whether the backend of that name supports only pure integer programs."""
    return getattr(get(name), "INTEGERS_ONLY", False)
