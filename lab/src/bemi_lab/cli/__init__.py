"""The ``bemi-lab`` command: experiments, their reports, data sets and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

from bemi.cli import program
from bemi_lab.cli import bench, data, report, reproduce

COMMANDS = (reproduce, report, data, bench)
"""In the order in which help lists them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; bad input gives one line on standard error and exit code 2."""
    return program.run(build_parser(), arguments)


def build_parser() -> program.Parser:
    """The parser of all commands."""
    return program.parser(
        "bemi-lab",
        "The laboratory of bemi: the paper's experiments, data sets and benchmarks.",
        COMMANDS,
        distribution="bemi-lab",
        example="bemi-lab reproduce exp3a --quick\nbemi-lab report runs/exp3a",
    )
