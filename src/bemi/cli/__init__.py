"""The ``bemi`` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

import bemi
from bemi.cli import experiments, export, models
from bemi.running.schedule import NetworksFailed
from bemi.running.workers import ClusterLost


class _Parser(argparse.ArgumentParser):
    """Errors are one line, and the exit code is 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; bad input is one line on standard error and exit code 2."""
    options = _parser().parse_args(arguments)
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
    except (ValueError, NetworksFailed, ClusterLost) as error:
        return _fail(str(error))


def _fail(message: str) -> int:
    print(f"bemi: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="bemi", description="Few-bit neural networks, trained exactly from few examples.")
    parser.add_argument("--version", action="version", version=f"bemi {bemi.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    models.add_commands(commands)
    export.add_commands(commands)
    experiments.add_commands(commands)
    return parser
