"""The systems that are compared: ours as a user makes them, and what is done to tables."""

import numpy as np
import pandas as pd
import pytest
from bemi_lab.datasets.tables import load_table
from bemi_lab.experiments.spec import Settings
from bemi_lab.experiments.tabular.systems import SYSTEMS, System, card, shifted, thousandfold

TABLE = pd.DataFrame({"a": [1.0, 2.0, np.nan, 5.0], "kind": ["x", "y", "x", "y"], "b": [3, 3, 4, 8]})


def test_shifted_by_a_hundred_standard_deviations():
    moved = shifted(TABLE)
    assert moved["kind"].tolist() == TABLE["kind"].tolist()
    values = [1.0, 2.0, 5.0]
    spread = (sum((value - 8 / 3) ** 2 for value in values) / 2) ** 0.5
    assert moved["a"].dropna().tolist() == pytest.approx([value + 100 * spread for value in values])
    assert moved["a"].isna().tolist() == [False, False, True, False]
    assert np.ptp(moved["b"]) == pytest.approx(5)


def test_thousandfold():
    assert thousandfold(TABLE)["b"].tolist() == [3000, 3000, 4000, 8000]
    assert thousandfold(TABLE)["kind"].tolist() == TABLE["kind"].tolist()


def test_names_are_keys():
    assert all(system.name == name for name, system in SYSTEMS.items())


def test_a_system_without_its_package_cannot_run():
    def make(*_):
        raise AssertionError

    assert System("other", "other", make, needs="no_such_package").lacking == "no_such_package"
    assert SYSTEMS["random-forest"].lacking is None


def test_ours_has_the_users_limits():
    rows = load_table("iris")
    settings = Settings(dataset="tables", time_limit=3.5, gap=0.02, node_limit=7)
    model = SYSTEMS["recommended"].make(rows.X, rows.y, 0, settings)
    chosen = model.get_params()
    assert (chosen["time_limit"], chosen["gap"], chosen["node_limit"]) == (3.5, 0.02, 7)


def test_a_card_has_few_lines():
    rows = load_table("breast-cancer")
    model = card(3, time_limit=2.0).fit(rows.X[:150], rows.y[:150])
    (network,) = model.networks_.values()
    weights = network.weights[0][:, 0]
    assert np.count_nonzero(weights[:-1]) <= 3
    assert np.abs(weights).max() <= 5
    assert model.predict_proba(rows.X[:5]).shape == (5, 2)
