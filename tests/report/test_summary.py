"""What is in a model, against what it was made of."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from soft_margins import soft_margins

from bemi import NoiseScenarios, TableBits
from bemi.report import contents


def table(rows=45):
    generator = np.random.default_rng(3)
    frame = pd.DataFrame({"mass": generator.normal(size=rows).round(2), "kind": generator.choice(list("abc"), rows)})
    frame.loc[::7, "mass"] = np.nan
    return frame, np.arange(rows) % 3


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    settings = {"weight_bound": 3, "time_limit": 1.0}
    return soft_margins(inputs=TableBits(thresholds=2, values=True), **settings).fit(X, y)


def test_columns(fitted):
    found = contents(fitted.ensemble_)
    mass, kind = found["columns"]
    assert found["named"]
    assert (mass["name"], mass["kind"], mass["unit"], mass["missing"]) == ("mass", "number", "0.01", True)
    assert (kind["name"], kind["kind"], kind["levels"], kind["missing"]) == ("kind", "category", ["a", "b", "c"], False)
    names = fitted.transform_.output_names()
    assert [f"mass >= {cut}" for cut in mass["thresholds"]] == [name for name in names if ">=" in name]
    assert mass["value"]
    assert found["inputs"]["number"] == len(names)


def test_training_and_proofs(fitted):
    found = contents(fitted.ensemble_)
    assert found["classes"] == [0, 1, 2]
    assert found["training"]["rows"] == 45
    assert found["training"]["settings"]["stages"] == ["soft"]
    assert found["training"]["settings"]["copies"] is None
    assert [network["classes"] for network in found["networks"]] == [[0, 1], [0, 2], [1, 2]]
    for network, (key, reports) in zip(found["networks"], fitted.reports_.items(), strict=True):
        proved, report = network["stages"]["soft"], reports["soft"]
        assert proved["objective"] == float(report.objective)
        assert proved["bound"] == float(report.bound)
        assert proved["gap"] == report.gap
        assert (proved["rows"], proved["proof"]) == (30, report.proof)
        assert network["links"] == int(np.count_nonzero(fitted.networks_[key].weights[0]))


def test_all_of_it_is_json(fitted):
    found = contents(fitted.ensemble_)
    assert json.loads(json.dumps(found)) == found


def test_rows_are_counted_with_variants_and_with_few_networks():
    generator = np.random.default_rng(0)
    X, y = generator.integers(0, 9, (24, 3)), np.arange(24) % 3
    settings = {"hidden_layers": (2,), "stages": ("sm",), "time_limit": 0.5}
    noisy = soft_margins(copies=NoiseScenarios(), **settings).fit(X, y)
    found = contents(noisy.ensemble_)
    assert found["training"]["rows"] == 24
    assert found["training"]["settings"]["copies"] is not None
    assert json.loads(json.dumps(found)) == found
    assert not found["named"]
    assert [column["name"] for column in found["columns"]] == ["feature 0", "feature 1", "feature 2"]
    some = soft_margins(subsets=[(0, 1), (1, 2)], **settings).fit(X, y)
    assert contents(some.ensemble_)["training"]["rows"] is None
