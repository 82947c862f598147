"""A stage as a portfolio of strategies: each improves the network or the bound, one place keeps the best of both.

A :class:`Strategy` is one way to search: it sees what is known so far, in a :class:`StageState`, and returns a
:class:`Finding`.  :func:`run` tries the strategies of a stage in order until network and bound meet.
:meth:`StageState.offer` is the only place that compares: it recomputes every network's objective from the weights in
exact integers, and raises :class:`~bemi.stages.result.ClaimMismatch` if a strategy claims too much.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import product
from typing import Any, get_args

from bemi.limits import Limits, now
from bemi.network import Network
from bemi.problem.problem import KEEP_LABELS, Keep, Objective, Problem
from bemi.programs.encoding import Goal
from bemi.stages.result import ClaimMismatch, Outcome, Proof, StageResult, relative_gap

LEAST_LEFT = 0.1
"""Part of the time limit that must be left for a stage to have ended early: solvers stop a little before theirs."""

_STRENGTH = get_args(Proof)


@dataclass(frozen=True, eq=False)
class Finding:
    """What a strategy found; all parts are optional.

    Attributes
    ----------
    network
        A network that the stage allows.  If it is as good as the best one so far, it takes its place.
    claimed
        What the strategy takes the network's objective to be; a worse network is a false claim.
    start
        A network for the next strategy to search from, if that is another one; the stage need not allow it.
    bound, proof
        A bound on every network's objective, and its proof for the certificate; None if none is needed.
    support
        What supports the bound, see :attr:`~bemi.stages.result.StageResult.proof`.
    outcome, message
        Why the strategy ended, if the stage should say so should it end here; without a message the outcome provides
        the text.  :attr:`~bemi.stages.result.Outcome.INFEASIBLE` means that there is no network at all.
    """

    network: Network | None = None
    claimed: Objective | None = None
    start: Network | None = None
    bound: Objective | None = None
    proof: dict[str, Any] | None = None
    support: Proof = "certified"
    outcome: Outcome | None = None
    message: str | None = None


@dataclass(frozen=True)
class Contribution:
    """What one strategy did: its seconds, and the gap before and after it."""

    stage: str
    strategy: str
    seconds: float
    network_improved: bool
    bound_improved: bool
    gap_before: float
    gap_after: float


@dataclass(frozen=True)
class Strategy:
    """One way to improve a stage's network or bound.

    Attributes
    ----------
    name
        By which it can be switched off.
    share
        Its share of the time that is left when its turn comes.
    applies
        Whether it can help with a problem, given what is known so far.
    run
        The search, within limits whose seconds are its share.
    short
        Its share in a short round before that, which leaves good networks and bounds to long searches.  A strategy
        takes part in the rounds in which it has a share.
    """

    name: str
    share: float
    applies: Callable[[Problem, StageState], bool]
    run: Callable[[Problem, StageState, Limits], Finding]
    short: float = 0.0


def always(problem: Problem, state: StageState) -> bool:
    """For strategies that help with every problem."""
    return True


class StageState:
    """What is known while a stage runs.

    Attributes
    ----------
    goal, keep, limits, solver
        What to reach, what the network must keep, the limits of the whole stage, and the name of the MILP solver.
    given, clock
        The network that the stage was given, and its clock.
    network, value
        The best network that the stage allows, and its objective; None if none is known.
    start
        Where to search from: the best network, or one that a strategy suggested instead.
    bound, support, proof
        The best bound, what supports it, and its proof.
    findings
        What each strategy that ran has found, by its name.
    short
        Whether this is the short round.
    """

    def __init__(self, goal: Goal, start: Network | None, keep: Keep, limits: Limits, solver: str) -> None:
        self.goal, self.keep, self.limits, self.solver = goal, keep, limits, solver
        self.clock = limits.deadline()
        self.given = self.start = start
        self.value = None if start is None else goal.value(start)
        self.network = None if self.value is None else start
        self.bound: Objective | None = None
        self.support: Proof = "certified"
        self.proof: dict[str, Any] | None = None
        self.findings: dict[str, Finding] = {}
        self.infeasible = self.short = False
        self.reason: tuple[Outcome, str] | None = None
        self._prover = ""

    @property
    def gap(self) -> float:
        """Relative distance between network and bound; infinite while one of them is missing."""
        if self.value is None or self.bound is None:
            return float("inf")
        return relative_gap(self.goal.in_report_units(self.value), self.goal.in_report_units(self.bound))

    @property
    def settled(self) -> bool:
        """Whether no more is asked for: the gap is closed, or there is no network."""
        return self.infeasible or self.gap <= self.limits.gap

    @property
    def out_of_time(self) -> bool:
        """Whether the time is up; without a network and a bound, every strategy still makes its least effort."""
        return self.clock.passed and self.value is not None and self.bound is not None

    def offer(self, strategy: str, finding: Finding) -> tuple[bool, bool]:
        """Check what a strategy found and keep what is better; returns whether network and bound improved.

        Raises
        ------
        ClaimMismatch
            If the network is not allowed or worse than claimed, or a network that is known contradicts the bound.
        """
        self.findings[strategy] = finding
        better_network = finding.network is not None and self._offer_network(strategy, finding)
        better_bound = finding.bound is not None and self._offer_bound(strategy, finding)
        if self.value is not None and self.bound is not None and self.goal.better(self.value, self.bound):
            raise ClaimMismatch(
                f"{self.goal.name}: a network has value {self.value}, beyond the {self._prover}'s proven bound "
                f"{self.bound}"
            )
        if finding.start is not None:
            self.start = finding.start
        if finding.outcome is not None:
            self.reason = finding.outcome, finding.outcome.sentence if finding.message is None else finding.message
        if finding.outcome is Outcome.INFEASIBLE:
            if self.value is not None:
                raise ClaimMismatch(
                    f"{self.goal.name}: the {strategy} claims infeasibility, but a feasible network with value "
                    f"{self.value} is known"
                )
            self.infeasible = True
        return better_network, better_bound

    def _offer_network(self, strategy: str, finding: Finding) -> bool:
        assert finding.network is not None
        value = self.goal.value(finding.network)
        if value is None or (finding.claimed is not None and self.goal.better(finding.claimed, value)):
            truth = "no feasible network" if value is None else value
            claimed = "a network" if finding.claimed is None else finding.claimed
            raise ClaimMismatch(f"{self.goal.name}: the {strategy} claims {claimed}, but its weights give {truth}")
        if self.goal.better(self.value, value):
            return False
        improved = self.goal.better(value, self.value)
        self.network = self.start = finding.network
        self.value = value
        return improved

    def _offer_bound(self, strategy: str, finding: Finding) -> bool:
        assert finding.bound is not None
        bound, support = finding.bound, finding.support
        if support != "certified" and not self.goal.better(self.goal.trivial, bound):
            bound, support = self.goal.trivial, "certified"  # no proof is needed for that
        tighter = self.bound is None or self.goal.better(self.bound, bound)
        stronger = _STRENGTH.index(support) > _STRENGTH.index(self.support)
        if tighter or (bound == self.bound and stronger):
            self.bound, self.support, self.proof, self._prover = bound, support, finding.proof, strategy
        return tighter

    def say_why_it_ended(self) -> None:
        """After the last strategy: if there was time left and none of them gave a reason, they have no more to try."""
        silent = self.reason in (None, (Outcome.LIMIT, Outcome.LIMIT.sentence))
        left = self.clock.left
        if silent and self.limits.nodes is None and left is not None and left > LEAST_LEFT * self.clock.length:
            self.reason = Outcome.LIMIT, "every search has ended; none can close the gap in the time that is left"

    def result(self) -> StageResult:
        """The report of the stage, with one reason why it ended."""
        goal, problem = self.goal, self.goal.problem
        if self.value is None:
            outcome, message = self.reason or (Outcome.NOT_FOUND, Outcome.NOT_FOUND.sentence)
            return StageResult.unchanged(
                goal.name, problem, self.given, clock=self.clock, outcome=outcome, message=message
            )
        outcome, message = self.reason or (Outcome.LIMIT, Outcome.LIMIT.sentence)
        bound = goal.trivial if self.bound is None else self.bound
        objective, bound = goal.in_report_units(self.value), goal.in_report_units(bound)
        outcome = Outcome.of(objective, bound, self.limits.gap, outcome)
        return StageResult.of(
            *(goal.name, problem, self.network, objective, bound),
            clock=self.clock,
            proof=self.support,
            outcome=outcome,
            message=None if outcome.successful else message,
            certificate=self.proof,
            soft=problem.soft if goal.rational else None,
        )


def run(
    goal: Goal,
    strategies: Sequence[Strategy],
    *,
    start: Network | None,
    keep: Keep = KEEP_LABELS,
    limits: Limits,
    solver: str = "highs",
) -> StageResult:
    """Try strategies in order until the gap is closed, infeasibility is proved, or the time is up.

    Parameters
    ----------
    goal, strategies
        What to reach, and how.
    start
        Network to start from, allowed or not; it is returned if no strategy finds one.
    keep
        What the network must preserve.
    limits, solver
        When to stop, and the name of the MILP solver.
    """
    state = StageState(goal, start, keep, limits, solver)
    observer = _OBSERVER.get()
    token = _OBSERVER.set(None)  # programs that a strategy solves on its way are part of it
    try:
        for state.short, strategy in product((True, False), strategies):
            share = strategy.short if state.short else strategy.share
            if not share or (observer is not None and strategy.name in observer.without):
                continue
            if not strategy.applies(goal.problem, state):
                continue
            began, gap = now(), state.gap
            finding = strategy.run(goal.problem, state, limits.until(state.clock.share(share)))
            improved = state.offer(strategy.name, finding)
            if observer is not None:
                seconds = now() - began
                observer.seen.append(Contribution(goal.name, strategy.name, seconds, *improved, gap, state.gap))
            if state.settled or state.out_of_time:
                break
        else:
            state.say_why_it_ended()
    finally:
        _OBSERVER.reset(token)
    return state.result()


@dataclass(frozen=True)
class _Observer:
    without: Collection[str]
    seen: list[Contribution]


_OBSERVER: ContextVar[_Observer | None] = ContextVar("observer", default=None)


@contextmanager
def observed(without: Collection[str] = ()) -> Iterator[list[Contribution]]:
    """Switch strategies off by name, and list what the others contribute, in the order in which they ran.

    Examples
    --------
    >>> with observed(without={"solver"}) as contributions:  # doctest: +SKIP
    ...     train(problem)
    """
    observer = _Observer(without, [])
    token = _OBSERVER.set(observer)
    try:
        yield observer.seen
    finally:
        _OBSERVER.reset(token)
