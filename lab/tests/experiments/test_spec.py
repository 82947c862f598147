"""The experiments' files: complete, and consistent with themselves where the paper's numbers say one thing twice."""

import math

import numpy as np
import pytest
from bemi_lab.datasets import Split
from bemi_lab.datasets.registry import SETS
from bemi_lab.datasets.sampling import PAPER_SAMPLES
from bemi_lab.experiments import figures, network_tables, report, spec, subjects
from bemi_lab.experiments.on_estimates import MADE

from bemi.ensemble import LabelStatus

NAMES = [name for name in spec.names() if spec.load(name).kind == spec.NETWORKS]
COMPARISONS = [name for name in spec.names() if name not in NAMES]
PAPERS = [name for name in NAMES if name.startswith("exp")]


def test_all_six_are_there():
    assert PAPERS == ["exp1", "exp2", "exp3a", "exp3b", "exp4a", "exp4b", "exp5", "exp6"]
    with pytest.raises(ValueError, match=r"unknown experiment 'exp9'; known: .*exp1"):
        spec.load("exp9")


@pytest.mark.parametrize("name", PAPERS)
def test_every_cell_has_the_papers_accuracy(name):
    experiment = spec.load(name)
    assert set(experiment.cells) == set(experiment.paper.values)
    assert len({cell.name for cell in experiment.cells}) == len(experiment.cells)
    for values in experiment.paper.values.values():
        assert values.get("lowest", 0) <= values["accuracy"] <= values.get("highest", 100)


def test_which_images_the_paper_takes_is_known_for_experiments_2_to_5():
    known = {name: spec.load(name).paper.sizes for name in NAMES}
    assert [name for name, sizes in known.items() if sizes] == ["exp2", "exp3a", "exp3b", "exp4a", "exp4b", "exp5"]
    for name, sizes in known.items():
        if sizes:
            experiment = spec.load(name)
            assert sizes == tuple(dict.fromkeys(cell.per_class for cell in experiment.cells))
            assert {Split.parse(split).rows for grid in experiment.grids for split in grid.splits} <= set(sizes)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_report_shows_can_be_shown(name):
    experiment = spec.load(name)
    assert set(experiment.tables) <= set(network_tables.TABLES)
    assert set(experiment.figures) <= set(figures.FIGURES)
    quick = spec.load(name, quick=True)
    assert quick.samples <= experiment.samples
    assert quick.time_limit < 10
    assert len(quick.cells) <= len(experiment.cells)


@pytest.mark.parametrize("name", ["exp3a", "exp3b", "exp4a", "exp4b"])
def test_active_links_are_the_share_of_all_links(name):
    for cell, values in spec.load(name).paper.values.items():
        total = sum(math.prod(pair) for pair in zip((784, *cell.hidden_layers), (*cell.hidden_layers, 1), strict=True))
        assert 100 * values["active_links"] / total == pytest.approx(values["links"], abs=0.01)


def test_statuses_add_up():
    for values in spec.load("exp3a").paper.values.values():
        assert sum(values[status.value] for status in LabelStatus) == pytest.approx(100, abs=0.03)
        assert values["1C"] + values["mC"] == pytest.approx(values["accuracy"], abs=0.011)
        assert values["oI'"] + values["oI''"] == pytest.approx(values["unclassified"], abs=0.011)


@pytest.mark.parametrize("name", ["exp5", "exp6"])
def test_weight_shares_add_up(name):
    for values in spec.load(name).paper.values.values():
        assert sum(values[share] for share in network_tables.WEIGHT_SHARES) == pytest.approx(100, abs=0.03)


def test_rows_of_the_confusion_matrix_add_up():
    _, percent = spec.load("exp3a").paper.confusion
    assert np.array(percent).shape == (10, 11)
    # The paper's rows for 5 and 6 add up to 99.
    assert np.sum(percent, axis=1) == pytest.approx([100] * 5 + [99] * 2 + [100] * 3)


def test_there_are_five_samples_as_in_the_paper():
    assert spec.SAMPLES == PAPER_SAMPLES


@pytest.mark.parametrize("name", [*COMPARISONS, "exp2"])
def test_all_names_of_a_comparison_are_known(name):
    experiment = spec.load(name)
    systems = subjects.get(experiment.kind).systems
    assert experiment.dataset == ("mnist" if name == "exp2" else experiment.kind)
    for grid in experiment.grids:
        assert set(grid.systems) <= set(systems)
        assert set(grid.datasets) <= {*SETS, *MADE}
        assert set(grid.report) <= set(report.GRID_TABLES[experiment.kind])
        assert [Split.parse(split).name for split in grid.splits] == list(grid.splits)
        if experiment.kind != "tables":
            assert {Split.parse(split).kind for split in grid.splits} <= {"per-class", "published"}


@pytest.mark.parametrize("name", [*COMPARISONS, "exp2"])
def test_the_quick_version_of_a_comparison_is_a_part(name):
    whole, quick = spec.load(name), spec.load(name, quick=True)
    assert quick.time_limit < 10
    assert not quick.needs_all
    assert quick.grids
    for grid in quick.grids:
        (same,) = (other for other in whole.grids if other.report == grid.report)
        for axis in ("datasets", "splits", "systems"):
            assert set(getattr(grid, axis)) <= set(getattr(same, axis))
        assert grid.splits
        assert grid.systems
        assert grid.samples == 1


def test_quick_versions_need_no_downloads_but_signals():
    for name in ("tables", "accuracy"):
        systems = subjects.get(spec.load(name).kind).systems
        assert all(
            systems[system].needs is None for grid in spec.load(name, quick=True).grids for system in grid.systems
        )
    assert spec.load("accuracy", quick=True).grids[0].datasets == ("digits",)


def test_every_system_is_in_an_experiment():
    for kind, names in (("networks", ["exp2"]), ("images", ["accuracy", "many-images"])):
        compared = {system for name in names for grid in spec.load(name).grids for system in grid.systems}
        assert compared == set(subjects.get(kind).systems)


def test_every_table_but_the_large_one_counts():
    whole = spec.load("tables")
    by_report = {grid.report[0]: grid for grid in whole.grids}
    tables = {name for name, known in SETS.items() if known.folder == "tables"} | {"breast-cancer", "iris", "wine"}
    assert set(by_report["accuracy"].datasets) == tables - {"spambase"}
    binary = {name for name in tables if SETS[name].classes == 2} - {"spambase"}
    assert set(by_report["cards"].datasets) == set(by_report["chances"].datasets) == binary
