"""``bemi solvers``: which solvers are installed, and whether they solve correctly."""

from __future__ import annotations

import argparse
from typing import Any

from bemi import solvers
from bemi.cli import program
from bemi.cli.options import add_json
from bemi.cli.output import show


def add_command(commands: Any) -> None:
    command = program.add(commands, "solvers", "list the solvers, their versions, and whether they solve correctly")
    command.set_defaults(run=run, example="bemi solvers")
    add_json(command)


def run(options: argparse.Namespace) -> int:
    from rich.table import Table

    from bemi.solvers import selftest

    rows: list[dict[str, Any]] = []
    for name in solvers.names():
        try:
            backend = solvers.get(name)
        except solvers.SolverNotInstalled:
            install = (
                f"pip install 'bemi[{solvers.SOLVERS[name]}]'" if name in solvers.SOLVERS else "cannot be imported"
            )
            rows.append({"solver": name, "installed": False, "install": install})
            continue
        failures = list(selftest.failures(backend.solve, integers_only=solvers.integers_only(name)))
        rows.append({"solver": name, "installed": True, "version": backend.version(), "failures": failures})
    table = Table(title="Solvers")
    for heading in ("solver", "version", "self-test"):
        table.add_column(heading)
    for row in rows:
        if row["installed"]:
            table.add_row(row["solver"], row["version"], "; ".join(row["failures"]) or "passed")
        else:
            table.add_row(row["solver"], "not installed", row["install"].replace("[", r"\["))
    show(options, {"solvers": rows}, table)
    return 1 if any(row.get("failures") for row in rows) else 0
