"""The portfolio: one place that checks and keeps what strategies find, and one reason why a stage ended."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from bemi import Network
from bemi.engines import Finding, Strategy, decomposition, observed, portfolio
from bemi.engines.monolithic import stage_goal
from bemi.engines.portfolio import always
from bemi.limits import Limits
from bemi.problem import Problem
from bemi.stages import ClaimMismatch, Outcome

PROBLEM = Problem(np.array([[3, 1], [1, 4]]), np.array([[1], [-1]]), (2,), 1)
ZERO = Network((np.zeros((2, 2)), np.zeros((2, 1))), 1)
WEAK = Network((np.array([[1, 1], [-1, -1]]), np.array([[1], [0]])), 1)
GOOD = Network((np.array([[1, 1], [-1, 1]]), np.array([[1], [0]])), 1)
VALUES = {"weak": 2 + 2 + 1, "good": 2 + 4 + 1}
GOAL = stage_goal("mm", PROBLEM)


def finds(*findings):
    """What the stage reports if its strategies find these."""
    strategies = [Strategy(f"s{k}", 1.0, always, lambda *_, f=f: f) for k, f in enumerate(findings)]
    return portfolio.run(GOAL, strategies, start=ZERO, limits=Limits())


def test_values_are_what_the_tests_take_them_for():
    assert GOAL.value(ZERO) is None
    assert {"weak": GOAL.value(WEAK), "good": GOAL.value(GOOD)} == VALUES


@pytest.mark.parametrize("order", [(WEAK, GOOD), (GOOD, WEAK)])
def test_the_better_network_and_the_better_bound_stay(order):
    proofs = {20: {"a": 1}, 15: {"b": 2}}
    for bounds in [(20, 15), (15, 20)]:
        report = finds(*(Finding(n, bound=b, proof=proofs[b]) for n, b in zip(order, bounds, strict=True)))
        assert report.network == GOOD
        assert (report.objective, report.bound, report.certificate) == (VALUES["good"], 15, proofs[15])


def test_of_equal_networks_the_last_and_of_equal_bounds_the_certified_one_stays():
    flipped = Network((-GOOD.weights[0], -GOOD.weights[1]), 1)
    report = finds(Finding(GOOD, bound=9, support="solver"), Finding(flipped, bound=9, proof={"a": 1}))
    assert report.network == flipped
    assert (report.proof, report.certificate) == ("certified", {"a": 1})
    report = finds(Finding(GOOD, bound=9, proof={"a": 1}), Finding(bound=9, proof={"b": 1}), Finding(bound=10))
    assert report.certificate == {"a": 1}
    for supports in permutations(["solver", "computed", "certified"]):
        assert finds(*(Finding(GOOD, bound=9, support=s) for s in supports)).proof == "certified"
        assert finds(*(Finding(GOOD, bound=9, support=s) for s in supports if s != "certified")).proof == "computed"


@pytest.mark.parametrize(
    ("findings", "words"),
    [
        ([Finding(ZERO)], "s0 claims a network, but its weights give no feasible network"),
        ([Finding(WEAK, claimed=6)], "s0 claims 6, but its weights give 5"),
        ([Finding(WEAK, bound=4)], "beyond the s0's proven bound 4"),
        ([Finding(bound=6), Finding(GOOD)], "beyond the s0's proven bound 6"),
        ([Finding(GOOD), Finding(bound=6)], "beyond the s1's proven bound 6"),
        ([Finding(GOOD), Finding(outcome=Outcome.INFEASIBLE)], "s1 claims infeasibility"),
    ],
)
def test_a_false_claim_raises(findings, words):
    with pytest.raises(ClaimMismatch, match=words):
        finds(*findings)


def test_a_network_may_be_better_than_claimed():
    assert finds(Finding(GOOD, claimed=6)).objective == VALUES["good"]


def test_it_stops_where_network_and_bound_meet():
    never = Strategy("never", 1.0, always, lambda *_: pytest.fail("this strategy is not needed"))
    enough = Strategy("enough", 1.0, always, lambda *_: Finding(GOOD, bound=7, outcome=Outcome.LIMIT))
    report = portfolio.run(GOAL, (enough, never), start=ZERO, limits=Limits())
    assert (report.outcome, report.message) == (Outcome.OPTIMAL, "")
    near = Strategy("near", 1.0, always, lambda *_: Finding(GOOD, bound=8))
    report = portfolio.run(GOAL, (near, never), start=ZERO, limits=Limits(gap=0.2))
    assert report.outcome is Outcome.WITHIN_GAP
    none = Strategy("none", 1.0, always, lambda *_: Finding(outcome=Outcome.INFEASIBLE))
    report = portfolio.run(GOAL, (none, never), start=ZERO, limits=Limits())
    assert report.outcome is Outcome.INFEASIBLE
    assert report.network == ZERO


def test_the_last_strategy_that_says_why_it_ended_gives_the_reason():
    report = finds(Finding(GOOD, outcome=Outcome.LOCAL, message="words"), Finding(bound=9))
    assert (report.outcome, report.message) == (Outcome.LOCAL, "words")
    report = finds(Finding(GOOD, outcome=Outcome.LOCAL, message="words"), Finding(bound=9, outcome=Outcome.LIMIT))
    assert (report.outcome, report.message) == (Outcome.LIMIT, Outcome.LIMIT.sentence)
    report = finds(Finding())
    assert (report.outcome, report.objective, report.bound, report.proof) == (Outcome.NOT_FOUND, None, None, "none")


def test_without_a_bound_the_trivial_one_counts():
    report = finds(Finding(GOOD))
    assert (report.bound, report.proof, report.certificate) == (GOAL.trivial, "certified", None)
    report = finds(Finding(GOOD, bound=GOAL.trivial + 3, support="solver"))
    assert (report.bound, report.proof) == (GOAL.trivial, "certified")


def test_shares_are_of_the_time_left():
    seen = []
    strategies = [
        Strategy("a", share, always, lambda p, s, limits: seen.append(limits.seconds) or Finding())
        for share in (0.5, 0.2, 1.0)
    ]
    portfolio.run(GOAL, strategies, start=ZERO, limits=Limits(seconds=100.0))
    assert seen == pytest.approx([50, 20, 100], abs=1)


def test_a_start_that_the_stage_does_not_allow_is_where_the_next_strategy_begins():
    starts = []
    look = Strategy("look", 1.0, always, lambda p, state, _: starts.append((state.start, state.network)) or Finding())
    suggest = Strategy("suggest", 1.0, always, lambda *_: Finding(start=ZERO))
    portfolio.run(GOAL, (look, suggest, look), start=WEAK, limits=Limits())
    assert starts == [(WEAK, WEAK), (ZERO, WEAK)]


def test_strategies_are_switched_off_by_name():
    with observed(without={"two neurons", "lists", "dichotomies"}) as contributions:
        decomposition.run("mm", PROBLEM, start=WEAK, limits=Limits())
    assert [c.strategy for c in contributions] == ["solver"]
    (only,) = contributions
    assert only.network_improved
    assert only.bound_improved
    assert only.gap_before == np.inf
    assert only.gap_after == 0
    with observed() as contributions:
        report = decomposition.run("mm", PROBLEM, start=WEAK, limits=Limits())
    assert contributions[0].strategy == "two neurons"
    assert report.objective == report.bound


def test_programs_that_a_strategy_solves_are_its_own():
    """Switching the solver off does not take it away from the strategies that call it."""
    inner = Strategy(
        "inner",
        1.0,
        always,
        lambda p, _, limits: Finding(decomposition.run("mm", p, start=WEAK, limits=limits).network),
    )
    with observed(without={"two neurons", "lists", "dichotomies", "enumeration", "solver"}) as contributions:
        report = portfolio.run(GOAL, (inner,), start=ZERO, limits=Limits())
    assert [c.strategy for c in contributions] == ["inner"]
    assert report.objective > VALUES["weak"]


def test_a_short_round_comes_first():
    seen = []

    def strategy(name, share, short):
        def run(problem, state, limits):
            seen.append((name, state.short, round(limits.seconds)))
            return Finding()

        return Strategy(name, share, always, run, short)

    strategies = [strategy("both", 0.5, 0.1), strategy("late", 1.0, 0.0), strategy("early", 0.0, 0.2)]
    portfolio.run(GOAL, strategies, start=ZERO, limits=Limits(seconds=100.0))
    assert seen == [("both", True, 10), ("early", True, 20), ("both", False, 50), ("late", False, 100)]


def test_names_of_strategies_are_unique_but_for_variants_of_one():
    for stage, strategies in decomposition.RUNNERS.items():
        names = [strategy.name for strategy in strategies]
        assert names[-1] == "solver"
        assert len({(s.name, s.share) for s in strategies}) == len(names), stage
        assert all(s.share or s.short for s in strategies), stage
