"""Options that several commands share, and the text forms of option values."""

from __future__ import annotations

import argparse
import re
from typing import Literal


def add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


def add_many_machines(command: argparse.ArgumentParser) -> None:
    command.add_argument("--cluster", metavar="ADDRESS", help="train on the Dask cluster with this scheduler")
    command.add_argument(
        "--shard",
        type=shard,
        metavar="I/N",
        help="train only part I of N of the networks, into the run folder that the machines share",
    )


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
    """Integers with commas between them; none at all is fine."""
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise argparse.ArgumentTypeError(f"give integers with commas between them, not {text!r}") from None


def names(text: str) -> tuple[str, ...]:
    """Words with commas between them."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def seconds(text: str) -> float | tuple[float, ...] | str:
    """One number, or several with commas between them, or the word ``none``."""
    if text == "none":
        return text
    try:
        parts = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"give seconds as 10, as 5,5,1 or none, not {text!r}") from None
    return parts[0] if len(parts) == 1 else parts
