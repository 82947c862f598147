"""A run's part of a report page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bemi_lab.experiments.results import Run
    from bemi_lab.experiments.tables import Table


@dataclass(frozen=True)
class Section:
    """What a page shows of a run.

    Attributes
    ----------
    title, conditions
        Heading; what was run, how and on which machine.
    tables
        To show, by name.
    figures
        Functions that draw a figure, or return None if there is nothing to draw, by name.
    brief
        Tables with their titles as a terminal shows them.
    quotes_paper
        Whether it compares with the paper's numbers.
    run
        The run, if it trained networks, for comparisons with other runs on the page.
    """

    title: str
    conditions: str
    tables: dict[str, Table]
    figures: dict[str, Callable[[], Any]] = field(default_factory=dict)
    brief: dict[str, Table] = field(default_factory=dict)
    quotes_paper: bool = False
    run: Run | None = None


def duration(seconds: float) -> str:
    """Seconds as text for people."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
