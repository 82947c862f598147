"""What the reports and README show is what the recorded runs say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from bemi_lab.experiments import results, summaries
from bemi_lab.experiments.store import PACKED

LAB = Path(__file__).parent.parent
ROOT = LAB.parent
RESULTS = LAB / "results"
REPORTS = LAB / "reports"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """All reports, made again."""
    folder = tmp_path_factory.mktemp("reports")
    summaries.write(RESULTS, folder)
    return folder


def files_of(folder, ending):
    return {str(path.relative_to(folder)): path for path in folder.rglob(f"*{ending}")}


@pytest.mark.parametrize("ending", [".md", ".csv"])
def test_the_reports_are_those_of_the_recorded_runs(made, ending):
    fresh, shown = files_of(made, ending), files_of(REPORTS, ending)
    assert fresh.keys() == shown.keys()
    differing = [name for name, path in fresh.items() if path.read_bytes() != shown[name].read_bytes()]
    assert differing == []


def test_every_figure_and_table_is_linked(made):
    """SVG differs from one version of matplotlib to the next, so only names are compared."""
    linked = {
        target
        for page in made.glob("*.md")
        for target in re.findall(r"\]\(((?:tables|figures)/[^)]+)\)", page.read_text())
    }
    drawn = files_of(made, ".svg").keys()
    assert drawn == files_of(REPORTS, ".svg").keys()
    assert linked == drawn | files_of(made, ".csv").keys()


def test_every_recorded_table_is_in_a_report(made):
    runs = [path.name.removesuffix(PACKED) for path in RESULTS.glob(f"*{PACKED}")]
    assert len(runs) >= 29
    tables = {path.stem for path in (made / "tables").iterdir()}
    for run in runs:
        assert any(table.startswith(f"{run}-") for table in tables), f"no page has {run}"
    assert {path.stem for path in (RESULTS / "benchmarks").iterdir()} <= tables


def test_the_site_lists_every_report(made):
    listed = set(re.findall(r"^reports/(.+)$", (ROOT / "docs" / "measurements.md").read_text(), re.MULTILINE))
    assert listed == {page.stem for page in made.glob("*.md")}


def test_a_summary_takes_its_numbers_from_the_runs(made):
    """Recomputed here from the records, not from tables."""
    run = results.read(RESULTS / "exp3a")
    forty = next(result for result in run.cells if result.cell.per_class == 40)
    accuracy = np.mean([record["paper_accuracy"] for record in forty.records])
    page = (made / "exp3.md").read_text()
    assert re.search(rf"^\| 40 \| {100 * accuracy:.1f} \(", page, re.MULTILINE)
    gaps = [np.mean(result.stage_values("mm", results.gap)) for result in run.cells]
    assert f"within {min(gaps):.2f} to\n  {max(gaps):.2f} %" in page
    images = results.read(RESULTS / "accuracy")
    found = images.mean("recommended", "per-class-10", "accuracy", ["mnist"])
    assert f"**MNIST: {100 * found:.1f} % with ten images per digit**" in (made / "images.md").read_text()


GUIDES = ["index", "install", "first-steps", "idea", "images", "tables", "signals", "signals-device", "accuracy"]
GUIDES += ["scenarios-and-selection", "probabilities", "scaling", "checking", "export", "hardware", "notebooks"]
GUIDES += ["how-much-data", "limits", "faq", "glossary", "teaching"]


@pytest.fixture(scope="module")
def claims():
    """By page, the sentences and rows with numbers that the records say; ``claims.md`` is their template."""
    source = (LAB / "tests" / "claims.md").read_text()
    rendered = summaries.Summaries(RESULTS).rendered({"claims": source})["claims"]
    _, *parts = re.split(r"^# (\S+)$", rendered, flags=re.MULTILINE)
    return {
        page: [line for line in text.splitlines() if line] for page, text in zip(parts[::2], parts[1::2], strict=True)
    }


@pytest.mark.parametrize("page", ["README.md", *(f"{guide}.md" for guide in GUIDES)])
def test_a_page_claims_what_the_records_say_and_no_other_measured_number(page, claims):
    """What a page's code prints is tested where the code runs."""
    text = (ROOT / page if page == "README.md" else ROOT / "docs" / page).read_text()
    text = " ".join(re.sub(r"^```\w*\n.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE).replace("**", "").split())
    for claim in claims.get(page, []):
        claim = claim.replace("**", "")
        assert claim in text, f"{page} does not say what the record says: {claim}"
        text = text.replace(claim, "")
    measured = r".{0,30}\d (?:%|points|kB|MHz|instructions|cycles)(?!\w)|\| -?\d[\d,]*\.\d+ "
    assert re.findall(measured, text) == [], f"{page} has numbers that lab/tests/claims.md does not know"
