"""The ``bemi`` command.  Modules with an ``add_command`` are commands; the others are what these share."""

from __future__ import annotations

from collections.abc import Sequence

from bemi.cli import completion, export, info, predict, program, solvers, train, verify

COMMANDS = (train, predict, info, solvers, verify, export, completion)
"""In the order in which help lists them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; bad input gives one line on standard error and exit code 2."""
    return program.run(build_parser(), arguments)


def build_parser() -> program.Parser:
    """The parser of all commands."""
    return program.parser(
        "bemi",
        "Few-bit neural networks from few examples, with certified bounds.",
        COMMANDS,
        distribution="bemi",
        example="bemi train data.csv --target label -o model.bemi\nbemi predict model.bemi new.csv",
    )
