"""Two engines on the same data in the same run: the chosen one against the whole-stage program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bemi_lab.benchmarks.common import Cell, Record, Settings, measure, networks, percent
from bemi_lab.experiments import markdown

REFERENCE = "monolithic"
PAIRS = 3
CELLS = [Cell(data, (4, 4), shots) for data in ("mnist", "fashion-mnist") for shots in (10, 40)]


def measurements(settings: Settings) -> Iterator[Record]:
    for head, problem in networks(CELLS, settings, settings.pairs or PAIRS):
        for role, engine in (("chosen", settings.engine), ("reference", REFERENCE)):
            yield head | {"role": role} | measure(problem, engine, settings.seconds)


def report(records: Sequence[Record]) -> str:
    roles = {role: [r for r in records if r["role"] == role] for role in ("chosen", "reference")}
    rows = [_row(chosen, reference) for chosen, reference in zip(*roles.values(), strict=False)]
    table = markdown.table(
        (
            *("cell", "pair", "seed", "SM right", "MM rows", "MM objective ratio", "MM gap %"),
            *("MW links", "wall s", "CPU s"),
        ),
        rows,
    )
    note = (
        f"Two values in a column: {roles['chosen'][0]['engine']}, then {REFERENCE}. The ratio compares Max-Margin "
        "objectives and is given only where both engines ran the stage on as many rows."
    )
    return f"{note}\n\n{table}"


def _row(chosen: Record, reference: Record) -> tuple[object, ...]:
    both = (chosen, reference)
    objectives = [r["mm"]["objective"] for r in both]
    rows = [r["mm"]["rows"] for r in both]
    comparable = None not in objectives and rows[0] == rows[1]
    return (
        chosen["cell"],
        chosen["pair"],
        chosen["seed"],
        " / ".join(f"{r['sm']['objective']} of {r['outputs']}" for r in both),
        " / ".join(map(str, rows)),
        f"{objectives[0] / objectives[1]:.4f}" if comparable else "-",
        " / ".join(percent(r["mm"]["gap"]) for r in both),
        " / ".join(str(r["mw"]["links"]) for r in both),
        " / ".join(f"{r['wall']:.2f}" for r in both),
        " / ".join(f"{r['cpu']:.2f}" for r in both),
    )
