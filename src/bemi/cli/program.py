"""What every program of commands shares: help with an example, errors in one line, exit codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from textwrap import indent
from typing import Any, NoReturn, Protocol

from bemi.files import printable


class Command(Protocol):
    """A module with one command.

    It imports nothing slow before it runs, so that help and usage errors appear at once; a test enforces this.
    """

    def add_command(self, commands: Any) -> None:
        """Add the command and its options; its default ``run`` takes the options and returns the exit code."""


class Parser(argparse.ArgumentParser):
    """Usage errors are one line, and the exit code is 2.

    A default ``example`` is a command, or several, that ends the help.  The first line of the help names the arguments
    that a command needs; the others follow.
    """

    def format_help(self) -> str:
        if self._subparsers is None:
            self.usage = " ".join(["%(prog)s", *self._needed(), "[options]"])
        example = self.get_default("example")
        return super().format_help() + ("" if example is None else f"\nexample:\n{indent(example, '  ')}\n")

    def _needed(self) -> list[str]:
        """Positional arguments and required options, as they are typed."""
        positional = [
            f"[{word}]" if action.nargs in ("?", "*") else word
            for action in self._get_positional_actions()
            for word in [str(action.metavar or action.dest.upper())]
        ]
        required = [action for action in self._get_optional_actions() if action.required]
        return [*positional, *(f"{action.option_strings[0]} {action.metavar or 'FILE'}" for action in required)]

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def parser(name: str, description: str, commands: Iterable[Command], *, distribution: str, example: str) -> Parser:
    """The parser of a program with these commands, in the order in which help lists them."""

    class Version(argparse.Action):
        """Looks up the version only on request."""

        def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
            from importlib.metadata import version

            print(f"{name} {version(distribution)}")
            parser.exit()

    made = Parser(prog=name, description=description)
    made.add_argument("--version", action=Version, nargs=0, help="show program's version number and exit")
    made.set_defaults(example=example)
    added = made.add_subparsers(dest="command", required=True, metavar="command")
    for command in commands:
        command.add_command(added)
    return made


def add(commands: Any, name: str, about: str) -> Parser:
    """Add a command; what it does stands in the list of commands and at the beginning of its help."""
    made: Parser = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
    return made


def run(parser: Parser, arguments: Sequence[str] | None) -> int:
    """Run a command, or without one print the help; bad input gives one line on standard error and exit code 2."""
    if not (sys.argv[1:] if arguments is None else arguments):
        parser.print_help()
        return 0
    options = parser.parse_args(arguments)
    try:
        return options.run(options)
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        return _fail(parser, f"{name}{error.strerror or error}")
    except _expected_errors() as error:
        return _fail(parser, str(error))


def _expected_errors() -> tuple[type[Exception], ...]:
    """Errors whose message is all the user needs; evaluated only after something went wrong."""
    from bemi.running.pools import ClusterLost
    from bemi.running.schedule import NetworksFailed

    return (ValueError, NetworksFailed, ClusterLost)


def _fail(parser: Parser, message: str) -> int:
    print(f"{parser.prog}: {printable(' '.join(message.split()), longest=2000)}", file=sys.stderr)
    return 2
