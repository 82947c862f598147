"""Objectives of a network on a problem, recomputed from its weights in exact integers, and simple bounds on them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from bemi.network import Network
from bemi.problem.problem import Problem

Objective = int | Fraction
"""An exact objective value."""


def confident_outputs(problem: Problem, network: Network) -> int:
    """Number of confidently right outputs."""
    return int(network.confident(problem.data, problem.codes).sum())


def confident_outputs_bound(problem: Problem) -> int:
    """Upper bound on the confidently right outputs of every network.

    Equal rows give equal outputs, so of each output on them only the more frequent sign can be right.
    """
    distinct, group = np.unique(problem.data, axis=0, return_inverse=True)
    balance = np.zeros((len(distinct), problem.codes.shape[1]), dtype=np.int64)
    np.add.at(balance, group.reshape(-1), problem.codes)
    return int((problem.codes.size + np.abs(balance).sum()) // 2)


def sum_of_margins(problem: Problem, network: Network) -> int | None:
    """Sum of the margins of all neurons, or None if one of them is below 1."""
    reached = network.margins(problem.data, problem.codes)
    return int(sum(m.sum() for m in reached)) if all((m >= 1).all() for m in reached) else None


def sum_of_margins_bound(problem: Problem) -> int:
    """Upper bound on the sum of margins of every network."""
    return sum(n * cap for n, cap in zip(problem.layers[1:], problem.margin_caps(), strict=True))


def better(value: Any, other: Any, *, maximised: bool) -> bool:
    """Whether one objective value beats another; None, an infeasible network, beats nothing."""
    if value is None or other is None:
        return value is not None
    return bool(value > other if maximised else value < other)
