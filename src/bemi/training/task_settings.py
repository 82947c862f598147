"""What the settings of an estimator mean for its tasks, and what a fitted ensemble records of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state

from bemi import solvers
from bemi.checks import is_integer, is_list
from bemi.limits import Limits
from bemi.settings import RECORDED, SETTINGS
from bemi.stages.registry import get, parameters_read

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
