"""Sat-Margin by decomposition: patterns, prices and local search; the solver continues on small programs."""

from __future__ import annotations

from dataclasses import replace

from bemi.engines import monolithic
from bemi.engines.decomposition.max_margin import few_splits, majority
from bemi.engines.decomposition.sat_margin import alternation, patterns, prices
from bemi.engines.decomposition.sat_margin import annealing as walk
from bemi.limits import Deadline, Limits
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.stages.result import Outcome, StageResult
from bemi.stages.stage import Stage

SEARCHED_COLUMNS = 300
"""Smaller programs are left to the solver."""

SOLVED_COLUMNS, WALK_SHARE = 1000, 0.9
"""Beyond this size a solver hardly improves on the local search, which then gets most of the time."""

LARGEST_COLUMNS = 3000
"""Programs up to this size are handed to a solver if a local search leaves some outputs not confident."""

PRICES_SHARE, ALTERNATION_SHARE, PAIRS_SHARE = 0.3, 0.8, 0.3
"""Parts of the remaining time for prices of rows, then for replacing one neuron after the other, and then for finding
rows that two neurons can separate."""

MOST_PAIRS = 5
"""Networks that are looked at for that."""

SHORT_WALK = 300_000
"""Steps of the local search after that, if Max-Margin has a start already; it hardly ever finds more."""

ALTERNATIONS = 3
"""How often neurons are replaced, each time from the best network, until Max-Margin has a start."""


def run(stage: Stage, problem: Problem, *, start: Network, limits: Limits, solver: str, columns: int) -> StageResult:
    """Solved at once if the first network gets every output right; otherwise local search, then the solver.

    With several outputs, patterns for the codes come first: they often reach the bound that the last layer sets.  On a
    large program the solver would not improve the bound, so it is not called.  ``columns`` is the program's size.
    """
    clock = limits.deadline()
    shown = patterns.best_patterns(problem, start, seconds=limits.seconds, deadline=clock.share(WALK_SHARE))
    if shown.optimal:
        return shown.report(stage.name, problem, clock)
    network, priced = shown.network, None
    if columns > SEARCHED_COLUMNS:
        share = WALK_SHARE if columns > SOLVED_COLUMNS else 0.5
        network, priced = _searched(stage, problem, network, limits, clock, share, shown.bound)
    if columns > (SOLVED_COLUMNS if priced is not None else LARGEST_COLUMNS):
        reason = "is the number of outputs" if shown.certificate is None else "is what the last layer allows"
        value = stage.value(problem, network)
        optimal = value == shown.bound
        report = StageResult.of(
            *(stage.name, problem, network, value, shown.bound),
            clock=clock,
            proof="certified",
            outcome=Outcome.OPTIMAL if optimal else Outcome.LOCAL,
            message="" if optimal else f"stopped after a local search; the bound {reason}",
            certificate=shown.certificate,
        )
    else:
        report = monolithic.run(stage.name, problem, start=network, limits=limits.until(clock), solver=solver)
        report = shown.tightened(report)
    return replace(_with_prices(report, priced, limits), seconds=clock.elapsed)


def _searched(
    stage: Stage, problem: Problem, start: Network, limits: Limits, clock: Deadline, share: float, most: int
) -> tuple[Network, prices.PricedBound | None]:
    """A better network by local search, and a bound by prices of rows where all neurons can be searched."""
    priced, ready = None, False
    if prices.applicable(problem):
        priced, start, ready = _priced(problem, start, limits, clock)
    proposals = walk.proposals_within(limits)
    if ready:
        proposals = min(proposals, SHORT_WALK)
    walked = walk.most_confident(
        problem, start, proposals=proposals, seed=limits.seed, deadline=clock.share(share), most=most
    )
    if priced is not None:
        replaced, *_ = alternation.alternated(problem, walked, restarts=1, seed=limits.seed, deadline=clock)
        # The walk prefers networks without sums of 0, from which Max-Margin can start.
        if stage.better(stage.value(problem, replaced), stage.value(problem, walked)):
            walked = replaced
    if ready and not stage.better(stage.value(problem, walked), stage.value(problem, start)):
        return start, priced
    return walked, priced


def _priced(
    problem: Problem, start: Network, limits: Limits, clock: Deadline
) -> tuple[prices.PricedBound | None, Network, bool]:
    """A bound by prices of rows, and a better network, if all neurons can be searched.

    The last value tells whether Max-Margin has a start on the network's rows.  If not, the search goes on for a while:
    other networks may be confident on as many rows.
    """
    priced = prices.priced_bound(problem, start, clock.share(PRICES_SHARE))
    if priced is None:
        return None, start, False
    restarts = alternation.restarts_within(limits)
    deadline = clock.share(ALTERNATION_SHARE)
    network = start
    for seed in range(limits.seed, limits.seed + ALTERNATIONS):
        found = alternation.alternated(problem, network, restarts=restarts, seed=seed, deadline=deadline)
        network, ready = _for_max_margin(problem, found, limits, clock)
        if ready or deadline.passed or not few_splits.applicable(problem):
            break
    return priced, network, ready


def _for_max_margin(problem: Problem, found: list[Network], limits: Limits, clock: Deadline) -> tuple[Network, bool]:
    """The network whose rows suit Max-Margin best, and whether it has a start on them.

    Two neurons that separate the rows have much larger margins than three of which two are right.
    """
    startable: list[tuple[Network, Problem]] = []
    others: list[tuple[Network, Problem]] = []
    for network in found:
        seen = problem.rows(problem.confident_rows(network))
        if clock.passed or len(startable) == MOST_PAIRS or not len(seen.data) or not few_splits.applicable(seen):
            break
        begun = majority.majority(seen, network, first_found=True, seed=limits.seed, deadline=clock)
        (others if begun is None else startable).append((network, seen))
    deadline = clock.share(PAIRS_SHARE)
    for network, seen in [*startable, *others][:MOST_PAIRS]:
        if deadline.passed:
            break
        if few_splits.two_splits(seen, deadline, limits.seed).network is not None:
            return network, True
    return (startable[0][0], True) if startable else (found[0], False)


def _with_prices(report: StageResult, priced: prices.PricedBound | None, limits: Limits) -> StageResult:
    """The report with the bound by prices, if that is lower."""
    if priced is None or report.bound is None or report.objective is None or priced.bound >= report.bound:
        return report
    outcome = Outcome.of(report.objective, priced.bound, limits.gap, report.outcome)
    message = "" if outcome.successful else "stopped after a local search; the bound is by prices of rows"
    return replace(
        report, bound=priced.bound, proof="certified", certificate=priced.proof, outcome=outcome, message=message
    )
