"""The report on a run of the experiment on images."""

from __future__ import annotations

from pathlib import Path

from bemi_lab.experiments.image.reports import REPORTS
from bemi_lab.experiments.section import Section
from bemi_lab.experiments.tabular.results import read
from bemi_lab.experiments.tabular.section import section_of

BRIEF: dict[str, set[str]] = {"accuracy": set(), "choices": set()}
"""Tables that fit a terminal without these columns."""


def section(folder: Path) -> Section:
    return section_of(read(folder), REPORTS, BRIEF)
