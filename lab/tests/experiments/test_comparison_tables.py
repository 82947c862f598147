"""The report on made-up results."""

import re

import numpy as np
import pytest
from bemi_lab.experiments import report, spec
from bemi_lab.experiments.on_tables import SYSTEMS
from bemi_lab.experiments.report import section
from bemi_lab.experiments.results import read
from bemi_lab.experiments.store import Store

EXPERIMENT = spec.load("tables")
TABLES = report.GRID_TABLES["tables"]
ACCURACY, MOVED, CARDS, CHANCES, SIZE = EXPERIMENT.grids


def made_up(system, grid, seed):
    """Measurements of a system: random ones, except that ours is 3 points ahead of the random forest everywhere."""
    rng = np.random.default_rng(seed)
    for split in grid.splits:
        for table in grid.datasets:
            base = 0.6 + 0.2 * np.random.default_rng(len(table) + len(split)).random()
            for sample in range(grid.samples):
                ours = {"gap": 0.01, "largest_gap": 0.02, "certified": True, "links": 30, "expected": base + 0.04}
                yield {
                    "system": system,
                    "dataset": table,
                    "split": split,
                    "sample": sample,
                    "seconds": 1.5,
                    "accuracy": base + {"recommended": 0.03, "random-forest": 0}.get(system, 0.1 * rng.random()),
                    "auc": 0.8 + (0.01 if system.startswith("card") else 0),
                    "log_loss": 0.45,
                    "calibration_error": 0.06,
                    **(ours if SYSTEMS[system].title.startswith(("ours", "FewBitClassifier")) else {}),
                }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("runs") / "tables")
    (store.folder / "results").mkdir(parents=True)
    settings = {"engine": "decomposition", "time_limit": 10.0, "gap": 0.01, "dataset": "tables"}
    visit = {"started": "2030-01-01T00:00:00+00:00", "seconds": 600.0, "models": 1, "jobs": 2, "cores": 2}
    visit |= {"solver": "highs 1", "python": "3", "bemi": "0", "packages": {"scikit-learn": "1"}}
    store.write_run({"experiment": "tables", "settings": settings, "visits": [visit]})
    for grid in EXPERIMENT.grids:
        for seed, system in enumerate(grid.systems):
            for record in made_up(system, grid, seed):
                key = f"{system}_{record['dataset']}_{record['split']}_sample{record['sample']}"
                if not store.has(key):
                    store.write(key, record)
    return store.folder


def copied(folder, to, system):
    """A run with the records of one system alone."""
    (to / "results").mkdir()
    (to / "run.json").write_text((folder / "run.json").read_text())
    for path in (folder / "results").glob(f"{system}_*"):
        (to / "results" / path.name).write_text(path.read_text())
    return Store(to)


def test_accuracy_beside_a_random_forest(folder):
    table = TABLES["accuracy"](read(folder), ACCURACY)
    rows = {row[0]: row for row in table.rows}
    assert table.headings[1] == "20 per class (14 tables)"
    ahead = rows["random forest"][table.headings.index("ours minus it, 20 per class")]
    assert (ahead.mean, ahead.low, ahead.high) == pytest.approx((3, 3, 3))
    assert rows["FewBitClassifier"][2] is None
    assert rows["FewBitClassifier"][1] == pytest.approx(rows["random forest"][1] + 3)


def test_every_table_has_a_row(folder):
    table = TABLES["accuracy-by-table"](read(folder), ACCURACY)
    assert len(table.rows) == 3 * 14
    assert [row[-1] for row in table.rows] == pytest.approx([3] * 42)


def test_training_says_what_it_expected(folder):
    row = TABLES["training"](read(folder), ACCURACY).rows[0]
    assert (row[1].mean, row[2], row[3], row[4]) == pytest.approx((1, 2, 100, 30))
    assert row[-1].mean == pytest.approx(1)


def test_what_a_shift_costs(folder):
    table = TABLES["moved"](read(folder), MOVED)
    assert len(table.rows) == 4
    run = read(folder)
    lost = run.differences("recommended-shifted", "recommended", "per-class-20", "accuracy", MOVED.datasets)
    worst = min(lost.values())
    assert table.rows[0][-1].endswith(f"{100 * worst:+.2f}")
    assert table.rows[0][4].mean == pytest.approx(100 * np.mean(list(lost.values())))


def test_cards_beside_fasterrisk(folder):
    rows = {row[0]: row[1:] for row in TABLES["cards"](read(folder), CARDS).rows}
    assert rows["ours, 5 links"] == ["0.810", "0.450", "0.060", rows["ours, 5 links"][3], "1.500", pytest.approx(1)]
    assert rows["ours minus FasterRisk, 10 links"][0] == "+0.010 (+0.010 to +0.010)"
    assert rows["FasterRisk, 5 links"][-1] is None
    assert len(TABLES["cards-by-table"](read(folder), CARDS).rows) == 10


def test_chances_and_size(folder):
    table = TABLES["chances"](read(folder), CHANCES)
    assert len(table.rows) == 3 * 5
    assert table.rows[1][-1] == "+0.000 (+0.000 to +0.000)"
    assert [row[0] for row in TABLES["size"](read(folder), SIZE).rows] == ["banana"] * 3 + ["spambase"] * 3


def test_the_page_has_every_table(folder, tmp_path):
    page = tmp_path / "page.md"
    written = report.write([folder], page)
    names = [name for grid in EXPERIMENT.grids for name in grid.report]
    assert [path.name for path in written[1:]] == [f"tables-{name}.csv" for name in names]
    text = page.read_text()
    assert text.count("\n## ") == 1
    assert "models, each on one core" in text
    assert not re.search(r"\bnan\b", text)


def test_a_run_of_ours_alone_is_reported(folder, tmp_path):
    copied(folder, tmp_path, "recommended")
    found = section(tmp_path)
    assert list(found.tables) == ["accuracy", "accuracy-by-table", "training", "chances"]
    assert [row[0] for row in found.tables["accuracy"].rows] == ["FewBitClassifier"]


def test_versions_of_all_visits_are_told(folder, tmp_path):
    store = copied(folder, tmp_path, "svc")
    run = store.run()
    second = run["visits"][0] | {"packages": {"scikit-learn": "2", "xgboost": "3"}}
    store.write_run(run | {"visits": [run["visits"][0], second]})
    assert "scikit-learn 1 and 2, xgboost 3" in section(tmp_path).conditions
