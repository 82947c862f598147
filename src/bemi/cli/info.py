"""``bemi info``: what is in a model, how it was trained and what is proved."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.checks import counted
from bemi.cli import program
from bemi.cli.options import add_json
from bemi.cli.output import rejection_in_words, show, shown, training_table

if TYPE_CHECKING:
    from rich.table import Table

MOST_LINES = 30
"""Columns and networks that a table lists; the rest is only counted.  ``--json`` has all."""

MOST_NAMES = 8
"""More columns of plain numbers, such as pixels, are summarised."""

MOST_CARD_LINES = 50
"""Longer scorecards are not printed."""


def add_command(commands: Any) -> None:
    command = program.add(commands, "info", "show what is in a model, how it was trained and what is proved")
    command.set_defaults(run=run, example="bemi info model.bemi")
    command.add_argument("model", type=Path, help="model file")
    add_json(command)


def run(options: argparse.Namespace) -> int:
    from bemi import load
    from bemi.modelfile import container
    from bemi.report.summary import contents

    found = contents(load(options.model).ensemble_)
    found = {"model": str(options.model), "bytes": options.model.stat().st_size} | found
    found["sha256"] = container.digest(options.model.read_bytes())
    found["certificate"] = _certificate(options.model)
    show(options, found, *_tables(found))
    card = found["scorecard"]
    if card is not None and not options.json:
        lines = len(card.splitlines())
        print(
            card
            if lines <= MOST_CARD_LINES
            else f"its scorecard has {lines} lines: --json has it, bemi train --scorecard N limits it"
        )
    return 0


def _certificate(model: Path) -> dict[str, Any] | None:
    from bemi.certificate import certificate_path

    path = Path(certificate_path(model))
    return {"file": str(path), "bytes": path.stat().st_size} if path.exists() else None


def _tables(found: dict[str, Any]) -> list[Table]:
    """The model, its columns if there is something to say about them, and its networks."""
    tables = [_overview(found)]
    if any(len(column) > 2 for column in found["columns"]):
        tables.append(_columns(found["columns"]))
    tables.append(_networks(found["networks"]))
    if len(found["networks"]) > 1:
        tables.append(training_table(found["summary"]))
    return tables


def _overview(found: dict[str, Any]) -> Table:
    from rich.table import Table

    training = found["training"]
    rows = "an unknown number of" if training["rows"] is None else f"{training['rows']:,}"
    given = {name: value for name, value in training["settings"].items() if value is not None}
    table = Table(title=shown(f"{found['model']}: {found['bytes']:,} bytes"), show_header=False)
    table.add_column()
    # Long words, such as the hash, go on in the next line; they are never cut.
    table.add_column(overflow="fold")
    plain = [str(column["name"]) for column in found["columns"] if len(column) == 2 and found["named"]]
    named = (
        ", ".join(plain) if len(plain) <= MOST_NAMES else f"{counted(len(plain), 'number')}, {plain[0]} to {plain[-1]}"
    )
    for what, words in (
        ("classes", ", ".join(map(str, found["classes"]))),
        *([("columns", named)] if plain else []),
        ("inputs", f"{found['inputs']['number']}: {found['inputs']['are']}"),
        *([("training rows inside", str(found["rows_inside"]))] if found["rows_inside"] else []),
        ("trained on", f"{rows} rows by {training['solver']}"),
        ("settings", ", ".join(f"{name} {_words(value)}" for name, value in given.items())),
        ("probabilities", "yes" if found["probabilities"] else "no"),
        ("unknown rows", rejection_in_words(found["rejection"])),
        ("SHA-256", found["sha256"]),
        ("certificate", _of_certificate(found["certificate"])),
    ):
        table.add_row(what, shown(words))
    return table


def _columns(columns: list[dict[str, Any]]) -> Table:
    table = _listing(counted(len(columns), "column"), ("column", "kind", "values"), len(columns))
    for column in columns[:MOST_LINES]:
        table.add_row(shown(column["name"]), column["kind"], shown(_values(column)))
    return table


def _networks(networks: list[dict[str, Any]]) -> Table:
    headings = ("classes", "stage", "proof", "rows", "links", "objective", "bound", "gap")
    table = _listing(counted(len(networks), "network"), headings, len(networks), right=headings[3:])
    for network in networks[:MOST_LINES]:
        classes = shown(" / ".join(map(str, network["classes"])))
        for stage, proved in network["stages"].items():
            table.add_row(classes, stage, proved["proof"], str(proved["rows"]), str(proved["links"]), *_numbers(proved))
    return table


def _listing(title: str, headings: Sequence[str], lines: int, right: Sequence[str] = ()) -> Table:
    """An empty table that will list the first of some lines."""
    from rich.table import Table

    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left")
    if lines > MOST_LINES:
        table.caption = f"and {lines - MOST_LINES} more: --json lists all"
    return table


def _of_certificate(certificate: dict[str, Any] | None) -> str:
    if certificate is None:
        return "none beside the model"
    return f"{certificate['file']}, {certificate['bytes']:,} bytes; bemi verify checks it"


def _values(column: dict[str, Any]) -> str:
    """Human-readable description of what is made of a column."""
    parts = [", ".join(column["levels"])] if column.get("levels") else []
    parts += [f"cut at {', '.join(column['thresholds'])}"] if column.get("thresholds") else []
    parts += ["centred"] if column.get("value") else []
    parts += [f"unit {column['unit']}"] if "unit" in column else []
    parts += ["may be missing"] if column.get("missing") else []
    return "; ".join(parts)


def _numbers(proved: dict[str, Any]) -> tuple[str, str, str]:
    """Objective, bound and gap of a stage."""
    if proved["objective"] is None:
        return "-", "-", proved["outcome"]
    gap = "-" if proved["gap"] is None else f"{100 * proved['gap']:.2f} %"
    return f"{proved['objective']:,.6g}", "-" if proved["bound"] is None else f"{proved['bound']:,.6g}", gap


def _words(value: Any) -> str:
    return (",".join(map(str, value)) or "none") if isinstance(value, list) else str(value)
