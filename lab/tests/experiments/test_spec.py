"""The experiments' files: complete, and consistent with themselves where the paper's numbers say one thing twice."""

import math

import numpy as np
import pytest
from bemi_lab.experiments import figures, spec, tables

from bemi.ensemble import LabelStatus

NAMES = [name for name in spec.names() if spec.kind(name) == spec.NETWORKS]
PAPERS = [name for name in NAMES if name.startswith("exp")]


def test_all_six_are_there():
    assert PAPERS == ["exp1", "exp2", "exp3a", "exp3b", "exp4a", "exp4b", "exp5", "exp6"]
    with pytest.raises(ValueError, match=r"unknown experiment 'exp9'; known: .*exp1"):
        spec.load("exp9")


@pytest.mark.parametrize("name", PAPERS)
def test_every_cell_has_the_papers_accuracy(name):
    experiment = spec.load(name)
    assert set(experiment.cells) == set(experiment.paper)
    assert len({cell.name for cell in experiment.cells}) == len(experiment.cells)
    for values in experiment.paper.values():
        assert values.get("lowest", 0) <= values["accuracy"] <= values.get("highest", 100)


def test_which_images_the_paper_takes_is_known_for_experiments_2_to_5():
    known = {name: spec.load(name).paper_sizes for name in NAMES}
    assert [name for name, sizes in known.items() if sizes] == ["exp2", "exp3a", "exp3b", "exp4a", "exp4b", "exp5"]
    for name, sizes in known.items():
        if sizes:
            experiment = spec.load(name)
            assert sizes == tuple(dict.fromkeys(cell.per_class for cell in experiment.cells))
            assert set(experiment.systems.per_class if experiment.systems else ()) <= set(sizes)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_report_shows_can_be_shown(name):
    experiment = spec.load(name)
    assert set(experiment.tables) <= set(tables.TABLES)
    assert set(experiment.figures) <= set(figures.FIGURES)
    quick = spec.load(name, quick=True)
    assert quick.samples <= experiment.samples
    assert quick.time_limit < 10
    assert len(quick.cells) <= len(experiment.cells)


@pytest.mark.parametrize("name", ["exp3a", "exp3b", "exp4a", "exp4b"])
def test_active_links_are_the_share_of_all_links(name):
    for cell, values in spec.load(name).paper.items():
        total = sum(math.prod(pair) for pair in zip((784, *cell.hidden_layers), (*cell.hidden_layers, 1), strict=True))
        assert 100 * values["active_links"] / total == pytest.approx(values["links"], abs=0.01)


def test_statuses_add_up():
    for values in spec.load("exp3a").paper.values():
        assert sum(values[status.value] for status in LabelStatus) == pytest.approx(100, abs=0.03)
        assert values["1C"] + values["mC"] == pytest.approx(values["accuracy"], abs=0.011)
        assert values["oI'"] + values["oI''"] == pytest.approx(values["unclassified"], abs=0.011)


@pytest.mark.parametrize("name", ["exp5", "exp6"])
def test_weight_shares_add_up(name):
    for values in spec.load(name).paper.values():
        assert sum(values[share] for share in tables.WEIGHT_SHARES) == pytest.approx(100, abs=0.03)


def test_rows_of_the_confusion_matrix_add_up():
    _, percent = spec.load("exp3a").paper_confusion
    assert np.array(percent).shape == (10, 11)
    # The paper's rows for 5 and 6 add up to 99.
    assert np.sum(percent, axis=1) == pytest.approx([100] * 5 + [99] * 2 + [100] * 3)
