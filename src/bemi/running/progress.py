"""A progress display for training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bemi.stages.registry import get
from bemi.training.pipeline import Training


class Progression(Protocol):
    """Tell the display that one more item, such as a network, is done."""

    def __call__(self, training: Training | None, text: str = "") -> None: ...


@contextmanager
def progress(total: int, *, show: bool, what: str = "training") -> Iterator[Progression]:
    """A bar on standard error: networks done, time left and the mean margin gap so far."""
    columns: tuple[Any, ...] = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    gaps: list[float] = []
    with Progress(*columns, console=Console(stderr=True), disable=not show) as display:
        bar = display.add_task("", total=total)

        def advance(training: Training | None, text: str = "") -> None:
            reports = {} if training is None else training.reports
            gaps.extend(report.gap for name, report in reports.items() if get(name).shows_gap and report.ran)
            parts = [text] if text else []
            parts += [f"mean margin gap {np.mean(gaps):.2%}"] if gaps else []
            display.update(bar, advance=1, description=", ".join(parts))

        yield advance
