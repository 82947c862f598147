"""The network that the first stage starts from, found without search."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bemi import solvers
from bemi.exact import Integers, exact_product
from bemi.limits import Deadline, Limits
from bemi.network import Network, sign
from bemi.problem.problem import Problem
from bemi.programs.program import Builder

_SOFT_MARGINS = (0.1, 0.5)
"""Margins tried if no hyperplane separates, in units of P times the median length of a row."""


class Beginning(NamedTuple):
    """The input of the first stage, and the network that it starts from."""

    problem: Problem
    network: Network


def _rounded_svm(problem: Problem, parameters: Mapping[str, Any]) -> Beginning:
    """The continuous support vector machine, rounded at a suitable resolution, which the problem then has."""
    from bemi.engines.decomposition.soft.resolution import choose_resolution

    soft, network = choose_resolution(problem, parameters["C"], parameters["hinges"], parameters["max_links"])
    return Beginning(replace(problem, soft=soft), network)


OWN_STARTS: dict[str, Callable[[Problem, Mapping[str, Any]], Beginning]] = {"soft": _rounded_svm}
"""Stages with a first network of their own; the others start from separating neurons."""


def first_network(
    stage: str, problem: Problem, parameters: Mapping[str, Any], seconds: float | None = None
) -> Beginning:
    """What a first stage starts from; it takes about as many seconds at most, if there is a limit."""
    if stage in OWN_STARTS:
        return OWN_STARTS[stage](problem, parameters)
    return Beginning(problem, initial_network(problem, seconds))


def initial_network(problem: Problem, seconds: float | None = None) -> Network:
    """A network whose first-layer neurons separate the output bits as well as one neuron each can, copied upwards.

    If every bit has an integer separator and the layers are wide enough to carry the bits (always with one output, and
    with two outputs if every hidden layer has two neurons), every output is confidently right.

    Parameters
    ----------
    problem
        Data, codes, layers and weight bound.
    seconds
        Time after which it returns what it has; few-shot problems need milliseconds.
    """
    outputs = problem.codes.shape[1]
    deadline = Deadline.after(seconds)
    separators = [separator(problem, problem.codes[:, bit], deadline) for bit in range(outputs)]
    carried = np.arange(problem.layers[1]) % outputs
    weights = [np.stack([separators[bit] for bit in carried], axis=1)]
    for size in problem.layers[2:]:
        bits = np.arange(size) % outputs
        weights.append(problem.weight_bound * (carried[:, None] == bits[None, :]).astype(np.int64))
        carried = bits
    return Network(tuple(weights), problem.weight_bound)


def separator(problem: Problem, labels: Integers, deadline: Deadline) -> Integers:
    """Integer weights of one neuron that gets as many labels right as rounding and 1-exchange can."""
    live = problem.live
    weights = np.zeros(problem.data.shape[1], dtype=np.int64)
    if not len(live):
        return weights
    data = problem.data[:, live]
    # Without a hidden layer, a row at exactly 0 is not confidently right.
    strict = not problem.hidden_layers
    if deadline.passed:
        # The sum of the signed rows, which takes no time.
        weights[live] = problem.weight_bound * np.sign(labels @ data)
        return weights
    typical = problem.weight_bound * max(1.0, float(np.median(np.linalg.norm(data, axis=1))))
    candidates = [_max_margin_weights(data, labels, problem.weight_bound, deadline)]
    if candidates[0] is None:
        candidates += [_soft_weights(data, labels, problem.weight_bound, s * typical, deadline) for s in _SOFT_MARGINS]
    best_score: tuple[int, int] | None = None
    for candidate in candidates:
        rounded = np.zeros(len(live), dtype=np.int64) if candidate is None else np.rint(candidate).astype(np.int64)
        repaired, score = _exchange(data, labels, rounded, problem.weight_bound, strict, deadline)
        if best_score is None or score > best_score:
            best_score = score
            weights[live] = repaired
    return weights


def _max_margin_weights(data: Integers, labels: Integers, bound: int, deadline: Deadline) -> NDArray[np.float64] | None:
    """max m  s.t.  y_k w x^k >= m,  |w_i| <= P;  None if the largest margin is not positive."""
    builder = Builder()
    w = builder.columns(data.shape[1], -bound, bound, integer=False)
    m = builder.columns(1, 0, bound * int(np.abs(data).sum(axis=1).min()), integer=False)
    columns = np.broadcast_to(np.concatenate([w, m]), (len(data), data.shape[1] + 1))
    rows = np.concatenate([labels[:, None] * data, -np.ones((len(data), 1))], axis=1)
    builder.rows(columns, rows, lower=0)
    solution = solvers.get("highs").solve(builder.program("max", m), limits=Limits().until(deadline))
    if solution.x is None or solution.x[m[0]] < 1e-6:
        return None
    return solution.x[w]


def _soft_weights(
    data: Integers, labels: Integers, bound: int, margin: float, deadline: Deadline
) -> NDArray[np.float64] | None:
    """min sum_k s_k  s.t.  y_k w x^k + s_k >= margin,  s >= 0,  |w_i| <= P."""
    builder = Builder()
    w = builder.columns(data.shape[1], -bound, bound, integer=False)
    short = builder.columns(len(data), 0, np.inf, integer=False)
    columns = np.concatenate([np.broadcast_to(w, (len(data), len(w))), short[:, None]], axis=1)
    rows = np.concatenate([labels[:, None] * data, np.ones((len(data), 1))], axis=1)
    builder.rows(columns, rows, lower=margin)
    solution = solvers.get("highs").solve(builder.program("min", short), limits=Limits().until(deadline))
    return None if solution.x is None else solution.x[w]


def _exchange(
    data: Integers, labels: Integers, weights: Integers, bound: int, strict: bool, deadline: Deadline
) -> tuple[Integers, tuple[int, int]]:
    """Change one weight by one at a time as long as that gets more rows right.

    The score is the number of rows right under the activation (strictly right if ``strict``), then the number strictly
    right: a row at exactly 0 is right for +1 but leaves no margin.
    """
    steps = np.array([1, -1])
    # Pre-activation change of every move: rows x weights x {+1, -1}.
    moves = data[:, :, None] * steps
    sums = exact_product(data, weights[:, None])[:, 0]

    def score(values: Integers) -> Integers:
        """Rows right and rows strictly right, folded into one number; rows are the first axis."""
        y = labels.reshape(-1, *([1] * (values.ndim - 1)))
        strictly = (y * values >= 1).sum(axis=0)
        right = strictly if strict else (sign(values) == y).sum(axis=0)
        return right * (len(labels) + 1) + strictly

    present = int(score(sums))
    perfect = len(labels) * (len(labels) + 2)
    while present < perfect and not deadline.passed:
        reached = score(sums[:, None, None] + moves)
        reached[np.abs(weights[:, None] + steps) > bound] = -1
        index, step = np.unravel_index(int(reached.argmax()), reached.shape)
        if reached[index, step] <= present:
            break
        present = int(reached[index, step])
        weights = weights.copy()
        weights[index] += steps[step]
        sums = sums + moves[:, index, step]
    return weights, divmod(present, len(labels) + 1)
