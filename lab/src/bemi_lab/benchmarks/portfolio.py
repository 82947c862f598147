"""What each strategy of the decomposition contributes, on the families of ``bemi-lab bench exact``.

``python -m bemi_lab.benchmarks.portfolio --cells "Heart" --seconds 5 --networks 2`` trains some networks of the cells
whose name holds the text.  For every strategy the table says how often it ran, in how many seconds, how often it
improved the network or the bound, and how often the stage was settled with it.  ``--switch-off`` trains each network
again without each strategy that ran, and says what the objectives, bounds and seconds of the stages become.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bemi.engines.portfolio import Contribution, observed
from bemi.limits import Limits
from bemi.problem.problem import Problem
from bemi.stages.registry import PAPER_STAGES, get
from bemi.stages.result import StageResult
from bemi.training.pipeline import train
from bemi_lab.benchmarks.gaps import FAMILIES
from bemi_lab.experiments.table import markdown

Key = tuple[str, str]
"""A stage and a strategy."""


@dataclass(frozen=True)
class Run:
    """One training: where, the contributions in order, and the stages' reports."""

    cell: str
    network: str
    contributions: Sequence[Contribution]
    reports: dict[str, StageResult]


def problems(cells: str, seed: int, networks: int) -> Iterator[tuple[str, str, Problem]]:
    """Cell, name and problem of some networks of each chosen cell, evenly spread."""
    for cell in FAMILIES:
        if cells in cell.name:
            known = list(cell.problems(seed))
            for name, problem in known[:: max(1, len(known) // networks)][:networks]:
                yield cell.name, name, problem


def trained(
    cell: str, network: str, problem: Problem, seconds: float, gap: float, without: Collection[str] = ()
) -> Run:
    """Train a network, leaving some strategies out."""
    with observed(without) as contributions:
        training = train(problem, PAPER_STAGES, time_limit=seconds, limits=Limits(gap=gap))
    return Run(cell, network, contributions, dict(training.reports))


def contributed(runs: Sequence[Run]) -> str:
    """A table of what each strategy did."""
    by_strategy: dict[Key, list[Contribution]] = defaultdict(list)
    for run in runs:
        for contribution in run.contributions:
            by_strategy[contribution.stage, contribution.strategy].append(contribution)
    rows = []
    for (stage, strategy), entries in sorted(by_strategy.items(), key=lambda item: PAPER_STAGES.index(item[0][0])):
        closed = [c for c in entries if np.isfinite(c.gap_before) and np.isfinite(c.gap_after)]
        rows.append(
            (
                *(stage, strategy, str(len(entries)), f"{np.mean([c.seconds for c in entries]):.2f}"),
                *(str(sum(c.network_improved for c in entries)), str(sum(c.bound_improved for c in entries))),
                f"{100 * np.mean([c.gap_before - c.gap_after for c in closed]):.2f}" if closed else "-",
                str(sum(c.gap_after == 0 < c.gap_before for c in entries)),
            )
        )
    headings = ("stage", "strategy", "ran", "mean s", "better network", "better bound", "gap closed, points", "proved")
    return markdown(headings, rows)


def switched_off(again: Sequence[tuple[Key, Run, Run]]) -> str:
    """A table of what becomes of the stages without each strategy: better, equal and worse objectives and bounds."""
    rows = []
    for key in dict.fromkeys(key for key, _, _ in again):
        stage = get(key[0])
        pairs = [(a.reports[key[0]], b.reports[key[0]]) for k, a, b in again if k == key]
        ran = [(a, b) for a, b in pairs if a.ran and b.ran]
        values = [stage.better(a.objective, b.objective) - stage.better(b.objective, a.objective) for a, b in ran]
        # The tighter of two bounds is the one that the other beats.
        bounds = [stage.better(b.bound, a.bound) - stage.better(a.bound, b.bound) for a, b in ran]
        rows.append(
            (
                *(*key, str(len(pairs)), str(sum(a.ran and not b.ran for a, b in pairs))),
                f"{values.count(1)} / {values.count(-1)}",
                f"{bounds.count(1)} / {bounds.count(-1)}",
                f"{np.mean([b.seconds - a.seconds for a, b in pairs]):+.2f}",
            )
        )
    headings = (
        *("stage", "without", "networks", "no network", "worse / better objective", "looser / tighter bound"),
        "mean s more",
    )
    return markdown(headings, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", default="", help="cells whose name holds this text")
    parser.add_argument("--networks", type=int, default=3, help="networks of each cell")
    parser.add_argument("--seconds", type=float, default=10.0, help="for the three stages of a network")
    parser.add_argument("--gap", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--switch-off", action="store_true", help="train again without each strategy that ran")
    options = parser.parse_args()
    runs, again = [], []
    for cell, name, problem in problems(options.cells, options.seed, options.networks):
        run = trained(cell, name, problem, options.seconds, options.gap)
        runs.append(run)
        print(f"{cell}, {name}: " + ", ".join(f"{s} {r.gap:.2%}" for s, r in run.reports.items()), flush=True)
        for stage, strategy in dict.fromkeys((c.stage, c.strategy) for c in run.contributions):
            if options.switch_off:
                other = trained(cell, name, problem, options.seconds, options.gap, {strategy})
                again.append(((stage, strategy), run, other))
    print("\n" + contributed(runs))
    if again:
        print("\n" + switched_off(again))


if __name__ == "__main__":
    main()
