"""The experiment on unknown rows from its file to its table."""

from dataclasses import replace

import numpy as np
from bemi_lab.experiments import report, spec
from bemi_lab.experiments.on_unknown import unknown_images, unknown_windows
from bemi_lab.experiments.run import reproduce
from bemi_lab.experiments.spec import Settings


def test_a_run_shows_what_is_rejected(tmp_path):
    experiment = spec.load("unknown", quick=True)
    small = replace(experiment, grids=(replace(experiment.grids[0], datasets=("wine",)),))
    reproduce(small, Settings("unknown", time_limit=0.5), tmp_path / "unknown", n_jobs=1)
    table = report.section(tmp_path / "unknown").tables["unknown"]
    rows = [dict(zip(table.headings, row, strict=True)) for row in table.rows]
    assert [row["unknown"] for row in rows] == ["a class", "uniform", "shuffled", "other units"]
    assert all(row["known rows rejected %"].mean < 20 for row in rows)
    assert rows[-1]["rejected %"].mean > 90
    assert float(rows[-1]["AUC"]) > 0.95


def test_unknown_rows_are_made_of_known_ones():
    rng = np.random.default_rng(0)
    windows = rng.normal(0, 100, (5, 20, 3)).round()
    made = unknown_windows(windows, rng)
    assert all(other.shape == windows.shape for other in made.values())
    assert np.array_equal(made["flipped"], -windows)
    assert (np.ptp(made["still"], axis=1) == 0).all()
    assert made["clipped"].max() <= windows.max()
    images = rng.integers(0, 256, (4, 30))
    others = unknown_images(images, (5, 6), rng)
    assert all(0 <= other.min() <= other.max() <= images.max() for other in others.values())
    assert np.array_equal(others["upside down"].reshape(4, 5, 6)[:, ::-1].reshape(4, 30), images)
