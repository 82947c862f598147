"""Validation of the classifier's parameters."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bemi import engines, solvers
from bemi.checks import check_choice, check_integer, check_number, check_seconds, is_integer
from bemi.ensemble.ties import TIES
from bemi.problem.problem import check_hidden_layers, check_weight_bound
from bemi.problem.soft_margin import check_soft_parameters
from bemi.stages.registry import SOFT_STAGES, STAGES, check_stages, every_parameter, get, parameters_read
from bemi.training.pipeline import share_time
from bemi.training.row_weights import Weights, check_class_weight


def check_parameters(given: Mapping[str, Any]) -> None:
    """Raise ValueError for the first invalid parameter of the classifier."""
    check_hidden_layers(given["hidden_layers"])
    check_weight_bound(given["weight_bound"])
    stages = check_stages(given["stages"], given["hidden_layers"])
    share_time(given["time_limit"], stages)
    transform = given["transform"]
    if transform is not None and not hasattr(transform, "transform"):
        raise ValueError(f"transform must be None or a transformer such as IntegerHog(), got {transform!r}")
    if given["scenarios"] is not None and not hasattr(given["scenarios"], "variants"):
        raise ValueError(f"scenarios must be None or an object such as ImageScenarios(), got {given['scenarios']!r}")
    check_number("C", given["C"], positive=True)
    check_number("mw_loss", given["mw_loss"])
    check_soft_parameters(given["hinges"], given["max_links"])
    check_monotone(given["monotone"])
    check_class_weight(given["class_weight"])
    check_promises(given, stages)
    engines.get(given["engine"])
    check_solver(given["solver"], stages)
    jobs = given["n_jobs"]
    if jobs is not None and (not is_integer(jobs) or jobs == 0):
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {jobs!r}")
    if given["run_dir"] is not None and not isinstance(given["run_dir"], str | os.PathLike):
        raise ValueError(f"run_dir must be None or a folder, got {given['run_dir']!r}")
    check_seconds("total_time_limit", given["total_time_limit"])
    check_integer("node_limit", given["node_limit"], 1, optional=True)
    check_number("gap", given["gap"])
    check_choice("ties", given["ties"], TIES)
    check_integer("subset_size", given["subset_size"], 2)
    check_integer("max_per_class", given["max_per_class"], 1, optional=True)
    listed = given["subsets"] is None or isinstance(given["subsets"], (tuple, list, np.ndarray))
    if not listed and not is_integer(given["subsets"], 1):
        raise ValueError(f"subsets must be None, a number or a list of tuples of labels, got {given['subsets']!r}")
    check_probabilities(given, stages)


def check_probabilities(given: Mapping[str, Any], stages: Sequence[str]) -> None:
    """Raise ValueError if probabilities are asked for from networks that cannot give them."""
    if not isinstance(given["probabilities"], bool | np.bool_):
        raise ValueError(f"probabilities must be True or False, got {given['probabilities']!r}")
    if not given["probabilities"]:
        return
    if not get(stages[0]).gives_chances:
        able = " or ".join(repr(stage.name) for stage in STAGES.values() if stage.gives_chances)
        raise ValueError(
            f"probabilities=True needs networks without a hidden layer and stages that begin with {able}, "
            f"got stages={tuple(stages)!r}"
        )
    if given["subset_size"] != 2 or given["subsets"] is not None:
        raise ValueError(
            "probabilities=True needs a network for every pair of classes; use subset_size=2 and subsets=None"
        )


def check_monotone(monotone: Any) -> None:
    """Raise ValueError unless this is None or a direction, -1 or 1, for each of some features."""
    if monotone is None:
        return
    if not isinstance(monotone, Mapping):
        raise ValueError(f"monotone must be None or directions by feature, such as {{'age': 1}}, got {monotone!r}")
    for feature, direction in monotone.items():
        if not isinstance(feature, str) and not is_integer(feature, 0):
            raise ValueError(f"monotone must have names or positions of features, got {feature!r}")
        if not is_integer(direction, -1, 1) or direction == 0:
            raise ValueError(f"monotone must be 1 or -1 for feature {feature!r}, got {direction!r}")


PROMISES = {"hinges": 1, "max_links": None, "monotone": None, "class_weight": None}
"""Parameters that say what a network must be, and what they are if they ask for nothing.

No network may be without what was asked for, so stages that cannot give it are refused.
"""


def check_promises(given: Mapping[str, Any], stages: Sequence[str]) -> None:
    """Raise ValueError for a parameter that has no meaning for these stages and asks for something."""
    for name, nothing in PROMISES.items():
        if given[name] != nothing and not get(stages[0]).weighs_rows:
            raise ValueError(f"{name} needs {_soft_stages()}; it has no meaning for stages={tuple(stages)!r}")
    if given["monotone"] is not None and given["subset_size"] != 2:
        raise ValueError("monotone is for networks on two classes; use subset_size=2")


def _soft_stages() -> str:
    return f"stages={SOFT_STAGES!r} and hidden_layers=()"


def usable_weights(weights: Weights, stages: Sequence[str]) -> Weights | None:
    """Weights of the rows for these stages; ValueError if they differ and the stages count rows.

    If all rows count the same, counting them is not affected by how much that is.
    """
    if get(stages[0]).weighs_rows:
        return weights
    if (weights != weights[0]).any():
        raise ValueError(
            f"sample_weight needs {_soft_stages()}; stages={tuple(stages)!r} count rows, whatever their weight"
        )
    return None


def without_effect(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """Parameters that were set to something else than their default and have no effect with the given stages."""
    stages = tuple(given["stages"])
    unread = every_parameter().keys() - parameters_read(stages).keys()
    if not any(get(stage).uses_gap for stage in stages):
        unread |= {"gap"}
    return [name for name in defaults if name in unread and given[name] != defaults[name]]


def check_solver(solver: str, stages: Iterable[str]) -> None:
    """Raise ValueError unless the solver can solve the programs of all stages."""
    if not solvers.integers_only(solver):
        return
    for stage in map(get, stages):
        if not stage.whole_numbers:
            raise ValueError(
                f"solver {solver!r} solves programs of integers only, and stage {stage.name!r} has continuous columns; "
                "use another solver, such as 'highs'"
            )
