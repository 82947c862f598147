"""Single strategies of the decomposition, by name."""

from __future__ import annotations

from bemi import Network
from bemi.engines import portfolio
from bemi.engines.decomposition import RUNNERS
from bemi.engines.monolithic import stage_goal
from bemi.limits import Limits
from bemi.problem import KEEP_LABELS, Keep, Problem
from bemi.stages import StageResult


def run_only(
    stage: str, *names: str, problem: Problem, start: Network, keep: Keep = KEEP_LABELS, limits: Limits
) -> StageResult:
    """Run a stage with these of its strategies only."""
    strategies = [strategy for strategy in RUNNERS[stage] if strategy.name in names]
    assert {strategy.name for strategy in strategies} == set(names)
    return portfolio.run(stage_goal(stage, problem, keep), strategies, start=start, keep=keep, limits=limits)
