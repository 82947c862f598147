"""The lexicographic pipeline: Sat-Margin, Max-Margin, Min-Weight, each starting from the network before."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from bemi import engines
from bemi.engines.resolution import settle
from bemi.engines.start import initial_network
from bemi.network import Network
from bemi.problem.problem import SOFT_STAGES, STAGES, Keep, Problem
from bemi.programs.limits import Limits
from bemi.stages.result import StageResult

TIME_SHARES = {"sm": 75, "mm": 75, "ml2": 75, "mw": 10}
"""How one time limit is shared out over the stages that are run; the paper's proportions in Experiment 2."""

NO_TIME = "no time was left for it"
"""Message of a stage that was not begun."""

STAGE_LISTS = (STAGES, SOFT_STAGES)
"""The longest lists of stages; every other list is a part of one of them, and soft margins come first in theirs."""


@dataclass(frozen=True, eq=False)
class Training:
    """A trained network and the report of each stage, by stage name.

    Attributes
    ----------
    network, reports
        The network after the last stage, and what each stage says.
    added
        Positions of the variants that were trained on beside the given rows, see :mod:`bemi.training.variants`.
    rounds
        How often the stages were run.
    violated
        How many variants the network violates without having been trained on them.
    """

    network: Network
    reports: Mapping[str, StageResult]
    added: tuple[int, ...] = ()
    rounds: int = 1
    violated: int = 0


def check_stages(stages: Any) -> tuple[str, ...]:
    """Stage names as a tuple, or an error that says what is wrong with them."""
    if isinstance(stages, str) or not isinstance(stages, (tuple, list)):
        raise ValueError(f"stages must be a tuple such as ('sm', 'mm', 'mw'), got {stages!r}")
    unknown = [stage for stage in stages if stage not in tuple(TIME_SHARES)]
    if unknown:
        raise ValueError(f"unknown stage {unknown[0]!r}; known: {', '.join(TIME_SHARES)}")
    for longest in STAGE_LISTS:
        if stages and list(stages) == [stage for stage in longest if stage in stages]:
            return tuple(stages)
    raise ValueError(
        f"stages must be some of {', '.join(STAGES)}, or ml2, or ml2 and mw, each at most once and in this order, "
        f"got {stages!r}"
    )


def share_time(time_limit: Any, stages: Sequence[str]) -> list[float | None]:
    """Seconds for each stage: one number is shared out, a sequence gives one per stage, None is no limit."""
    if time_limit is None:
        return [None] * len(stages)
    many = isinstance(time_limit, (tuple, list, np.ndarray))
    given = list(time_limit) if many else [time_limit]
    if any(isinstance(s, bool) or not isinstance(s, (int, float, np.number)) or not 0 < s < math.inf for s in given):
        raise ValueError(f"time_limit must be positive seconds, one number or one per stage, got {time_limit!r}")
    if many:
        if len(given) != len(stages):
            raise ValueError(f"time_limit has {len(given)} numbers for {len(stages)} stages")
        return [float(s) for s in given]
    total = sum(TIME_SHARES[stage] for stage in stages)
    return [float(time_limit) * TIME_SHARES[stage] / total for stage in stages]


def untrained(problem: Problem, stages: Sequence[str], seconds: float) -> Training:
    """The network that a training would start from, found in about so many seconds; no stage is run."""
    began = time.perf_counter()
    network = initial_network(problem, seconds)
    reports: dict[str, StageResult] = {}
    for stage in stages:
        taken = 0.0 if reports else time.perf_counter() - began
        reports[stage] = StageResult(
            stage, network, None, None, taken, "none", network.links, len(problem.data), NO_TIME
        )
    return Training(network, reports)


def train(
    problem: Problem,
    stages: Sequence[str] = STAGES,
    *,
    engine: str = "decomposition",
    solver: str = "highs",
    time_limit: float | Sequence[float] | None = 10.0,
    limits: Limits | None = None,
    C: float = 10.0,
    mw_loss: float = 0.01,
) -> Training:
    """Train one network.

    Time that a stage does not use is added to the next one's.  Max-Margin and Min-Weight see only T-hat, the rows that
    Sat-Margin's network gets confidently right (all rows where Sat-Margin is not among the stages).  A stage that
    cannot run says so in its report and leaves the network as it was; a network always comes back.

    Parameters
    ----------
    problem
        Data, codes, layers and weight bound.
    stages
        Some of ``("sm", "mm", "mw")``, or, for networks without a hidden layer, ``("ml2",)`` or ``("ml2", "mw")``.
    engine, solver
        Who runs a stage, and which backend solves its programs.
    time_limit
        Seconds: one number for all stages, or one per stage, or None.
    limits
        Node limit, gap, threads and seed; its seconds are ignored.
    C
        Price of a missing margin in ``"ml2"``.
    mw_loss
        By which share ``"mw"`` may raise the objective of ``"ml2"``.
    """
    stages = check_stages(stages)
    budgets = share_time(time_limit, stages)
    limits = limits or Limits()
    if stages[0] == "ml2" and problem.hidden_layers:
        raise ValueError("stage 'ml2' is for networks without a hidden layer; use hidden_layers=()")
    runner = engines.get(engine)
    runner.prepare()
    began = time.perf_counter()
    deadline: float | None = began
    if stages[0] == "ml2":
        soft, network = settle(problem, C)
        problem = replace(problem, soft=soft)
    else:
        network = initial_network(problem, budgets[0])
    first = time.perf_counter() - began
    reports: dict[str, StageResult] = {}
    seen = problem
    keep: Keep = None
    for stage, budget in zip(stages, budgets, strict=True):
        deadline = None if budget is None or deadline is None else deadline + budget
        seconds = None if deadline is None else max(0.0, deadline - time.perf_counter())
        if not len(seen.data):
            reason = "no row is confidently right, so there is nothing to train on"
            reports[stage] = StageResult(stage, network, None, None, 0.0, "none", network.links, 0, reason)
            continue
        # The gap is about margins and links; Sat-Margin's count is always wanted exactly.
        stage_limits = replace(limits, seconds=seconds, gap=0.0 if stage == "sm" else limits.gap)
        report = runner.run(stage, seen, start=network, keep=keep, limits=stage_limits, solver=solver)
        # What the first network cost belongs to the first stage.
        reports[stage] = report if reports else replace(report, seconds=report.seconds + first)
        assert report.network is not None
        network = report.network
        if stage == "sm":
            seen = problem.rows(problem.confident_rows(network))
        elif stage == "mm" and report.ran:
            keep = network.margins(seen.data, seen.codes)
        elif stage == "ml2":
            keep = (1 + Fraction(mw_loss)) * problem.soft_value(network)
    return Training(network, reports)
