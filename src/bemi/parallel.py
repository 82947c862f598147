"""Many networks: what there is to train, who trains it, and what is finished already."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi import solvers, workers
from bemi.journal import Journal
from bemi.lazy import Variants, shortfall, train_lazily
from bemi.problem import Problem
from bemi.programs.program import Limits
from bemi.training import Training, train, untrained

LEAST_SECONDS = 0.01
"""Training that has less than this is not begun."""


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
    total_time_limit: float | None = None

    def run(self, seconds: float | None = None) -> Training:
        """Train; ``seconds`` may make the time limit shorter.

        Stages have things to do that take longer than ``LEAST_SECONDS`` however short their limit, so where less is
        left there is only the network to start from.  Soft margins cost little more than that.
        """
        if seconds is not None and seconds < LEAST_SECONDS and "ml2" not in self.stages:
            training = untrained(self.problem, self.stages, max(0.0, seconds))
            violated = 0 if self.variants is None else int((shortfall(training, self.variants) > 0).sum())
            return replace(training, violated=violated)
        settings: dict[str, Any] = {
            "engine": self.engine,
            "solver": self.solver,
            "time_limit": _shortened(self.time_limit, None if seconds is None else max(LEAST_SECONDS, seconds)),
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
            # Only where it is given, so that files of runs without it keep their names.
            **({} if self.total_time_limit is None else {"total_time_limit": self.total_time_limit}),
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


def _shortened(time_limit: float | tuple[float, ...] | None, seconds: float | None) -> float | tuple[float, ...] | None:
    """A time limit that is no longer than so many seconds in all, the shares of the stages being kept."""
    if seconds is None or time_limit is None:
        return seconds if time_limit is None else time_limit
    whole = sum(time_limit) if isinstance(time_limit, tuple) else time_limit
    share = min(1.0, seconds / whole)
    return tuple(share * s for s in time_limit) if isinstance(time_limit, tuple) else share * time_limit


@dataclass(frozen=True)
class Failure:
    """In place of a training: all workers that had the network died."""


def run(
    tasks: Sequence[Task], *, n_jobs: int | None = None, journal: Journal | None = None
) -> Iterator[tuple[int, Training | Failure, bool]]:
    """Train all networks and hand out ``(position in tasks, training, was in the journal)`` as they finish.

    With a ``total_time_limit`` in the tasks, every network gets its part of what is left of it when it starts.

    Parameters
    ----------
    tasks
        What to train; a task is made when it is asked for, if the sequence does so.
    n_jobs
        Networks trained at the same time, as in scikit-learn.
    journal
        Where finished networks are kept.  Those that it holds already come first and are not trained again; every new
        one is written before it is handed out.
    """
    began = time.perf_counter()
    keys: dict[int, str] = {}
    missing = []
    for index in range(len(tasks)):
        known = None
        if journal:
            keys[index] = tasks[index].key()
            known = journal.read(keys[index])
        if known is None:
            missing.append(index)
        else:
            yield index, known, True

    def arguments(index: int, to_come: int, at_once: int) -> tuple[Task, float | None]:
        task = tasks[index]
        if task.total_time_limit is None:
            return task, None
        left = task.total_time_limit - (time.perf_counter() - began)
        return task, left / math.ceil(to_come / at_once)

    for index, training in workers.results(_trained, arguments, missing, n_jobs):
        if isinstance(training, workers.Lost):
            yield index, Failure(), False
            continue
        if journal:
            journal.write(keys[index], training)
        yield index, training, False


def _trained(task: Task, seconds: float | None) -> Training:
    return task.run(seconds)


def check_shard(shard: int, shards: int) -> None:
    """Refuse a part that there is not."""
    if not (isinstance(shard, int) and isinstance(shards, int)) or not 1 <= shard <= shards:
        raise ValueError(f"shard must be in 1..{max(shards, 1)}, got {shard} of {shards}")


class NetworksFailed(RuntimeError):
    """Some networks could not be trained: all workers that had them died, for want of memory perhaps."""

    def __init__(self, failed: Sequence[tuple], folder: Path) -> None:
        names = ", ".join("/".join(map(str, key)) for key in failed)
        super().__init__(
            f"the workers that trained {names} died {workers.ATTEMPTS} times; all other networks are kept: fitting "
            f"again with run_dir={str(folder)!r} trains only what is missing (fewer jobs need less memory)"
        )
        self.failed = list(failed)
        self.folder = folder


def kept(tasks: Sequence[Task], trainings: Mapping[int, Training], journal: Journal | None) -> Path:
    """The folder that holds all finished networks; without a journal they are written to a new one."""
    if journal is None:
        journal = Journal(tempfile.mkdtemp(prefix="bemi-"))
        for index, training in trainings.items():
            journal.write(tasks[index].key(), training)
    return journal.folder
