"""Solver backends, one module each: ``solve(milp, *, start, limits, **native) -> Solution`` and ``version()``.

A backend that does not support continuous columns sets ``INTEGERS_ONLY = True``; one that cannot start from a given
point sets ``WARM_STARTS = False``.

Other packages add a backend by an entry point in the group ``bemi.solvers``, whose name is then the solver's; without
one, a solver is named by its module, such as ``"my_package.my_solver"``.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SOLVERS = {"highs": None, "gurobi": "gurobi", "scip": "scip", "cpsat": "cpsat"}
"""Backend name -> the extra of this package that installs it (None: always installed)."""

GROUP = "bemi.solvers"
"""Entry points of other packages that are backends."""


class SolverNotInstalled(ImportError, ValueError):
    """A known solver whose Python package is missing."""


def names() -> list[str]:
    """Solvers that are known by a name: those of this package, installed or not, and those of other packages."""
    return [*SOLVERS, *sorted(name for name in _entry_points() if name not in SOLVERS)]


def get(name: str) -> ModuleType:
    """The backend of that name, or the backend module with that dotted name."""
    if not isinstance(name, str):
        raise ValueError(f"unknown solver {name!r}; give a name")
    return _own(name) if name in SOLVERS else _added(name)


def _own(name: str) -> ModuleType:
    try:
        return importlib.import_module(f"bemi.solvers.{name}")
    except ImportError as error:
        raise SolverNotInstalled(
            f"solver {name!r} is not installed; install it with: pip install 'bemi[{SOLVERS[name]}]'"
        ) from error


def _added(name: str) -> ModuleType:
    """A backend of another package."""
    entry = _entry_points().get(name)
    if entry is None and "." not in name.strip("."):
        raise ValueError(f"unknown solver {name!r}; known: {', '.join(names())}, or a module: my_package.my_solver")
    try:
        backend = importlib.import_module(name) if entry is None else entry.load()
    except ImportError as error:
        raise SolverNotInstalled(f"solver {name!r} cannot be imported: {error}") from error
    missing = [part for part in ("solve", "version") if not callable(getattr(backend, part, None))]
    if missing:
        raise ValueError(f"{name!r} is not a solver: it has no function {' and no function '.join(missing)}")
    return backend


def _entry_points() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # here, because it would slow the start of the command line

    return {entry.name: entry for entry in entry_points(group=GROUP)}


def installed() -> list[str]:
    """Names of the backends that can be imported here."""
    found = []
    for name in names():
        try:
            get(name)
        except SolverNotInstalled:
            continue
        found.append(name)
    return found


def integers_only(name: str) -> bool:
    """Whether the backend of that name supports only pure integer programs."""
    return getattr(get(name), "INTEGERS_ONLY", False)


def warm_starts(name: str) -> bool:
    """Whether the backend of that name can start from a given point."""
    return getattr(get(name), "WARM_STARTS", True)
