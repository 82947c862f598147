"""Models whose C keeps within a budget."""

import numpy as np
import pytest

from bemi import FewBitClassifier, SignalCounts, load
from bemi.cli import main
from bemi.export import c
from bemi.export.c.unknown import MARGIN
from bemi.training.budget import expected_costs

QUICK = {"copies": None, "C": 3.0, "time_limit": None, "node_limit": 5}
BOUND = {"input_scaling": "auto", "weight_bound": 7}


def windows():
    rng = np.random.default_rng(0)
    y = np.repeat(["still", "swing", "walk"], 8)
    speed = np.repeat([0.0, 0.4, 0.9], 8)[:, None, None] * np.arange(40)[:, None]
    return np.rint(400 * np.sin(speed + rng.uniform(0, 6, (24, 1, 1))) + rng.normal(0, 60, (24, 40, 2))), y


def test_signals_use_as_many_kernels_as_the_budget_allows():
    """The cost of each number of kernels, as budget, gives fewer if it is one less; the trained model costs no more."""
    X, y = windows()
    plain = FewBitClassifier("signal", **QUICK, probabilities=True, reject=0.1)
    costs = expected_costs({**plain.get_params(), "inputs": SignalCounts(), **BOUND}, X, y)
    for limit, budget in (("flash", costs.flash), ("instructions", costs.instructions)):
        assert plain.within_budget(X, y, **{limit: budget}).inputs.rocket is None
        for kernels in (84, 0):
            model = plain.within_budget(X, y, **{limit: budget - 1})
            assert model.inputs.rocket == kernels
            made = c.export(model.fit(X, y)).costs
            stated = expected_costs({**plain.get_params(), "inputs": model.inputs, **BOUND}, X, y)
            assert 0.93 * stated.flash <= made.flash <= stated.flash
            # Whether margins of three classes count is chosen when the model is trained.
            spared = 0 if model.ensemble_.known_ranges.needs_scores else 3 * MARGIN
            assert made.instructions == stated.instructions - spared
            budget = getattr(stated, limit)
        with pytest.raises(ValueError, match=rf"without kernels the model takes {budget:,} of {limit}, more than"):
            plain.within_budget(X, y, **{limit: budget - 1})


def test_kernels_are_never_more_than_given():
    X, y = windows()
    few = FewBitClassifier(inputs=SignalCounts(rocket=84))
    assert few.within_budget(X, y, flash=10**6).inputs.rocket == 84


def test_budgets_are_for_signals():
    with pytest.raises(ValueError, match="budgets are for windows of a signal"):
        FewBitClassifier().within_budget([[1, 2.5], [3, 4], [5, 6]], [0, 1, 1], flash=1000)
    with pytest.raises(ValueError, match="at least two classes"):
        FewBitClassifier().within_budget(windows()[0], [0] * 24, flash=1000)


def test_the_command_line_takes_budgets(tmp_path, capsys):
    X, y = windows()
    np.savez(tmp_path / "w.npz", X=X, y=y)
    command = [
        "train",
        str(tmp_path / "w.npz"),
        "-o",
        str(tmp_path / "m.bemi"),
        "--kind",
        "signal",
        "--node-limit",
        "5",
    ]
    budgets = ["--budget-flash", "5000", "--budget-instructions", "70000"]
    assert main([*command, "--no-copies", "--C", "3", "--node-limit", "5", *budgets]) == 0
    costs = c.export(load(tmp_path / "m.bemi")).costs
    assert costs.flash <= 5000
    assert costs.instructions <= 70000
    assert main([*command[:4], "--paper", *budgets]) == 2
    assert "budgets are for signals" in capsys.readouterr().err
