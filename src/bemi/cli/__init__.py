"""The ``bemi`` command.

Every command is a module with ``add_command``, which adds its options, and ``run``.  Command modules import nothing
slow before they run, so that help and usage errors appear at once; a test enforces this.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from textwrap import indent
from typing import Any, NoReturn

import bemi
from bemi.cli import completion, data, evaluate, export, info, predict, report, reproduce, solvers, train, verify
from bemi.files import printable

COMMANDS = (train, predict, evaluate, info, solvers, verify, export, reproduce, report, data, completion)
"""In the order in which help lists them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; bad input gives one line on standard error and exit code 2."""
    options = build_parser().parse_args(arguments)
    try:
        return options.run(options)
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        print("bemi: interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        return _fail(f"{name}{error.strerror or error}")
    except _expected_errors() as error:
        return _fail(str(error))


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = _Parser(prog="bemi", description="Few-bit neural networks, trained exactly from few examples.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show program's version number and exit")
    example = "bemi train data.csv --target label -o model.bemi\nbemi predict model.bemi new.csv"
    parser.set_defaults(example=example)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for command in COMMANDS:
        command.add_command(commands)
    return parser


class _Parser(argparse.ArgumentParser):
    """Usage errors are one line, and the exit code is 2.

    A default ``details`` is a function whose text follows the options in the help; it is called only when help is
    shown.  A default ``example`` is a command, or several, that ends the help.
    """

    def format_help(self) -> str:
        details, example = self.get_default("details"), self.get_default("example")
        self.epilog = None if details is None else details()
        return super().format_help() + ("" if example is None else f"\nexample:\n{indent(example, '  ')}\n")

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


class _Version(argparse.Action):
    """Looks up the version only on request."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        print(f"bemi {bemi.__version__}")
        parser.exit()


def _expected_errors() -> tuple[type[Exception], ...]:
    """Errors whose message is all the user needs; evaluated only after something went wrong."""
    from bemi.running.pool import ClusterLost
    from bemi.running.schedule import NetworksFailed

    return (ValueError, NetworksFailed, ClusterLost)


def _fail(message: str) -> int:
    print(f"bemi: {printable(' '.join(message.split()), longest=2000)}", file=sys.stderr)
    return 2
