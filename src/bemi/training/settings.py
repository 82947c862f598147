"""What a classifier's parameters mean for its tasks, and what a fitted ensemble records of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state

from bemi.checks import is_integer
from bemi.ensemble.ensemble import RECORDED
from bemi.limits import Limits
from bemi.stages.registry import parameters_read

Given = Mapping[str, Any]
"""Parameters of a classifier by name."""


def seed_of(random_state: Any) -> int:
    """An integer seed; None means a fixed one."""
    seed: Any = 0 if random_state is None else random_state
    if not is_integer(seed):
        seed = check_random_state(seed).randint(2**31 - 1)
    return int(seed) % 2**31


def task_settings(given: Given) -> dict[str, Any]:
    """Arguments of :class:`bemi.training.task.Task` that are the same for all networks."""
    seconds = given["time_limit"]
    if isinstance(seconds, Sequence | np.ndarray):
        seconds = tuple(float(s) for s in seconds)
    total = given["total_time_limit"]
    return {
        "stages": tuple(given["stages"]),
        "engine": given["engine"],
        "solver": given["solver"],
        "time_limit": seconds,
        "limits": Limits(nodes=given["node_limit"], gap=float(given["gap"]), seed=seed_of(given["random_state"])),
        "parameters": {
            # Of the default's type, so that C=1 and C=1.0 are the same task.
            name: _plain(given[name]) if default is None else type(default)(given[name])
            for name, default in parameters_read(given["stages"]).items()
        },
        "total_time_limit": None if total is None else float(total),
    }


def recorded(given: Given) -> dict[str, Any]:
    """The parameters that a fitted ensemble records."""
    found = {name: given[name] for name in RECORDED}
    for name in ("hidden_layers", "stages"):
        found[name] = tuple(found[name])
    found["probabilities"] = bool(found["probabilities"])
    seed = found["random_state"]
    found["random_state"] = int(seed) if is_integer(seed) else None
    for name in ("monotone", "class_weight"):
        if isinstance(found[name], Mapping):
            found[name] = {_plain(key): _plain(value) for key, value in found[name].items()}
    return found


def _plain(value: Any) -> Any:
    """A NumPy scalar as a Python one."""
    return value.item() if isinstance(value, np.generic) else value
