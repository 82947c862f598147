"""One network to train: everything that determines the result, picklable, with a key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_random_state

from bemi import solvers
from bemi.checks import is_integer, is_list
from bemi.limits import Limits
from bemi.problem.problem import Problem
from bemi.settings import RECORDED, SETTINGS
from bemi.stages.registry import get, parameters_read
from bemi.training.pipeline import Training, stage_parameters, train, untrained
from bemi.training.variants import Variants, shortfall, train_lazily

LEAST_SECONDS = 0.01
"""Training does not begin with less time than this."""


@dataclass(frozen=True, eq=False)
class Task:
    """One network to train: all arguments of :func:`bemi.training.pipeline.train`, and variants of the rows, if any."""

    problem: Problem
    stages: tuple[str, ...]
    engine: str
    solver: str
    time_limit: float | tuple[float, ...] | None
    limits: Limits
    parameters: Mapping[str, Any] = field(default_factory=dict)
    variants: Variants | None = None
    total_time_limit: float | None = None

    def run(self, seconds: float | None = None) -> Training:
        """Train; ``seconds`` may shorten the time limit.

        A stage takes longer than ``LEAST_SECONDS`` however short its limit.  If less time is left, the result is the
        start network, unless a stage is quick.
        """
        if seconds is not None and seconds < LEAST_SECONDS and not any(get(stage).quick for stage in self.stages):
            training = untrained(self.problem, self.stages, max(0.0, seconds))
            violated = 0 if self.variants is None else int((shortfall(training, self.variants) > 0).sum())
            return replace(training, violated=violated)
        settings: dict[str, Any] = {
            "engine": self.engine,
            "solver": self.solver,
            "time_limit": shortened(self.time_limit, None if seconds is None else max(LEAST_SECONDS, seconds)),
            "limits": self.limits,
            **stage_parameters(self.stages, self.parameters),
        }
        if self.variants is None:
            return train(self.problem, self.stages, **settings)
        return train_lazily(self.problem, self.variants, self.stages, **settings)

    def key(self) -> str:
        """A digest of everything that determines the result: data, parameters, and versions of bemi and the solver."""
        settings = {
            "versions": _versions(self.solver),
            "solver": self.solver,
            "engine": self.engine,
            "stages": self.stages,
            "time_limit": self.time_limit,
            "limits": asdict(self.limits),
            "total_time_limit": self.total_time_limit,
            "parameters": stage_parameters(self.stages, self.parameters),
            "layers": self.problem.layers,
            "weight_bound": self.problem.weight_bound,
            "uncounted": self.problem.uncounted,
        }
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
        problem, variants = self.problem, self.variants
        arrays: list[NDArray[Any] | None] = [problem.data, problem.codes, problem.row_weights, problem.signs]
        arrays += [None] * 3 if variants is None else [variants.data, variants.codes, variants.row_weights]
        for array in arrays:
            # What is left out has no dimensions, unlike anything that is there.
            there: NDArray[Any] = np.array(0) if array is None else array
            digest.update(np.array([there.ndim, *there.shape], dtype="<i8").tobytes())
            digest.update(np.ascontiguousarray(there, dtype="<i8").tobytes())
        return digest.hexdigest()[:40]


@cache
def _versions(solver: str) -> tuple[str, str]:
    return version("bemi"), solvers.get(solver).version()


def shortened(time_limit: float | tuple[float, ...] | None, seconds: float | None) -> float | tuple[float, ...] | None:
    """A time limit of at most ``seconds`` in total, with the same shares for the stages."""
    if seconds is None or time_limit is None:
        return seconds if time_limit is None else time_limit
    whole = sum(time_limit) if isinstance(time_limit, tuple) else time_limit
    share = min(1.0, seconds / whole)
    return tuple(share * s for s in time_limit) if isinstance(time_limit, tuple) else share * time_limit


Settings = Mapping[str, Any]
"""All settings of training by name, see :mod:`bemi.settings`; nothing is left to choose."""


def seed_of(random_state: Any) -> int:
    """An integer seed; None means a fixed one."""
    seed: Any = 0 if random_state is None else random_state
    if not is_integer(seed):
        seed = check_random_state(seed).randint(2**31 - 1)
    return int(seed) % 2**31


def task_settings(chosen: Settings) -> dict[str, Any]:
    """Arguments of :class:`bemi.training.task.Task` that are the same for all networks."""
    seconds = chosen["time_limit"]
    if is_list(seconds):
        seconds = tuple(float(s) for s in seconds)
    total = chosen["total_time_limit"]
    return {
        "stages": tuple(chosen["stages"]),
        "engine": chosen["engine"],
        "solver": chosen["solver"],
        "time_limit": seconds,
        "limits": Limits(nodes=chosen["node_limit"], gap=float(chosen["gap"]), seed=seed_of(chosen["random_state"])),
        "parameters": {
            # Of the default's type, so that C=1 and C=1.0 are the same task.
            name: _plain(chosen[name]) if SETTINGS[name].default is None else type(SETTINGS[name].default)(chosen[name])
            for name in parameters_read(chosen["stages"])
        },
        "total_time_limit": None if total is None else float(total),
    }


def recorded(chosen: Settings) -> dict[str, Any]:
    """What a fitted ensemble records: the estimator's name, and the settings that are part of a model."""
    record = {name: chosen[name] for name in ("estimator", *RECORDED)}
    for name in ("hidden_layers", "stages"):
        record[name] = tuple(record[name])
    record["probabilities"] = bool(record["probabilities"])
    seed = record["random_state"]
    record["random_state"] = int(seed) if is_integer(seed) else None
    for name, value in record.items():
        if isinstance(value, Mapping):
            record[name] = {_plain(key): _plain(item) for key, item in value.items()}
    return record


def _plain(value: Any) -> Any:
    """A NumPy scalar as a Python one."""
    return value.item() if isinstance(value, np.generic) else value


def check_solver(solver: str, stages: Iterable[str]) -> None:
    """Raise ValueError unless the solver can solve the programs of all stages."""
    if not solvers.integers_only(solver):
        return
    for stage in map(get, stages):
        if not stage.whole_numbers:
            raise ValueError(
                f"solver {solver!r} solves programs of integers only, and stage {stage.name!r} has continuous columns; "
                f"use another solver, such as {SETTINGS['solver'].default!r}"
            )
