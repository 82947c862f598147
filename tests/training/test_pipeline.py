"""The pipeline: order, T-hat, time, and what happens when a stage cannot run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import keeping, tiny_problems

from bemi import Network, engines
from bemi import limits as clock
from bemi.engines import initial_network, monolithic, observed
from bemi.limits import Limits
from bemi.problem import Problem
from bemi.stages import Outcome, get
from bemi.training import train
from bemi.training.pipeline import check_stages, share_time, untrained

STAGE_LISTS = [("sm",), ("mm",), ("mw",), ("sm", "mm"), ("sm", "mw"), ("mm", "mw"), ("sm", "mm", "mw")]


def images(per_class: int = 4, features: int = 16, seed: int = 0, hidden: tuple[int, ...] = (2, 2)) -> Problem:
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 50, (2 * per_class, features))
    data[:per_class, :4] += 60
    codes = np.repeat([[1], [-1]], per_class, axis=0)
    return Problem(data, codes, hidden, 1)


@settings(max_examples=60)
@given(tiny_problems(), st.sampled_from(STAGE_LISTS))
def test_lexicographic_promises(problem, stages):
    """Later stages keep what earlier ones reached, and every report is true of its own network."""
    trained = train(problem, stages, time_limit=None)
    assert tuple(trained.reports) == stages
    seen = problem
    before = None
    margins = None
    for stage, report in trained.reports.items():
        assert report.rows == len(seen.data)
        if not report.ran:
            assert report.message
            assert before is None or report.network == before
            continue
        assert report.objective == get(stage).value(seen, report.network, keeping(margins))
        assert report.links == report.network.links
        if stage == "sm":
            seen = problem.rows(problem.confident_rows(report.network))
        else:
            assert np.array_equal(report.network.forward(seen.data), seen.codes)
        if stage == "mm":
            margins = report.network.margins(seen.data, seen.codes)
        before = report.network
    assert trained.network == list(trained.reports.values())[-1].network


@pytest.mark.parametrize("stages", STAGE_LISTS)
@pytest.mark.parametrize("seconds", [1e-9, 0.05])
def test_a_network_comes_back_however_short_the_limit(stages, seconds):
    problem = images(per_class=10, features=64, hidden=(4, 4))
    trained = train(problem, stages, time_limit=seconds)
    assert trained.network.layers == problem.layers
    assert set(trained.reports) == set(stages)


def test_separable_data_need_no_search():
    with observed() as searches:
        report = train(images(), ("sm",)).reports["sm"]
    assert report.objective == report.bound == 8
    assert report.proof == "certified"
    assert [search.strategy for search in searches] == ["patterns"]


def test_max_margin_sees_only_confident_rows():
    # The last row contradicts the first, so one of them cannot be right.
    data = np.array([[9, 1], [1, 9], [9, 1]])
    problem = Problem(data, np.array([[1], [-1], [-1]]), (2,), 1)
    reports = train(problem, time_limit=None).reports
    assert reports["sm"].objective == reports["sm"].bound == 2
    assert reports["mm"].rows == reports["mw"].rows == 2
    assert reports["mm"].ran


def test_empty_t_hat_is_said_and_survived():
    # Equal rows whose bits each have a majority of +1, but no row is +1 throughout: the best network gets no row right.
    codes = np.array([[1, 1, -1], [1, -1, 1], [-1, 1, 1]])
    trained = train(Problem(np.ones((3, 1), dtype=int), codes, (), 1), time_limit=None)
    sm = trained.reports["sm"]
    assert sm.objective == sm.bound == 6
    for stage in ("mm", "mw"):
        assert not trained.reports[stage].ran
        assert trained.reports[stage].outcome is Outcome.NO_ROWS
        assert "no row is confidently right" in trained.reports[stage].message
    assert trained.network == sm.network


def test_all_zero_row_stops_max_margin_but_not_min_weight():
    data = np.array([[0, 0], [3, 1], [1, 3]])
    problem = Problem(data, np.array([[1], [1], [-1]]), (2,), 1)
    reports = train(problem, time_limit=None).reports
    assert reports["sm"].objective == 3
    assert not reports["mm"].ran
    assert reports["mm"].outcome is Outcome.INFEASIBLE
    assert "no network satisfies" in reports["mm"].message
    assert reports["mm"].network == reports["sm"].network
    # As in SM+MW: fewest links with every row classified right.
    assert reports["mw"].objective == reports["mw"].bound
    assert reports["mw"].objective == train(problem, ("sm", "mw"), time_limit=None).reports["mw"].objective


def test_a_gap_holds_for_every_stage_and_none_is_the_usual_one_of_each(monkeypatch):
    gaps: dict[str, float] = {}
    honest = monolithic.run

    def watched(stage, problem, *, limits, **kwargs):
        gaps[stage] = limits.gap
        return honest(stage, problem, limits=limits, **kwargs)

    monkeypatch.setattr(monolithic, "run", watched)
    for gap, expected in ((0.5, [0.5, 0.5, 0.5]), (None, [0.0, 0.01, 0.1])):
        train(images(), engine="monolithic", time_limit=2.0, gap=gap)
        assert gaps == dict(zip(("sm", "mm", "mw"), expected, strict=True))


def test_unused_time_rolls_over(monkeypatch, looks):
    given_seconds, spent = {}, {}
    honest = monolithic.run

    def watched(stage, problem, *, limits, **kwargs):
        given_seconds[stage], spent[stage] = limits.seconds, clock.now() - began
        return honest(stage, problem, limits=limits, **kwargs)

    monkeypatch.setattr(monolithic, "run", watched)
    began = clock.now()
    train(images(), engine="monolithic", time_limit=(500.0, 200.0, 100.0))
    # A stage gets all budgets up to its own, less what has been spent.
    for stage, total in (("sm", 500.0), ("mm", 700.0), ("mw", 800.0)):
        assert given_seconds[stage] == pytest.approx(total - spent[stage], abs=5)


def test_time_limit_is_kept(looks):
    began = clock.now()
    train(images(per_class=10, features=64, hidden=(4, 4)), time_limit=100.0)
    assert clock.now() - began < 200


def test_one_time_limit_is_shared_out():
    assert share_time(16.0, ("sm", "mm", "mw")) == [7.5, 7.5, 1.0]
    assert share_time(8.5, ("sm", "mw")) == [7.5, 1.0]
    assert share_time((1, 2), ("sm", "mm")) == [1.0, 2.0]
    assert share_time(None, ("sm",)) == [None]


@pytest.mark.parametrize("limit", [0, -1, "fast", True, (1, 0, 1), (1, 1), float("nan"), float("inf")])
def test_bad_time_limits_are_refused(limit):
    with pytest.raises(ValueError, match="time_limit"):
        share_time(limit, ("sm", "mm", "mw"))


@pytest.mark.parametrize("stages", [(), ("mm", "sm"), ("sm", "sm"), ("sm", "xx"), "sm", None])
def test_bad_stage_lists_are_refused(stages):
    with pytest.raises(ValueError, match="stage"):
        check_stages(stages)


def test_a_parameter_that_no_stage_reads_is_refused():
    with pytest.raises(TypeError, match="unknown parameter 'D'; stages read: C, hinges, max_links, mw_loss"):
        train(images(), D=1.0)


def test_reports_say_why_a_stage_ended():
    problem = images()
    outcomes = {stage: report.outcome for stage, report in train(problem, time_limit=None).reports.items()}
    assert outcomes["sm"] is Outcome.OPTIMAL
    late = untrained(problem, ("sm", "mm"), 0.0)
    assert [report.outcome for report in late.reports.values()] == [Outcome.NO_TIME] * 2
    assert [report.message for report in late.reports.values()] == [Outcome.NO_TIME.sentence] * 2


def test_unknown_engine_is_refused():
    with pytest.raises(ValueError, match="unknown engine 'quantum'; known: decomposition, monolithic"):
        engines.get("quantum")


def test_node_limit_makes_training_deterministic():
    problem = images(per_class=6, features=20, hidden=(3,))
    first, second = (train(problem, time_limit=None, limits=Limits(nodes=5)) for _ in range(2))
    assert first.network == second.network
    assert [r.bound for r in first.reports.values()] == [r.bound for r in second.reports.values()]


@given(tiny_problems())
def test_initial_network_fits_the_architecture(problem):
    network = initial_network(problem)
    assert isinstance(network, Network)
    assert network.layers == problem.layers
    assert not network.weights[0][np.setdiff1d(np.arange(problem.layers[0]), problem.live)].any()


def test_two_outputs_are_carried_by_both_halves_of_the_layers():
    rng = np.random.default_rng(1)
    data = rng.integers(0, 10, (8, 30))
    codes = np.tile([[1, 1], [1, -1], [-1, 1], [-1, -1]], (2, 1))
    problem = Problem(data, codes, (5, 3), 2)
    assert get("sm").value(problem, initial_network(problem)) == 16


def test_stage_says_what_stopped_it(looks):
    report = train(images(per_class=10, features=64, hidden=(4, 4)), ("sm", "mm"), time_limit=30.0).reports["mm"]
    assert report.outcome is Outcome.LIMIT
    assert report.message == "stopped at a time or node limit"
    assert report.bound >= report.objective
