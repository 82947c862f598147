"""What the classifier's parameters and data may be."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bemi import engines, solvers
from bemi.problem.problem import check_hidden_layers, check_weight_bound
from bemi.training.pipeline import check_stages, share_time

TIES = ("margin", "abstain")


def check_parameters(given: Mapping[str, Any]) -> None:
    """Refuse a parameter of the classifier that cannot be meant."""
    check_hidden_layers(given["hidden_layers"])
    check_weight_bound(given["weight_bound"])
    share_time(given["time_limit"], check_stages(given["stages"]))
    if "ml2" in given["stages"] and len(given["hidden_layers"]):
        raise ValueError("stage 'ml2' is for networks without a hidden layer; use hidden_layers=()")
    transform = given["transform"]
    if transform is not None and not hasattr(transform, "transform"):
        raise ValueError(f"transform must be None or a transformer such as IntegerHog(), got {transform!r}")
    if given["scenarios"] is not None and not hasattr(given["scenarios"], "variants"):
        raise ValueError(f"scenarios must be None or an object such as ImageScenarios(), got {given['scenarios']!r}")
    if not _is_number(given["C"]) or not 0 < given["C"] < np.inf:
        raise ValueError(f"C must be a positive number, got {given['C']!r}")
    if not _is_number(given["mw_loss"]) or not 0 <= given["mw_loss"] < np.inf:
        raise ValueError(f"mw_loss must be a number of at least 0, got {given['mw_loss']!r}")
    engines.get(given["engine"])
    if solvers.integers_only(given["solver"]) and "ml2" in given["stages"]:
        raise ValueError(
            f"solver {given['solver']!r} takes programs of integers only, and those of stage 'ml2' are not; "
            "use solver='highs', 'gurobi' or 'scip'"
        )
    jobs = given["n_jobs"]
    if jobs is not None and (not _is_integer(jobs) or jobs == 0):
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {jobs!r}")
    if given["run_dir"] is not None and not isinstance(given["run_dir"], str | os.PathLike):
        raise ValueError(f"run_dir must be None or a folder, got {given['run_dir']!r}")
    check_seconds("total_time_limit", given["total_time_limit"])
    check_node_limit(given["node_limit"])
    if not _is_number(given["gap"]) or not 0 <= given["gap"] < np.inf:
        raise ValueError(f"gap must be a number of at least 0, got {given['gap']!r}")
    if given["ties"] not in TIES:
        raise ValueError(f"ties must be one of {', '.join(TIES)}, got {given['ties']!r}")
    if not _is_integer(given["subset_size"], at_least=2):
        raise ValueError(f"subset_size must be an integer of at least 2, got {given['subset_size']!r}")
    if given["max_per_class"] is not None and not _is_integer(given["max_per_class"], at_least=1):
        raise ValueError(f"max_per_class must be None or an integer of at least 1, got {given['max_per_class']!r}")
    known = given["subsets"] is None or isinstance(given["subsets"], (tuple, list, np.ndarray))
    if not known and not _is_integer(given["subsets"], at_least=1):
        raise ValueError(f"subsets must be None, a number or a list of tuples of labels, got {given['subsets']!r}")


def check_seconds(name: str, limit: Any) -> None:
    if limit is not None and (not _is_number(limit) or not 0 < limit < np.inf):
        raise ValueError(f"{name} must be None or positive seconds, got {limit!r}")


def check_node_limit(node_limit: Any) -> None:
    if node_limit is not None and not _is_integer(node_limit, at_least=1):
        raise ValueError(f"node_limit must be None or an integer of at least 1, got {node_limit!r}")


def _is_integer(value: Any, *, at_least: float = -np.inf) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= at_least)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def check_finite(X: Any, names: Iterable[str] | None) -> None:
    """Refuse NaN and infinity by naming the first cell that holds one."""
    # A number that is not finite makes the sum so.  Finite ones may too, by their size: the second look tells.
    if X.dtype.kind in "iub" or np.isfinite(X.sum(dtype=np.float64)):
        return
    bad = ~np.isfinite(X)
    if not bad.any():
        return
    row, column = np.argwhere(bad)[0]
    name = column if names is None else repr(list(names)[column])
    kind = "NaN" if np.isnan(X[row, column]) else "infinity (inf)"
    raise ValueError(
        f"X contains {kind} at row {row}, column {name} ({bad.sum()} such cells in all); remove or impute them"
    )
