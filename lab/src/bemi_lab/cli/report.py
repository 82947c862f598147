"""``bemi-lab report``: tables and figures of finished runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from bemi.cli import program
from bemi.cli.options import add_json
from bemi.cli.output import show


def add_command(commands: Any) -> None:
    command = program.add(commands, "report", "make tables and figures of finished runs")
    command.set_defaults(run=run, example="bemi-lab report runs/exp3a -o exp3a.md")
    command.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="folders of runs, or files of packed ones, which one page shows in the order of their names; or a folder "
        "of recorded runs, for a summary page on each experiment",
    )
    command.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE.md",
        help="page to write (default: report.md in the first run's folder, or beside its file); of recorded runs, the "
        "folder of the summaries",
    )
    command.add_argument("--title", default="Results", help="title of the page (default: Results)")
    add_json(command)


def run(options: argparse.Namespace) -> int:
    from bemi_lab.experiments import figures, report
    from bemi_lab.experiments.store import PACKED, Store

    if len(options.runs) == 1 and any(options.runs[0].glob(f"*{PACKED}")):
        return _summarize(options.runs[0], options)

    # Shells sort exp1-random.jsonl.gz before exp1.jsonl.gz.
    first, *_ = runs = sorted(options.runs, key=lambda path: Store(path).name)
    page = options.output or (first.parent if first.is_file() else first) / "report.md"
    written = report.write(runs, page, options.title)
    if not figures.available():
        print("bemi-lab: figures need matplotlib: pip install 'bemi-lab[figures]'", file=sys.stderr)
    show(options, {"page": str(page), "files": [str(path) for path in written]})
    if not options.json:
        print(f"{page} and {len(written) - 1} tables and figures written")
    return 0


def _summarize(results: Path, options: argparse.Namespace) -> int:
    """Summary pages of all recorded runs."""
    from bemi_lab.experiments import summaries

    reports = options.output or results.parent / "reports"
    written = summaries.write(results, reports)
    show(options, {"folder": str(reports), "files": [str(path) for path in written]})
    if not options.json:
        print(f"{len(written)} pages, tables and figures written to {reports}")
    return 0
