"""The lexicographic pipeline: stages in order, each starting from the network of the previous one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi import engines
from bemi.checks import is_list
from bemi.engines.start import OWN_STARTS, Beginning, first_network, initial_network
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network, confidence_threshold
from bemi.problem.problem import Problem
from bemi.settings import SETTINGS
from bemi.stages.registry import PAPER_STAGES, Handover, Parameters, check_stages, every_parameter, get, parameters_read
from bemi.stages.result import Outcome, StageResult, compacted


@dataclass(frozen=True, eq=False)
class Training:
    """A trained network and the report of each stage, by stage name.

    Attributes
    ----------
    network, reports
        The network after the last stage, and the report of each stage.
    added
        Positions of the variants used in addition to the given rows, see :mod:`bemi.training.pipeline`.
    rounds
        How many times the stages were run.
    violated
        Number of variants that the network violates and was not trained on.
    """

    network: Network
    reports: Mapping[str, StageResult]
    added: tuple[int, ...] = ()
    rounds: int = 1
    violated: int = 0

    def compacted(self) -> Training:
        """The same training in less memory."""
        return replace(self, reports={stage: compacted(report) for stage, report in self.reports.items()})


def share_time(time_limit: Any, stages: Sequence[str]) -> list[float | None]:
    """Seconds for each stage: one number is divided among them, a sequence gives one per stage, None is no limit."""
    if time_limit is None:
        return [None] * len(stages)
    SETTINGS["time_limit"].values.check("time_limit", time_limit)
    if is_list(time_limit):
        if len(time_limit) != len(stages):
            raise ValueError(f"time_limit has {len(time_limit)} numbers for {len(stages)} stages")
        return [float(seconds) for seconds in time_limit]
    shares = [get(name).time_share for name in stages]
    return [float(time_limit) * share / sum(shares) for share in shares]


def stage_parameters(stages: Sequence[str], given: Parameters) -> dict[str, Any]:
    """The parameters that the stages read, with defaults for those not given."""
    return {name: given.get(name, SETTINGS[name].default) for name in parameters_read(stages)}


def check_names(parameters: Parameters) -> None:
    """Raise TypeError for a parameter that no stage reads."""
    known = every_parameter()
    unknown = sorted(parameters.keys() - known)
    if unknown:
        raise TypeError(f"unknown parameter {unknown[0]!r}; stages read: {', '.join(sorted(known))}")


def untrained(problem: Problem, stages: Sequence[str], seconds: float) -> Training:
    """The network that training would start from, found within about this many seconds; no stage is run."""
    clock = Deadline()
    network = initial_network(problem, seconds)
    reports: dict[str, StageResult] = {}
    for stage in stages:
        reports[stage] = StageResult.unchanged(stage, problem, network, clock=clock, outcome=Outcome.NO_TIME)
        clock = Deadline()
    return Training(network, reports)


def train(
    problem: Problem,
    stages: Sequence[str] = PAPER_STAGES,
    *,
    engine: str = "decomposition",
    solver: str = "highs",
    time_limit: float | Sequence[float] | None = 10.0,
    gap: float | None = 0.0,
    limits: Limits | None = None,
    begun: Beginning | None = None,
    **parameters: Any,
) -> Training:
    """Train one network.

    Time that a stage does not use is added to the next one's.  :mod:`bemi.stages.registry` defines what a stage passes
    to the next: rows, and what must be preserved.  A stage that cannot run says so in its report and leaves the network
    unchanged; a network is always returned.

    Parameters
    ----------
    problem
        Data, codes, layers and weight bound.
    stages
        Names of stages that may follow each other.
    engine, solver
        The engine that runs the stages, and the MILP solver that it uses.
    time_limit
        Seconds: one number for all stages, or one per stage, or None.
    gap
        Relative gap within which every stage stops; None is the usual one of each.
    limits
        Node limit, threads and seed; its seconds and gap are ignored.
    begun
        What the first stage starts from, if that is known.
    parameters
        Parameters that the stages read, by name; those of stages that are not run are ignored.
    """
    stages = check_stages(stages, problem.hidden_layers)
    budgets = share_time(time_limit, stages)
    limits = limits or Limits()
    check_names(parameters)
    values = stage_parameters(stages, parameters)
    runner = engines.get(engine)
    deadline = Deadline.after(0.0)
    if stages[0] not in OWN_STARTS:
        problem = replace(problem, data=problem.data.astype(np.int64))
    problem, network = begun or first_network(stages[0], problem, values, budgets[0])
    before_first = deadline.elapsed
    reports: dict[str, StageResult] = {}
    seen = Handover(problem)
    for stage, budget in zip(map(get, stages), budgets, strict=True):
        deadline = deadline.later(budget)
        if not len(seen.problem.data):
            reports[stage.name] = StageResult.unchanged(
                stage.name, seen.problem, network, clock=Deadline(), outcome=Outcome.NO_ROWS
            )
            continue
        stage_limits = replace(limits.until(deadline), gap=stage.usual_gap if gap is None else gap)
        report = runner.run(stage.name, seen.problem, start=network, keep=seen.keep, limits=stage_limits, solver=solver)
        # Time spent on the first network counts towards the first stage.
        reports[stage.name] = report if reports else replace(report, seconds=report.seconds + before_first)
        assert report.network is not None
        network = report.network
        if stage.name != stages[-1]:
            seen = stage.handover(seen, report, values)
    return Training(network, reports)


MOST_ROUNDS = 10
"""Maximum rounds per network; most need three to five."""


@dataclass(frozen=True, eq=False)
class Variants:
    """Rows that training may add, their codes, and their weights if the given rows have weights."""

    data: NDArray[np.integer]
    codes: Integers
    row_weights: Integers | None = None

    def appended_to(self, problem: Problem, taken: NDArray[np.bool_]) -> Problem:
        """The problem with some of these rows after its own."""
        data = np.concatenate([problem.data, self.data[taken]])
        codes = np.concatenate([problem.codes, self.codes[taken]])
        weights = problem.row_weights
        if weights is not None and self.row_weights is not None:
            weights = np.concatenate([weights, self.row_weights[taken]])
        return replace(problem, data=data, codes=codes, row_weights=weights)


def train_lazily(problem: Problem, variants: Variants, stages: tuple[str, ...], **settings: Any) -> Training:
    """Train one network as :func:`bemi.training.pipeline.train` does, adding the variants that it violates.

    A round adds at most as many variants as there are given rows, the worst first.  Every round has the full time
    limit, but none begins once that much time has passed in total.

    Parameters
    ----------
    problem
        The given rows.
    variants
        Rows that may be added.
    stages, **settings
        As in :func:`bemi.training.pipeline.train`.
    """
    limit = settings.get("time_limit")
    deadline = Deadline.after(None if limit is None else float(np.sum(limit)))
    taken = np.zeros(len(variants.data), dtype=bool)
    begun = _take_from_first_networks(problem, variants, stages, settings, taken)
    for rounds in range(1, MOST_ROUNDS + 1):
        chosen = variants.appended_to(problem, taken) if begun is None else begun.problem
        training, begun = train(chosen, stages, begun=begun, **settings), None
        missing = shortfall(training, variants)
        last = rounds == MOST_ROUNDS or deadline.passed
        trained = taken.copy()
        violated = take_worst(taken, missing, len(problem.data))
        if last or not violated:
            break
    added = tuple(np.flatnonzero(trained).tolist())
    return replace(training, added=added, rounds=rounds, violated=violated)


def _take_from_first_networks(
    problem: Problem, variants: Variants, stages: tuple[str, ...], settings: Mapping[str, Any], taken: NDArray[np.bool_]
) -> Beginning | None:
    """Mark variants that the start network violates, if the first stage has its own way to begin.

    This is cheap compared to training, and finds most of the variants that matter.  Returns the start with them if it
    violates no others.
    """
    first = get(stages[0])
    if stages[0] not in OWN_STARTS or first.shortfall is None:
        return None
    parameters = stage_parameters(stages, settings)
    for _ in range(MOST_ROUNDS):
        begun = first_network(stages[0], variants.appended_to(problem, taken), parameters)
        missing = first.shortfall(begun.network, begun.problem.soft, variants.data, variants.codes)
        if not take_worst(taken, missing, len(problem.data)):
            return begun
        del begun  # its rows should not be in memory beside the next ones
    return None


def take_worst(taken: NDArray[np.bool_], missing: NDArray[np.float64], most: int) -> int:
    """Mark at most ``most`` violated variants that are not in yet, worst first; returns how many such there are."""
    violated = np.flatnonzero((missing > 0) & ~taken)
    taken[violated[np.argsort(-missing[violated], kind="stable")[:most]]] = True
    return len(violated)


def shortfall(training: Training, variants: Variants) -> NDArray[np.float64]:
    """By how much the constraint of each variant is violated, 0 where it holds.

    Whether it holds is decided in exact integers; the amount only ranks the variants.
    """
    for name, report in training.reports.items():
        stage = get(name)
        if stage.shortfall is not None:
            assert report.network is not None
            return stage.shortfall(report.network, report.soft, variants.data, variants.codes)
    network = training.network
    threshold = confidence_threshold(network.layers, network.weight_bound)
    reached = network.pre_activations(variants.data)[-1] * variants.codes
    return np.maximum(0, threshold - reached).max(axis=1, initial=0).astype(np.float64)
