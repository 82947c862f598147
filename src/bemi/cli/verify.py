"""``bemi verify``: check a model's certificate."""

from __future__ import annotations

import argparse
import hashlib
import sys
from array import array
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bemi.cli import program
from bemi.cli.data import rows_for
from bemi.cli.options import add_json, add_missing, add_recordings
from bemi.cli.output import Notes, show

if TYPE_CHECKING:
    from bemi.certificate import Verification

BUDGET = 3_000
"""That of the checker, which is slow to import for a help text; a test compares the two."""


_ROWS_AT_A_TIME = 1000


def add_command(commands: Any) -> None:
    command = program.add(commands, "verify", "check a model's certificate in exact integers, without a solver")
    command.set_defaults(run=run, example="bemi verify model.bemi")
    command.add_argument("model", type=Path, help="model file; its certificate lies beside it")
    command.add_argument("--data", type=Path, help="the rows that the model must have been trained on: CSV or NPZ")
    command.add_argument("--target", help="column or array of the data with the labels")
    command.add_argument("--digest", help="the SHA-256 that the model file must have, from someone you trust")
    command.add_argument(
        "--budget",
        type=float,
        default=BUDGET,
        metavar="N",
        help=f"millions of steps that the check may take, by default {BUDGET}: a few minutes",
    )
    add_missing(command)
    add_json(command)
    add_recordings(command)


def run(options: argparse.Namespace) -> int:
    from rich.table import Table

    from bemi.certificate import CertificateError, verify
    from bemi.stages import STAGES

    try:
        checked = verify(options.model, digest=options.digest, budget=options.budget)
        compared = None if options.data is None else _compare_rows(options, checked.digest)
    except CertificateError as error:
        print(f"bemi: certificate rejected: {error}", file=sys.stderr)
        return 1
    if checked.nothing_ran:
        print("bemi: nothing is proved: no stage of any network ran", file=sys.stderr)
        return 1
    counts = {
        stage: {
            "rows": list(checked.rows[stage]),
            "certified": checked.certified[stage],
            "computed": checked.computed[stage],
            "solver": checked.claimed[stage],
            "not_run": checked.not_run[stage],
        }
        for stage in STAGES
        if stage in checked.rows
    }
    table = Table(title=f"{checked.networks} networks verified")
    for heading in ("stage", "rows each", "bounds certified", "computed", "solver-reported", "could not run"):
        table.add_column(heading, justify="left" if heading == "stage" else "right")
    for stage in counts:
        numbers = [str(counts[stage][kind]) for kind in ("certified", "computed", "solver", "not_run")]
        table.add_row(stage, _range(*checked.rows[stage]), *numbers)
    table.caption = "\n".join(_notes(checked, compared, options))
    result = {
        "networks": checked.networks,
        "digest": checked.digest,
        "stages": counts,
        "rows_compared": compared,
        "bytes": checked.bytes,
        "seconds": checked.seconds,
    }
    show(options, result, table)
    return 0


def _range(fewest: int, most: int) -> str:
    return f"{fewest}" if fewest == most else f"{fewest} to {most}"


def _notes(checked: Verification, compared: int | None, options: argparse.Namespace) -> list[str]:
    """What the bounds are about, and what was not checked."""
    lines = [f"certificate of {checked.bytes:,} bytes checked in {checked.seconds:.1f} s"]
    if compared is not None:
        lines.append(f"trained on the {compared:,} rows of the data")
    elif options.digest is None:
        lines.append("the rows are those in the certificate; --data compares them with yours")
    return lines


def _compare_rows(options: argparse.Namespace, digest: str) -> int:
    """Require that the model was trained on the rows of the data, in any order; returns how many there are.

    Variants that training made of them are not compared.  The model must still have the digest that was verified.
    """
    from bemi.certificate import CertificateError, training_record
    from bemi.modelfile import saving

    ensemble = saving.read(options.model, digest)
    notes = Notes()
    given_data = rows_for(options, ensemble, notes, labelled=True)
    X, y = given_data.X, given_data.y
    indices = {label: index for index, label in enumerate(ensemble.classes.tolist())}
    wanted: Counter[Any] = Counter()
    for start in range(0, len(X), _ROWS_AT_A_TIME):
        inputs = ensemble.inputs.of(X[start : start + _ROWS_AT_A_TIME]).tolist()
        wanted.update(
            (_digest(row), indices.get(label))
            for row, label in zip(inputs, y[start : start + _ROWS_AT_A_TIME].tolist(), strict=True)
        )
    record = training_record(options.model, digest, options.budget)
    given = ensemble.training.given_rows
    labels = record.labels[:given]
    found: Counter[Any] = Counter((_digest(row), label) for row, label in zip(record.rows, labels, strict=False))
    missing, other = (wanted - found).total(), (found - wanted).total()
    if other:
        raise CertificateError(f"{other} of its {len(labels)} training rows are not in {options.data}")
    if missing:
        raise CertificateError(f"{missing} of the {len(X)} rows of {options.data} were not used for training")
    notes.print()
    return len(labels)


def _digest(row: Sequence[int]) -> bytes:
    """What tells rows apart, in a few bytes, since rows may be many."""
    return hashlib.sha256(array("q", row).tobytes()).digest()
