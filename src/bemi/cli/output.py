"""What all commands share: tables for people, JSON for programs."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import joblib
from rich.console import Console
from rich.table import Table

from bemi.classifier import BeMiClassifier
from bemi.running.schedule import check_shard


def add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def add_many_machines(command: argparse.ArgumentParser) -> None:
    command.add_argument("--cluster", metavar="ADDRESS", help="train on the Dask cluster with this scheduler")
    command.add_argument(
        "--shard",
        type=_shard,
        metavar="I/N",
        help="train only part I of N of the networks into the run folder, for machines that share nothing else",
    )


def _shard(text: str) -> tuple[int, int]:
    try:
        shard, shards = map(int, text.split("/"))
        check_shard(shard, shards)
    except ValueError:
        raise argparse.ArgumentTypeError(f"give a part as 1/4, from 1/4 to 4/4, not {text!r}") from None
    return shard, shards


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """Whatever is trained inside is trained on that Dask cluster, or on this machine if there is none."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError:
        raise ValueError("--cluster needs Dask: pip install 'bemi[cluster]'") from None
    try:
        client = Client(address)
    except (OSError, ValueError, TypeError) as error:  # the last where TLS is not set up
        raise ValueError(f"there is no Dask scheduler at {address}: {error}") from None
    with client, joblib.parallel_config("dask", client=client):
        yield


def show(options: argparse.Namespace, result: dict[str, Any], *tables: Table) -> None:
    """Print a command's result in the form that was asked for."""
    if options.json:
        print(json.dumps(result, allow_nan=False))
    else:
        console = Console()
        for table in tables:
            console.print(table)


def feature_names(classifier: BeMiClassifier) -> list[str] | None:
    """Names of the columns that a model was trained on, if it knows any."""
    names = getattr(classifier, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def progress_wanted(options: argparse.Namespace) -> bool:
    """A progress bar is for people who watch a terminal."""
    return sys.stderr.isatty() and not options.json
