"""Many networks: what there is to train, who trains it, and what is finished already."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sklearn.utils.parallel import Parallel, delayed

from bemi import solvers
from bemi.journal import Journal
from bemi.lazy import Variants, train_lazily
from bemi.problem import Problem
from bemi.programs.program import Limits
from bemi.training import Training, train


@dataclass(frozen=True, eq=False)
class Task:
    """One network to train: all arguments of :func:`bemi.training.train`, and variants of the rows, if any."""

    problem: Problem
    stages: tuple[str, ...]
    engine: str
    solver: str
    time_limit: float | tuple[float, ...] | None
    limits: Limits
    C: float = 10.0
    mw_loss: float = 0.01
    variants: Variants | None = None

    def run(self) -> Training:
        settings: dict[str, Any] = {
            "engine": self.engine,
            "solver": self.solver,
            "time_limit": self.time_limit,
            "limits": self.limits,
            "C": self.C,
            "mw_loss": self.mw_loss,
        }
        if self.variants is None:
            return train(self.problem, self.stages, **settings)
        return train_lazily(self.problem, self.variants, self.stages, **settings)

    def key(self) -> str:
        """A digest of all that decides the result: data, parameters, and the versions of bemi and the solver."""
        settings = {
            "versions": _versions(self.solver),
            "solver": self.solver,
            "engine": self.engine,
            "stages": self.stages,
            "time_limit": self.time_limit,
            "limits": asdict(self.limits),
            "soft": [self.C, self.mw_loss] if "ml2" in self.stages else None,
            "layers": self.problem.layers,
            "weight_bound": self.problem.weight_bound,
        }
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
        arrays: list[NDArray[Any]] = [self.problem.data, self.problem.codes]
        if self.variants is not None:
            arrays += [self.variants.data, self.variants.codes]
        for array in arrays:
            digest.update(np.array(array.shape, dtype="<i8").tobytes())
            digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return digest.hexdigest()[:40]


@cache
def _versions(solver: str) -> tuple[str, str]:
    return version("bemi"), solvers.get(solver).version()


def run(
    tasks: Sequence[Task], *, n_jobs: int | None = None, journal: Journal | None = None
) -> Iterator[tuple[int, Training]]:
    """Train all networks and hand out ``(position in tasks, training)`` as they finish.

    Parameters
    ----------
    tasks
        What to train.
    n_jobs
        Networks trained at the same time, as in scikit-learn.
    journal
        Where finished networks are kept.  Those that it holds already come first and are not trained again; every new
        one is written before it is handed out.
    """
    keys = [task.key() for task in tasks] if journal else []
    missing = []
    for index in range(len(tasks)):
        known = journal.read(keys[index]) if journal else None
        if known is None:
            missing.append(index)
        else:
            yield index, known
    done = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(_run_one)(index, tasks[index]) for index in missing
    )
    for index, training in done:
        if journal:
            journal.write(keys[index], training)
        yield index, training


def _run_one(index: int, task: Task) -> tuple[int, Training]:
    return index, task.run()


class Progression(Protocol):
    """Tell the display that one more network is there."""

    def __call__(self, training: Training, text: str = "") -> None: ...


@contextmanager
def progress(total: int, *, show: bool) -> Iterator[Progression]:
    """A bar on standard error with networks done, time left and the mean Max-Margin gap so far."""
    columns: tuple[Any, ...] = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    gaps: list[float] = []
    with Progress(*columns, console=Console(stderr=True), disable=not show) as display:
        bar = display.add_task("", total=total)

        def advance(training: Training, text: str = "") -> None:
            report = training.reports.get("mm")
            if report is not None and report.ran:
                gaps.append(report.gap)
            parts = [text] if text else []
            parts += [f"mean margin gap {np.mean(gaps):.2%}"] if gaps else []
            display.update(bar, advance=1, description=", ".join(parts))

        yield advance
