"""Variants enter only where they are violated, and what is claimed then holds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bemi.limits import Limits
from bemi.problem import Problem, row_norms, soft_value
from bemi.training import Variants, train, train_lazily
from bemi.training import pipeline as lazy
from bemi.training.pipeline import shortfall, take_worst

SETTINGS = {"time_limit": None, "limits": Limits(nodes=20)}


def drawn(seed, rows=6, pool=12, inputs=4, hidden=(), weight_bound=3):
    """Two classes around two points, and variants farther off."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(0, 20, (2, inputs))
    codes = np.repeat([[1], [-1]], rows // 2, axis=0)
    more = np.repeat([[1], [-1]], pool // 2, axis=0)
    data = centres[(codes[:, 0] < 0).astype(int)] + rng.integers(-2, 3, (rows, inputs))
    far = centres[(more[:, 0] < 0).astype(int)] + rng.integers(-5, 6, (pool, inputs))
    return Problem(data, codes, hidden, weight_bound), Variants(far.astype(np.int16), more)


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_soft_margins_with_nothing_violated_speak_of_all_variants(seed):
    problem, variants = drawn(seed)
    training = train_lazily(problem, variants, ("soft",), **SETTINGS)
    report = training.reports["soft"]
    assert report.rows == len(problem.data) + len(training.added)
    everything = variants.appended_to(problem, np.ones(len(variants.data), dtype=bool))
    value = soft_value(everything.data, everything.codes, report.network.weights[0], report.soft)
    missing = shortfall(training, variants)
    left_out = np.setdiff1d(np.arange(len(variants.data)), training.added)
    assert training.violated == (missing[left_out] > 0).sum()
    # A loss can only add to the objective, so the bound holds for all variants in any case.
    assert report.bound <= report.objective <= value
    if not training.violated:
        assert value == report.objective


@given(st.integers(0, 10_000))
@settings(max_examples=25)
def test_a_violated_soft_margin_is_a_loss(seed):
    problem, variants = drawn(seed)
    training = train(problem, ("soft",), **SETTINGS)
    report = training.reports["soft"]
    (t,) = report.soft.resolutions
    sums = (variants.data.astype(int) @ report.network.weights[0])[:, 0] * variants.codes[:, 0]
    losses = [
        max(Fraction(0), t - Fraction(int(y), n)) if n else 0
        for y, n in zip(sums, row_norms(variants.data).tolist(), strict=True)
    ]
    assert shortfall(training, variants) == pytest.approx([float(loss) for loss in losses])


@pytest.mark.parametrize(("stages", "hidden"), [(("sm", "mm"), (2,)), (("sm", "mm", "mw"), ()), (("soft", "mw"), ())])
def test_the_network_is_that_of_the_rows_and_the_added_ones(stages, hidden):
    problem, variants = drawn(10, hidden=hidden)
    training = train_lazily(problem, variants, stages, **SETTINGS)
    taken = np.isin(np.arange(len(variants.data)), training.added)
    assert taken.any()
    assert not taken.all()
    again = train(variants.appended_to(problem, taken), stages, **SETTINGS)
    assert again.network == training.network
    missing = shortfall(training, variants)
    if "soft" not in stages:
        confident = training.network.confident(variants.data, variants.codes).all(axis=1)
        assert np.array_equal(missing > 0, ~confident)
    assert training.violated == (missing[~taken] > 0).sum() == 0


def test_rows_that_satisfy_everything_add_nothing():
    problem, _ = drawn(0)
    training = train_lazily(problem, Variants(10 * problem.data, problem.codes), ("sm", "mm"), **SETTINGS)
    assert (training.added, training.rounds, training.violated) == ((), 1, 0)
    assert training.network == train(problem, ("sm", "mm"), **SETTINGS).network


def test_the_worst_come_first():
    taken = np.array([False, True, False, False, False])
    assert take_worst(taken, np.array([1.0, 9.0, 3.0, 0.0, 2.0]), 2) == 3
    assert taken.tolist() == [False, True, True, False, True]


def test_contradicting_variants_end_after_the_last_round(monkeypatch):
    monkeypatch.setattr(lazy, "MOST_ROUNDS", 2)
    problem, _ = drawn(1)
    # Every row as a variant of the other class, many times: no network satisfies them.
    wrong = Variants(np.tile(problem.data, (5, 1)), np.tile(-problem.codes, (5, 1)))
    training = train_lazily(problem, wrong, ("sm",), **SETTINGS)
    assert training.rounds == 2
    assert len(training.added) == len(problem.data)
    assert training.violated > 0


def test_no_round_begins_after_the_time_limit():
    problem, variants = drawn(10)
    assert train_lazily(problem, variants, ("sm",), **SETTINGS).rounds > 1
    training = train_lazily(problem, variants, ("sm",), time_limit=1e-9, limits=Limits(nodes=20))
    assert training.rounds == 1
    assert training.added == ()
    assert training.violated > 0
