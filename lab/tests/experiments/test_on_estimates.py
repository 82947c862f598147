"""The experiment on estimates from its file to its table."""

from dataclasses import replace

import numpy as np
from bemi_lab.experiments import report, spec
from bemi_lab.experiments.on_estimates import made_recordings, made_table
from bemi_lab.experiments.run import reproduce
from bemi_lab.experiments.spec import Settings


def test_a_run_shows_how_often_ranges_hold_the_accuracy(tmp_path):
    experiment = spec.load("estimates", quick=True)
    grids = [replace(grid, datasets=("breast-cancer",), samples=2) for grid in experiment.grids]
    reproduce(
        replace(experiment, grids=tuple(grids)), Settings("estimates", time_limit=0.5), tmp_path / "run", n_jobs=1
    )
    tables = report.section(tmp_path / "run").tables
    assert list(tables) == ["tables", "restrictions"]
    for model, table in zip(("FewBitClassifier", "monotone"), tables.values(), strict=True):
        (row,) = [dict(zip(table.headings, row, strict=True)) for row in table.rows]
        assert (row["model"], row["draws"], row["without an estimate"]) == (model, 2, 0)
        assert row["low %"] < row["expected %"] < row["high %"]
        assert row["accuracy %"] > 80
        share = row["ranges that hold it %"]
        assert share.low <= share.mean <= share.high
        assert (share.low, share.high) != (0, 100)


def test_made_recordings_are_never_divided():
    draw = made_recordings(12, np.random.default_rng(0))
    assert np.bincount(draw.y).tolist() == [12] * 3
    assert all(len(np.unique(draw.y[draw.groups == group])) == 1 for group in np.unique(draw.groups))
    assert (np.unique(draw.groups, return_counts=True)[1] == 4).all()
    tested = draw.every.groups[len(draw.every.groups) - len(draw.test_y) :]
    assert len(draw.y) + len(draw.test_y) == len(draw.every.train_y)
    assert len(np.unique(draw.every.groups)) == len(np.unique(draw.groups)) + 300
    assert tested.max() > draw.groups.max()


def test_made_tables_differ_between_draws():
    first, second = (made_table(10, np.random.default_rng(seed)) for seed in (0, 1))
    assert first.X.shape == second.X.shape == (20, 8)
    assert not np.array_equal(first.X, second.X)
