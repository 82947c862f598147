"""What README and the pages of results in docs show is what the stored runs say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from bemi_lab.experiments import experiment_types, results, same_images

LAB = Path(__file__).parent.parent
ROOT = LAB.parent
FOLDERS = sorted((LAB / "results").glob("exp*"))
PAGE = (ROOT / "docs" / "results.md").read_text()


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_the_page_shows_every_table_of_a_run(folder):
    section = experiment_types.of_run(folder).section(folder)
    assert f"## {section.title}\n\n{section.conditions}\n" in PAGE
    for table in section.tables.values():
        assert table.markdown() in PAGE


@pytest.mark.parametrize(("run", "more"), [("signals", ["apart"]), ("signals-recommended", [])])
def test_the_page_on_signals_shows_every_table_of_its_runs(run, more):
    folder, page = LAB / "results" / run, (ROOT / "docs" / "results-signals.md").read_text()
    section = experiment_types.of_run(folder).section(folder)
    assert f"## {section.title}\n\n{section.conditions}\n" in page
    assert list(section.tables) == ["accuracy", "accuracy-by-set", "training", "lower-gain", *more]
    for table in section.tables.values():
        assert table.markdown() in page


def test_the_page_on_images_and_what_is_quoted_of_it():
    folder = LAB / "results" / "accuracy"
    section, page = experiment_types.of_run(folder).section(folder), (ROOT / "docs" / "results-images.md").read_text()
    assert f"## {section.title}\n\n{section.conditions}\n" in page
    assert all(table.markdown() in page for table in section.tables.values())
    quoted = (ROOT / "docs" / "accuracy.md").read_text()
    by_system = {}
    for _, system, *spreads in section.tables["accuracy"].rows:
        by_system.setdefault(system, []).append(" / ".join(f"{spread.mean:.1f}" for spread in spreads))
    ours = by_system.pop("ours, recommended")
    for system, sets in by_system.items():
        assert f"| {system} | {' | '.join(sets)} |" in quoted
    assert f"| **`FewBitClassifier()`, 4 bits** | {' | '.join(f'**{numbers}**' for numbers in ours)} |" in quoted


def test_the_page_compares_on_the_same_images():
    runs = [results.read(folder) for folder in FOLDERS]
    assert same_images.beside_the_paper(runs).markdown() in PAGE
    assert same_images.own_systems(runs).markdown() in PAGE
    assert PAGE.index("(the paper's images)") < PAGE.index("(random images)")


def test_readme_has_the_numbers_of_experiment_3a():
    on_papers, on_random = (results.read(LAB / "results" / name) for name in ("exp3a", "exp3a-random"))
    assert on_papers.on_paper_images
    expected = []
    for ours, random in zip(on_papers.cells, on_random.cells, strict=True):
        assert ours.cell == random.cell
        seconds = [random.stage_values(stage, lambda r: r["seconds"]) for stage in random.cell.stages]
        expected.append(
            f"| {ours.cell.per_class} | {ours.accuracy.mean:.1f} % | {ours.paper['accuracy']:.1f} % | "
            f"{random.accuracy.mean:.1f} % | {np.mean(ours.stage_values('mm', results.gap)):.2f} % | "
            f"{ours.paper['mean_gap']:.0f} % | {np.sum(np.mean(seconds, axis=1)):.1f} |"
        )
    shown = re.findall(r"^\| [1-4]0 \|(?: [\d.]+ % \|){5} [\d.]+ \|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert shown == expected
