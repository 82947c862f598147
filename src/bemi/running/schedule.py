"""Many networks: what there is to train, who trains it, and what is finished already."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bemi.running import workers
from bemi.running.journal import Journal
from bemi.training.pipeline import Training
from bemi.training.task import Task


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
