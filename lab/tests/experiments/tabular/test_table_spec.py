"""The file of the experiment on tables: complete, and its small version is smaller."""

from bemi_lab.datasets.tables import TABLES
from bemi_lab.experiments import experiment_types
from bemi_lab.experiments.tabular.reports import REPORTS
from bemi_lab.experiments.tabular.spec import load
from bemi_lab.experiments.tabular.splits import split
from bemi_lab.experiments.tabular.systems import SYSTEMS


def test_all_names_are_known():
    for grid in load("tables").grids:
        assert set(grid.tables) <= set(TABLES)
        assert set(grid.systems) <= set(SYSTEMS)
        assert set(grid.report) <= set(REPORTS)
        assert [split(name).name for name in grid.splits] == list(grid.splits)


def test_every_shared_table_but_the_large_one_counts():
    assert set(load("tables").grids[0].tables) == set(TABLES) - {"spambase"}
    assert load("tables").grids[0].samples == 5


def test_cards_and_chances_are_for_two_classes():
    by_report = {grid.report[0]: grid for grid in load("tables").grids}
    binary = {name for name, table in TABLES.items() if table.classes == 2} - {"spambase"}
    assert set(by_report["cards"].tables) == set(by_report["chances"].tables) == binary


def test_the_quick_version_is_a_part():
    whole, quick = load("tables"), load("tables", quick=True)
    assert quick.time_limit < 10
    assert not quick.needs_all_tables
    assert len(quick.grids) >= 4
    for grid in quick.grids:
        (same,) = (other for other in whole.grids if other.report == grid.report)
        for axis in ("tables", "splits", "systems"):
            assert set(getattr(grid, axis)) <= set(getattr(same, axis))
            assert getattr(grid, axis)
        assert grid.samples == 1
        # Nothing that has to be installed.
        assert all(SYSTEMS[name].needs is None for name in grid.systems)


def test_its_kind():
    assert experiment_types.of("tables") is experiment_types.KINDS["tables"]
    assert experiment_types.of("exp1") is not experiment_types.KINDS["tables"]
    assert experiment_types.of("tables").load("tables") == load("tables")
