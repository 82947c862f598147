"""``bemi evaluate``: accuracy and label statuses on labelled data."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bemi.cli.options import add_json, add_missing, add_recordings
from bemi.cli.output import Notes, show
from bemi.cli.recordings import rows_for


def add_command(commands: Any) -> None:
    command = commands.add_parser("evaluate", help="accuracy and label statuses on labelled data")
    command.set_defaults(run=run, example="bemi evaluate model.bemi test.csv --target label")
    command.add_argument("model", type=Path)
    command.add_argument("data", type=Path, help="CSV or NPZ with features and labels, or a folder")
    command.add_argument("--target", help="column or array with the labels")
    add_recordings(command)
    add_missing(command)
    add_json(command)


def run(options: argparse.Namespace) -> int:
    from bemi import load
    from bemi.cli.tables import evaluation_table
    from bemi.report.summary import evaluation

    ensemble = load(options.model).ensemble_
    notes = Notes()
    rows = rows_for(options, ensemble, notes, labelled=True)
    result = evaluation(ensemble, rows.X, rows.y) | {"notes": notes.lines}
    notes.print()
    show(options, result, evaluation_table(result))
    return 0
