"""Train the networks of a plan: finished ones are read, the others are trained and written; a progress bar."""

from __future__ import annotations

import gzip
import json
import math
import tempfile
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bemi.checks import check_integer
from bemi.files import write_atomically
from bemi.limits import Deadline
from bemi.running.calls import results
from bemi.running.pools import ATTEMPTS, ClusterLost, Items, Lost
from bemi.stages.registry import get
from bemi.stages.result import Outcome, StageResult, flat_weights, network_of, stage_claim, stage_result
from bemi.training.pipeline import Training
from bemi.training.plan import Task

FORMAT = 2

_LAZY = ("added", "rounds", "violated")
"""Fields of a training with variants; a file without variants has none of them."""


class Journal:
    """A folder of finished trainings.

    A file appears under its name only when it is complete, so all files are intact even after an interrupt or a crash.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise ValueError(f"the run folder {folder} cannot be created: a file of that name exists") from None

    def path(self, key: str) -> Path:
        return self.folder / f"{key}.json.gz"

    def read(self, key: str) -> Training | None:
        """The training with this key; None if it is missing, or damaged, which gives a warning."""
        path = self.path(key)
        try:
            record = json.loads(gzip.decompress(path.read_bytes()))
            if record["key"] != key or record["format"] != FORMAT:
                raise ValueError("the file belongs to another task")
            return _training(record)
        except FileNotFoundError:
            return None
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, IndexError, ArithmeticError) as error:
            warnings.warn(f"{path} is damaged and will be replaced: {error}", RuntimeWarning, stacklevel=2)
            return None

    def write(self, key: str, training: Training) -> None:
        record = {
            "format": FORMAT,
            "key": key,
            "layers": training.network.layers,
            "weight_bound": training.network.weight_bound,
            "weights": flat_weights(training.network),
            "stages": [_complete(report) for report in training.reports.values()],
        }
        if training.added or training.rounds > 1 or training.violated:
            record["lazy"] = {name: getattr(training, name) for name in _LAZY}
        content = json.dumps(record, separators=(",", ":"), allow_nan=False).encode()
        write_atomically({self.path(key): gzip.compress(content, compresslevel=6, mtime=0)})


def _complete(report: StageResult) -> dict[str, Any]:
    return stage_claim(report) | {"seconds": report.seconds}


def _training(record: dict[str, Any]) -> Training:
    network = partial(network_of, record["layers"], record["weight_bound"])
    reports = {
        claim["stage"]: stage_result(claim, network(claim["weights"]), claim["seconds"], claim["certificate"])
        for claim in record["stages"]
    }
    lazy = record.get("lazy", {})
    if lazy:
        lazy = {name: lazy[name] for name in _LAZY} | {"added": tuple(lazy["added"])}
    return Training(network(record["weights"]), reports, **lazy)


def run(
    tasks: Items, *, n_jobs: int | None = None, journal: Journal | None = None
) -> Iterator[tuple[int, Training | Lost, bool]]:
    """Train all networks and yield ``(position in tasks, training, was in the journal)`` as they finish.

    With a ``total_time_limit`` in the tasks, every network gets an equal part of the time left when it starts.

    Parameters
    ----------
    tasks
        What to train.
    n_jobs
        Networks trained at the same time, as in scikit-learn.
    journal
        Where finished networks are stored.  Networks that it already holds come first and are not trained again; every
        new one is written before it is yielded, unless the budget left no time to train it.
    """
    clock = Deadline()
    keys: dict[int, str] = {}
    missing = []
    for index in range(len(tasks)):
        known = None
        if journal:
            keys[index] = tasks[index].key()
            known = journal.read(keys[index])
            if known is not None and _is_untrained(known):
                known = None
        if known is None:
            missing.append(index)
        else:
            yield index, known, True

    limit = tasks[0].total_time_limit if missing else None

    def arguments(index: int, to_come: int, at_once: int) -> tuple[float | None]:
        return (None if limit is None else (limit - clock.elapsed) / math.ceil(to_come / at_once),)

    for index, training in results(_trained, arguments, missing, n_jobs, tasks):
        if journal and not isinstance(training, Lost) and not _is_untrained(training):
            journal.write(keys[index], training)
        yield index, training, False


def _is_untrained(training: Training) -> bool:
    """Whether a budget left no time for any stage: the next run trains this network."""
    return all(report.outcome is Outcome.NO_TIME for report in training.reports.values())


def _trained(task: Task, seconds: float | None) -> Training:
    return task.run(seconds)


def train_all(
    tasks: Items,
    *,
    names: Sequence[tuple],
    n_jobs: int | None = None,
    run_dir: str | Path | None = None,
    show: bool = False,
) -> tuple[list[Training], int]:
    """All networks in the order of their tasks, and how many of them were already finished.

    If it ends early, no finished network is lost: the error names a folder that holds all of them.

    Parameters
    ----------
    tasks, names
        What to train, and the name of each network in error messages.
    n_jobs
        Networks trained at the same time, as in scikit-learn.
    run_dir
        Folder of the journal, or None.
    show
        Whether to show a progress bar.
    """
    journal = None if run_dir is None else Journal(run_dir)
    trainings: dict[int, Training] = {}
    lost = []
    reused = 0
    try:
        with progress(len(tasks), show=show) as advance:
            for index, training, known in run(tasks, n_jobs=n_jobs, journal=journal):
                if isinstance(training, Lost):
                    lost.append(names[index])
                    continue
                trainings[index] = training.compacted()
                reused += known
                advance(training, f"{reused} reused" if reused else "")
    except ClusterLost as error:
        folder = save_finished(tasks, trainings, journal)
        raise ClusterLost(
            f"{error}; {len(trainings)} of {len(tasks)} networks are finished and saved: fitting again with "
            f"run_dir={str(folder)!r} trains only what is missing"
        ) from error
    if lost:
        raise NetworksFailed(lost, save_finished(tasks, trainings, journal))
    return [trainings[index] for index in range(len(tasks))], reused


def save_finished(tasks: Items, trainings: Mapping[int, Training], journal: Journal | None) -> Path:
    """The folder that holds all finished networks; without a journal, a new one they are written to."""
    if journal is None:
        journal = Journal(tempfile.mkdtemp(prefix="bemi-"))
        for index, training in trainings.items():
            journal.write(tasks[index].key(), training)
    return journal.folder


class NetworksFailed(RuntimeError):
    """Some networks could not be trained: all workers that had them died, possibly out of memory."""

    def __init__(self, failed: Sequence[tuple], folder: Path) -> None:
        names = ", ".join("/".join(map(str, key)) for key in failed)
        super().__init__(
            f"the workers that trained {names} died {ATTEMPTS} times; all other networks are saved: fitting "
            f"again with run_dir={str(folder)!r} trains only what is missing (fewer jobs need less memory)"
        )
        self.failed = list(failed)
        self.folder = folder


def finished(tasks: Items, run_dir: str | Path) -> list[Training] | None:
    """All networks in the order of their tasks, if the journal has them; None if one is missing."""
    journal, found = Journal(run_dir), []
    for index in range(len(tasks)):
        training = journal.read(tasks[index].key())
        if training is None or _is_untrained(training):
            return None
        found.append(training.compacted())
    return found


def check_shard(shard: int, shards: int) -> None:
    """Raise unless ``1 <= shard <= shards``."""
    check_integer("shards", shards, 1)
    check_integer("shard", shard, 1, shards)


class Progression(Protocol):
    """Tell the display that one more item, such as a network, is done."""

    def __call__(self, training: Training | None, text: str = "") -> None: ...


@contextmanager
def progress(total: int | None, *, show: bool, what: str = "training") -> Iterator[Progression]:
    """A bar on standard error: networks done, time left and the mean margin gap so far.

    Without a total it says only what is being done, and that it goes on.
    """
    # Imported here: worker processes load this module and show no progress.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns: tuple[Any, ...] = (
        TextColumn(what),
        BarColumn(),
        *(() if total is None else (MofNCompleteColumn(), TimeRemainingColumn())),
        TextColumn("{task.description}"),
    )
    gaps: list[float] = []
    # In notebooks, too, as text: widgets would need a package of their own.
    console = Console(stderr=True, force_jupyter=False)
    with Progress(*columns, console=console, disable=not show) as display:
        bar = display.add_task("", total=total)

        def advance(training: Training | None, text: str = "") -> None:
            reports = {} if training is None else training.reports
            gaps.extend(report.gap for name, report in reports.items() if get(name).shows_gap and report.ran)
            parts = [text] if text else []
            parts += [f"mean margin gap {np.mean(gaps):.2%}"] if gaps else []
            display.update(bar, advance=1, description=", ".join(parts))

        yield advance
