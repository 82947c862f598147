"""The report on made-up results."""

import json
import re

import numpy as np
import pytest
from bemi_lab.experiments import report
from bemi_lab.experiments.tabular import reports
from bemi_lab.experiments.tabular.results import read
from bemi_lab.experiments.tabular.section import section
from bemi_lab.experiments.tabular.spec import load
from bemi_lab.experiments.tabular.systems import SYSTEMS

EXPERIMENT = load("tables")
ACCURACY, MOVED, CARDS, CHANCES, SIZE = EXPERIMENT.grids


def made_up(system, grid, seed):
    """Measurements of a system: random ones, except that ours is 3 points ahead of the random forest everywhere."""
    rng = np.random.default_rng(seed)
    for split in grid.splits:
        for table in grid.tables:
            base = 0.6 + 0.2 * np.random.default_rng(len(table) + len(split)).random()
            for sample in range(grid.samples):
                ours = {"gap": 0.01, "largest_gap": 0.02, "certified": True, "links": 30, "expected": base + 0.04}
                yield {
                    "table": table,
                    "split": split,
                    "sample": sample,
                    "seconds": 1.5,
                    "accuracy": base + {"recommended": 0.03, "random-forest": 0}.get(system, 0.1 * rng.random()),
                    "auc": 0.8 + (0.01 if system.startswith("card") else 0),
                    "log_loss": 0.45,
                    "calibration_error": 0.06,
                    **(ours if SYSTEMS[system].title.startswith("ours") else {}),
                }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "tables"
    (folder / "results").mkdir(parents=True)
    settings = {"engine": "decomposition", "time_limit": 10.0, "gap": 0.01, "dataset": "tables"}
    visit = {"started": "2030-01-01T00:00:00+00:00", "seconds": 600.0, "models": 1, "jobs": 2, "cores": 2}
    visit |= {"solver": "highs 1", "python": "3", "bemi": "0", "packages": {"scikit-learn": "1"}}
    (folder / "run.json").write_text(json.dumps({"experiment": "tables", "settings": settings, "visits": [visit]}))
    found = {}
    for grid in EXPERIMENT.grids:
        for seed, system in enumerate(grid.systems):
            known = {(m["split"], m["table"]) for m in found.get(system, [])}
            new = [m for m in made_up(system, grid, seed) if (m["split"], m["table"]) not in known]
            found[system] = found.get(system, []) + new
    for system, measurements in found.items():
        content = {"system": system, "measurements": measurements}
        (folder / "results" / f"{system}.json").write_text(json.dumps(content))
    return folder


def test_accuracy_beside_a_random_forest(folder):
    table = reports.accuracy(read(folder), ACCURACY)
    rows = {row[0]: row for row in table.rows}
    assert table.headings[1] == "20 per class (14 tables)"
    ahead = rows["random forest"][table.headings.index("ours minus it, 20 per class")]
    assert (ahead.mean, ahead.low, ahead.high) == pytest.approx((3, 3, 3))
    assert rows["ours, recommended"][2] is None
    assert rows["ours, recommended"][1] == pytest.approx(rows["random forest"][1] + 3)


def test_every_table_has_a_row(folder):
    table = reports.accuracy_by_table(read(folder), ACCURACY)
    assert len(table.rows) == 3 * 14
    assert [row[-1] for row in table.rows] == pytest.approx([3] * 42)


def test_training_says_what_it_expected(folder):
    row = reports.training(read(folder), ACCURACY).rows[0]
    assert (row[1].mean, row[2], row[3], row[5]) == pytest.approx((1, 2, 100, 30))
    assert row[4].mean == pytest.approx(1)


def test_what_a_shift_costs(folder):
    table = reports.moved(read(folder), MOVED)
    assert len(table.rows) == 4
    run = read(folder)
    lost = run.differences("recommended-shifted", "recommended", "per-class-20", "accuracy", MOVED.tables)
    worst = min(lost.values())
    assert table.rows[0][-1].endswith(f"{100 * worst:+.2f}")
    assert table.rows[0][4].mean == pytest.approx(100 * np.mean(list(lost.values())))


def test_cards_beside_fasterrisk(folder):
    rows = {row[0]: row[1:] for row in reports.cards(read(folder), CARDS).rows}
    assert rows["ours, 5 links"] == ["0.810", "0.450", "0.060", rows["ours, 5 links"][3], "1.500", pytest.approx(1)]
    assert rows["ours minus FasterRisk, 10 links"][0] == "+0.010 (+0.010 to +0.010)"
    assert rows["FasterRisk, 5 links"][-1] is None
    assert len(reports.cards_by_table(read(folder), CARDS).rows) == 10


def test_chances_and_size(folder):
    table = reports.chances(read(folder), CHANCES)
    assert len(table.rows) == 3 * 5
    assert table.rows[1][-1] == "+0.000 (+0.000 to +0.000)"
    assert [row[0] for row in reports.size(read(folder), SIZE).rows] == ["banana"] * 3 + ["spambase"] * 3


def test_the_page_has_every_table(folder, tmp_path):
    page = tmp_path / "page.md"
    written = report.write([folder], page)
    names = [name for grid in EXPERIMENT.grids for name in grid.report]
    assert [path.name for path in written[1:]] == [f"tables-{name}.csv" for name in names]
    text = page.read_text()
    assert text.count("\n## ") == 1
    assert "models in 10 min on 2 cores" in text
    assert not re.search(r"\bnan\b", text)


def test_a_run_of_ours_alone_is_reported(folder, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "run.json").write_text((folder / "run.json").read_text())
    name = "recommended.json"
    (tmp_path / "results" / name).write_text((folder / "results" / name).read_text())
    found = section(tmp_path)
    assert list(found.tables) == ["accuracy", "accuracy-by-table", "training", "chances"]
    assert [row[0] for row in found.tables["accuracy"].rows] == ["ours, recommended"]


def test_versions_of_all_visits_are_told(folder, tmp_path):
    (tmp_path / "results").mkdir()
    run = json.loads((folder / "run.json").read_text())
    second = run["visits"][0] | {"packages": {"scikit-learn": "2", "xgboost": "3"}}
    (tmp_path / "run.json").write_text(json.dumps(run | {"visits": [run["visits"][0], second]}))
    (tmp_path / "results" / "svc.json").write_text((folder / "results" / "svc.json").read_text())
    assert "scikit-learn 1 and 2, xgboost 3" in section(tmp_path).conditions
