"""``bemi predict``: label the rows of a file."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from bemi.cli.options import add_json, add_missing
from bemi.cli.output import Notes, model_columns


def add_command(commands: Any) -> None:
    command = commands.add_parser("predict", help="label the rows of a file")
    command.set_defaults(run=run)
    command.add_argument("model", type=Path)
    command.add_argument("data", type=Path, help="CSV or NPZ with the model's features")
    command.add_argument("-o", "--output", type=Path, help="CSV file to write (default: standard output)")
    add_missing(command)
    add_json(command)


def run(options: argparse.Namespace) -> int:
    from bemi import load
    from bemi.rows.files import read_features

    classifier, notes = load(options.model), Notes()
    X = read_features(options.data, model_columns(classifier.ensemble_), options.missing, notes)
    labels = classifier.predict(X).tolist()
    notes.print()
    if options.json:
        print(json.dumps({"labels": labels, "notes": notes.lines}))
        return 0
    with open(options.output, "w", newline="") if options.output else nullcontext(sys.stdout) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["prediction"])
        writer.writerows([label] for label in labels)
    return 0
