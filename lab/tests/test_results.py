"""What README and the pages of results in docs show is what the stored runs say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from bemi_lab.experiments import results, same_images
from bemi_lab.experiments.report import section
from bemi_lab.experiments.store import PACKED, Store

LAB = Path(__file__).parent.parent
ROOT = LAB.parent
RESULTS = LAB / "results"
RUNS = sorted(RESULTS.glob(f"exp*{PACKED}"), key=lambda path: Store(path).name)
PAGE = (ROOT / "docs" / "results.md").read_text()


@pytest.mark.parametrize("path", RUNS, ids=[path.name for path in RUNS])
def test_the_page_shows_every_table_of_a_run(path):
    made = section(path)
    assert f"## {made.title}\n\n{made.conditions}\n" in PAGE
    for table in made.tables.values():
        assert table.markdown() in PAGE


@pytest.mark.parametrize(("run", "more"), [("signals", ["apart"]), ("signals-recommended", [])])
def test_the_page_on_signals_shows_every_table_of_its_runs(run, more):
    made, page = section(RESULTS / run), (ROOT / "docs" / "results-signals.md").read_text()
    assert f"## {made.title}\n\n{made.conditions}\n" in page
    assert list(made.tables) == ["accuracy", "accuracy-by-set", "training", "lower-gain", *more]
    for table in made.tables.values():
        assert table.markdown() in page


def test_the_page_on_images_and_what_is_quoted_of_it():
    made, page = section(RESULTS / "accuracy"), (ROOT / "docs" / "results-images.md").read_text()
    assert f"## {made.title}\n\n{made.conditions}\n" in page
    assert all(table.markdown() in page for table in made.tables.values())
    quoted = (ROOT / "docs" / "accuracy.md").read_text()
    by_system = {}
    for _, system, *spreads in made.tables["accuracy"].rows:
        by_system.setdefault(system, []).append(" / ".join(f"{spread.mean:.1f}" for spread in spreads))
    ours = by_system.pop("ours, recommended")
    for system, sets in by_system.items():
        assert f"| {system} | {' | '.join(sets)} |" in quoted
    assert f"| **`FewBitClassifier()`, 4 bits** | {' | '.join(f'**{numbers}**' for numbers in ours)} |" in quoted


@pytest.mark.parametrize(
    ("page", "pattern"),
    [("accuracy-results.md", "accuracy-*"), ("accuracy-results.md", "*-mnist"), ("results-tables.md", "tables")],
)
def test_other_pages_show_every_table_of_their_runs(page, pattern):
    text = (ROOT / "docs" / page).read_text()
    paths = sorted(RESULTS.glob(pattern + PACKED))
    assert paths
    for path in paths:
        for table in section(path).tables.values():
            assert table.markdown() in text


def test_every_run_is_one_file_that_packing_gives_again():
    names = {path.name for path in RESULTS.iterdir()}
    assert len(names) == 29
    assert all(name.endswith(PACKED) for name in names)
    notes = {f"{path.stem}{PACKED}" for path in (LAB / "notes").iterdir()}
    assert notes <= names
    assert Store(RESULTS / "exp3a").notes == (LAB / "notes" / "exp3a.md").read_text().strip()


def test_the_page_compares_on_the_same_images():
    runs = [results.read(path) for path in RUNS]
    assert same_images.beside_the_paper(runs).markdown() in PAGE
    assert same_images.own_systems(runs).markdown() in PAGE
    assert PAGE.index("(the paper's images)") < PAGE.index("(random images)")


def test_readme_has_the_numbers_of_experiment_3a():
    on_papers, on_random = (results.read(RESULTS / name) for name in ("exp3a", "exp3a-random"))
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
