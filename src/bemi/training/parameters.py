"""Validation of the classifier's parameters."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bemi import engines, solvers
from bemi.checks import check_choice, check_integer, check_number, check_seconds, is_integer
from bemi.ensemble.ties import TIES
from bemi.problem.problem import check_hidden_layers, check_weight_bound
from bemi.stages.registry import check_stages, get
from bemi.training.pipeline import share_time


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
