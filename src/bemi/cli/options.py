"""Options that several commands share, and the text forms of option values."""

from __future__ import annotations

import argparse
import csv
import re
from typing import Literal

from bemi.io import MISSING_TOKENS


def add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def add_quiet(command: argparse.ArgumentParser) -> None:
    command.add_argument("--quiet", action="store_true", help="print errors only")


def add_many_machines(command: argparse._ActionsContainer) -> None:
    command.add_argument("--cluster", metavar="ADDRESS", help="train on the Dask cluster with this scheduler")
    command.add_argument(
        "--shard",
        type=shard,
        metavar="I/N",
        help="train only part I of N of the networks, into the run folder that the machines share",
    )


def add_missing(command: argparse._ActionsContainer) -> None:
    command.add_argument(
        "--missing",
        type=names,
        default=MISSING_TOKENS,
        metavar="LIST",
        help="CSV cells that count as missing, with commas between them, beside empty ones "
        f"(default: {' '.join(MISSING_TOKENS)}); write --missing=-9 if the list begins with a minus",
    )


def add_column_rules(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("columns of CSV files")
    add = group.add_argument
    add(
        "--categorical",
        type=names,
        default=(),
        metavar="A,B",
        help="columns to treat as categories, even if numeric",
    )
    add("--numeric", type=names, default=(), metavar="A,B", help="columns in which every cell must be a number")
    add("--drop", type=names, default=(), metavar="A,B", help="columns to leave out")
    keep = "keep a column that looks like an index, such as 1, 2, 3 in order, as a feature"
    add("--keep", action="store_true", help=keep)
    add_missing(group)


def add_recordings(command: argparse.ArgumentParser, *, train: bool = False) -> None:
    """What windows of a signal are cut from; see docs/signals.md."""
    add = command.add_argument_group("recordings of a signal").add_argument
    if train:
        add(
            "--window", type=int, metavar="N", help="cut recordings into windows of N samples; rows are samples in time"
        )
    add("--hop", type=int, metavar="N", help="samples from one window to the next (default: half a window)")
    add("--id", metavar="NAME", help="column or array that identifies the recording, such as a person (default: id)")
    add("--time", metavar="NAME", help="column of times, numbers or dates (default: time or timestamp)")
    add(
        "--channels",
        type=channels,
        metavar="A,B",
        help="columns of the signal (default: all others), or how many channels a row per window has",
    )
    add("--resample", type=float, metavar="HZ", help="bring recordings to this many samples a second (default: none)")
    filled = "interpolate up to N missing samples in a row; longer gaps split (default: none, with --resample 1)"
    add("--fill", type=int, metavar="N", help=filled)


def smoothing(text: str) -> tuple[int, int]:
    """How many labels vote, and how many votes a label needs: ``5,3``."""
    try:
        length, votes = map(int, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"needs two numbers such as 5,3, got {text!r}") from None
    return length, votes


def channels(text: str) -> int | tuple[str, ...]:
    """The number of channels, or their comma-separated names."""
    return int(text) if text.isdecimal() else names(text)


def shard(text: str) -> tuple[int, int]:
    """Which part of how many: ``1/4`` to ``4/4``."""
    from bemi.running.schedule import check_shard

    try:
        part, parts = map(int, text.split("/"))
        check_shard(part, parts)
    except ValueError:
        raise argparse.ArgumentTypeError(f"give a part as 1/4, from 1/4 to 4/4, not {text!r}") from None
    return part, parts


IMAGE = "HxW[xC]"
"""How image sizes are written; commas are accepted in place of each x."""


def image_shape(text: str, alternative: str = "") -> tuple[int, ...]:
    """Height and width, or height, width and channels: ``28x28`` or ``32x32x3``."""
    try:
        sizes = tuple(map(int, re.split("[x,]", text)))
    except ValueError:
        sizes = ()
    if len(sizes) not in (2, 3) or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"give a size as 28x28 or 32x32x3{alternative}, not {text!r}")
    return sizes


def image_shape_or_none(text: str) -> tuple[int, ...] | Literal[False]:
    """As :func:`image_shape`, or False for the word ``none``: rows that are not images."""
    return False if text == "none" else image_shape(text, ", or none")


def integers(text: str) -> tuple[int, ...]:
    """Comma-separated integers, possibly none."""
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise argparse.ArgumentTypeError(f"give integers with commas between them, not {text!r}") from None


def names(text: str) -> tuple[str, ...]:
    """Comma-separated words; a word that contains a comma is quoted, as in a CSV file."""
    return tuple(part.strip() for row in csv.reader([text], skipinitialspace=True) for part in row if part.strip())


def directions(text: str) -> dict[str, int]:
    """Columns and the direction of each: ``age=+1,dose=-1``."""
    found = {}
    for part in names(text):
        name, equals, direction = part.rpartition("=")
        if not (name and equals and direction in ("1", "+1", "-1")):
            raise argparse.ArgumentTypeError(f"give columns and directions as age=+1,dose=-1, not {part!r}")
        found[name] = int(direction)
    return found


def class_weights(text: str) -> str | dict[str, float]:
    """The word ``balanced``, or labels and their weights: ``ill=5,well=1``."""
    if text == "balanced":
        return text
    found = {}
    for part in names(text):
        label, equals, weight = part.rpartition("=")
        try:
            found[label] = float(weight)
        except ValueError:
            equals = ""
        if not (label and equals):
            raise argparse.ArgumentTypeError(f"give balanced, or labels and weights as ill=5,well=1, not {part!r}")
    return found


def seconds(text: str) -> float | tuple[float, ...] | str:
    """One number, or several with commas between them, or the word ``none``."""
    if text == "none":
        return text
    try:
        parts = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"give seconds as 10, as 5,5,1 or none, not {text!r}") from None
    return parts[0] if len(parts) == 1 else parts
