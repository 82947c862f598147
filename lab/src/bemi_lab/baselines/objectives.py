"""Objectives of the other systems, on the rows that all programs here share.

Toro Icarte et al. (2019) require every training row right, with the largest margins or the fewest links; Thorbjarnarson
and Yorke-Smith (2023) count right rows, or measure by how much outputs miss.  ``B = P (n_{L-1} + 1)`` below is the
largest sum that an output with a bias can have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bemi.exact import Integers
from bemi.network import Network, sign
from bemi.problem.problem import Problem, sum_of_margins_bound
from bemi.programs.encoding import Encoding, Goal, Within
from bemi.programs.program import Indices
from bemi.programs.stages import StageProgram, confident_columns, right_rows, sign_rows


def largest_sum(problem: Problem) -> int:
    """B, the largest sum of an output above a hidden layer, whose neurons are all of size 1."""
    if not problem.hidden_layers:
        raise ValueError("outputs are measured against the number of hidden neurons; use at least one hidden layer")
    return problem.weight_bound * (problem.layers[-2] + (not problem.biased))


def feasible(problem: Problem, forbidden: Sequence[Integers] = ()) -> Goal:
    """Every row right, and no objective: the constraint program of the hybrids.

    ::

        y^k_j = +1  =>  sum >= 0,   y^k_j = -1  =>  sum <= -1       for outputs
        u^k_{lj} = 1  =>  sum >= 0,   u^k_{lj} = 0  =>  sum <= -1   for hidden neurons

    No first-layer neuron may have ``forbidden`` signs on the rows, a vector in {-1, +1} each:
    ``sum_k s_k (2 u^k_{1j} - 1) <= rows - 2``.
    """

    own_neurons, forbidden = problem.layers[1] - problem.biased, tuple(forbidden)

    def program() -> StageProgram:
        encoding = Encoding(problem)
        right_rows(encoding)
        sign_rows(encoding)
        for signs in forbidden:
            most = (len(signs) - 2 + int(signs.sum())) / 2
            encoding.builder.rows(encoding.u[0][:, :own_neurons].T, signs[None, :], upper=most)
        return _finished(encoding, "max", np.empty(0, dtype=np.int64))

    def value(network: Network) -> int | None:
        if not problem.all_right(network):
            return None
        if forbidden:
            found = sign(network.pre_activations(problem.data)[0])[:, :own_neurons]
            if any((found == signs[:, None]).all(axis=0).any() for signs in forbidden):
                return None
        return 0

    return Goal("feasible", problem, True, program, value, trivial=0)


STRICT_STEP = Fraction(1, 1000)
"""How far below minus its margin a sum must be, in the mixed-integer program of Toro Icarte et al."""


def max_margin(problem: Problem, *, step: Fraction = STRICT_STEP) -> Goal:
    """Toro Icarte et al.'s largest sum of margins over all neurons, with every row right.

    ::

        max  sum_l sum_j m_{lj},   m_{lj} >= 0
        sum >= m_{lj}          where the neuron gives (or should give) +1
        sum <= -m_{lj} - step  where it gives -1, and sum <= -1

    ``step`` is 1/1000 in their mixed-integer program.  In their constraint program, where ``m = min_k |sum|``, it is 0.
    Sums are integers, so with a step below 1 margins are ``m = q - step b`` for an integer q and b in {0, 1},

    ::

        sum >= q  where +1,   sum <= -q - 1 + b  where -1,   b <= q

    and everything stays an integer in units of the step.
    """
    unit = step.denominator

    def margins(network: Network) -> list[tuple[Integers, Integers]]:
        """q and b of every neuron, per layer; q is negative for wrong outputs."""
        *hidden, output = network.pre_activations(problem.data)
        found = []
        for sums, signs in zip([*hidden, output], [*(sign(h) for h in hidden), problem.codes], strict=True):
            above = np.where(signs > 0, sums, np.iinfo(np.int64).max).min(axis=0)
            below = np.where(signs < 0, -sums, np.iinfo(np.int64).max).min(axis=0)
            found.append((np.minimum(above, below), (below <= above).astype(np.int64) if step else 0 * above))
        return found

    def value(network: Network) -> int | None:
        if not problem.all_right(network):
            return None
        return int(sum((unit * q - step.numerator * b).sum() for q, b in margins(network)))

    def program() -> StageProgram:
        encoding = Encoding(problem)
        builder = encoding.builder
        if not step:
            right_rows(encoding)
            sign_rows(encoding)
        caps = problem.margin_caps()
        whole = [builder.columns((1, n), 0, cap, integer=True) for n, cap in zip(problem.layers[1:], caps, strict=True)]
        less = [builder.columns((1, n), 0, 1 if step else 0, integer=True) for n in problem.layers[1:]]
        for layer, (q, b) in enumerate(zip(whole, less, strict=True)):
            _margin_rows(encoding, layer, q, b, strict=bool(step))

        def own(network: Network) -> list[tuple[Indices, NDArray]]:
            pairs = zip(whole, less, margins(network), strict=True)
            return [part for q, b, (size, near) in pairs for part in ((q[0], size), (b[0], near))]

        objective = np.concatenate([index[0] for index in (*whole, *less)])
        costs = np.repeat([float(unit), -float(step.numerator)], sum(problem.layers[1:]))
        return _finished(encoding, "max", objective, costs, own=own)

    # Constant neurons have no margin.
    bound = sum_of_margins_bound(problem) - problem.biased * sum(problem.margin_caps()[: len(problem.hidden_layers)])
    return Goal("max-margin", problem, True, program, value, unit * bound, Fraction(1, unit))


def _margin_rows(encoding: Encoding, layer: int, whole: Indices, less: Indices, *, strict: bool) -> None:
    """sum >= q on the positive side, sum <= -q - 1 + b (with a step) or sum <= -q (without) on the other; b <= q.

    ``whole`` and ``less`` are the columns of q and b, of shape (1, n_l).
    """
    columns, coefficients = encoding.pre_activation(layer)
    shape = (*columns.shape[:2], 1)
    parts = [np.broadcast_to(index[:, :, None], shape) for index in (whole, less)]
    columns = np.concatenate([columns, *parts], axis=2)
    one, none = np.ones(shape), np.zeros(shape)
    above = np.concatenate([coefficients, -one, none], axis=2)
    below = np.concatenate([coefficients, one, -one], axis=2)
    rows = encoding.builder.rows
    if strict:
        rows(np.stack([whole[0], less[0]], axis=-1), [1, -1], lower=0)
    furthest = -1 if strict else 0
    if layer < len(encoding.u):
        rows(columns, above, lower=0, when=encoding.u[layer], value=1)
        rows(columns, below, upper=furthest, when=encoding.u[layer], value=0)
        return
    positive = encoding.problem.codes > 0
    rows(columns[positive], above[positive], lower=0)
    rows(columns[~positive], below[~positive], upper=furthest)


def sat_margin(problem: Problem, *, within: Within | None = None) -> Goal:
    """Sat-Margin of Thorbjarnarson and Yorke-Smith: ``y 2 sum / B >= 1/2`` for as many outputs as possible.

    On integers that is ``y sum >= ceil(B / 4)``.  ``within`` gives tighter bounds on weights than -P and P, by layer.
    """
    threshold = -(-largest_sum(problem) // 4)

    def program() -> StageProgram:
        encoding = Encoding(problem, within)
        right = confident_columns(encoding, threshold)
        sign_rows(encoding)
        return _finished(encoding, "max", right, own=lambda network: [(right, _reached(problem, network, threshold))])

    def value(network: Network) -> int | None:
        return int(_reached(problem, network, threshold).sum()) if _lies_within(network, within) else None

    return Goal("sat-margin", problem, True, program, value, trivial=problem.codes.size)


def _reached(problem: Problem, network: Network, threshold: int) -> Integers:
    return (network.pre_activations(problem.data)[-1] * problem.codes >= threshold).astype(np.int64)


def _lies_within(network: Network, within: Within | None) -> bool:
    if within is None:
        return True
    return all(
        ((low <= w) & (w <= high)).all() for w, low, high in zip(network.weights, within[0], within[1], strict=True)
    )


def max_correct(problem: Problem) -> Goal:
    """Max-Correct of Thorbjarnarson and Yorke-Smith: most rows whose only positive output is that of their class.

    ::

        max  sum_k q^k_{j(k)},   j(k) the row's class,   sum_j q^k_j = 1
        q^k_j = 1  =>  sum >= 0,   q^k_j = 0  =>  sum <= -1
    """
    right = problem.codes > 0

    def program() -> StageProgram:
        encoding = Encoding(problem)
        builder = encoding.builder
        chosen = builder.columns(problem.codes.shape, 0, 1, integer=True)
        columns, coefficients = encoding.pre_activation(len(problem.layers) - 2)
        builder.rows(columns, coefficients, lower=0, when=chosen, value=1)
        builder.rows(columns, coefficients, upper=-1, when=chosen, value=0)
        builder.rows(chosen, 1.0, lower=1, upper=1)
        sign_rows(encoding)

        def own(network: Network) -> list[tuple[Indices, NDArray]]:
            return [(chosen, (network.forward(problem.data) > 0).astype(np.int64))]

        return _finished(encoding, "max", chosen[right], own=own)

    def value(network: Network) -> int | None:
        positive = network.forward(problem.data) > 0
        return int(positive[right].sum()) if (positive.sum(axis=1) == 1).all() else None

    return Goal("max-correct", problem, True, program, value, trivial=len(problem.data))


def min_hinge(problem: Problem) -> Goal:
    """Min-Hinge of Thorbjarnarson and Yorke-Smith: the smallest sum of squared hinge losses.

    ::

        min  sum_k sum_j max(0, 1/2 - y^k_j 2 s^k_j / B)^2,   s the output's sum

    They interpolate the square between points that lie no further apart than sums do, and sums are integers: the
    interpolation is exact, and with 4 B^2 the loss ``max(0, B - 4 y s)^2`` of an output is an integer.  It is convex,
    so it is the largest of the lines through neighbouring points.
    """
    largest = largest_sum(problem)

    def loss(sums: Integers) -> Integers:
        return np.maximum(0, largest - 4 * sums) ** 2

    def program() -> StageProgram:
        encoding = Encoding(problem)
        builder = encoding.builder
        columns, coefficients = encoding.pre_activation(len(problem.layers) - 2)
        shape = problem.codes.shape
        signed = builder.columns(shape, -largest, largest, integer=False, implied=True)
        losses = builder.columns(shape, 0, (5 * largest) ** 2, integer=True)
        shape3 = (*shape, 1)
        builder.rows(
            np.concatenate([columns, signed[:, :, None]], axis=2),
            np.concatenate([problem.codes[:, :, None] * coefficients, -np.ones(shape3)], axis=2),
            lower=0,
            upper=0,
        )
        points = np.arange(-largest, largest // 4 + 2)
        slopes = np.diff(loss(points))
        # loss >= loss(p) + slope (s - p), a line for every pair of neighbouring points.
        lines = len(slopes)
        pairs = np.broadcast_to(np.stack([losses, signed], axis=-1)[:, :, None, :], (*shape, lines, 2))
        line = np.stack([np.ones(lines), -slopes], axis=-1)
        builder.rows(pairs, np.broadcast_to(line, pairs.shape), lower=loss(points[:-1]) - slopes * points[:-1])
        sign_rows(encoding)

        def own(network: Network) -> list[tuple[Indices, NDArray]]:
            sums = network.pre_activations(problem.data)[-1] * problem.codes
            return [(signed, sums), (losses, loss(sums))]

        return _finished(encoding, "min", losses, own=own)

    def value(network: Network) -> int | None:
        return int(loss(network.pre_activations(problem.data)[-1] * problem.codes).sum())

    return Goal("min-hinge", problem, False, program, value, trivial=0, unit=Fraction(1, 4 * largest**2))


def min_neurons(problem: Problem, *, price: int | None = None, confident: int = 0) -> Goal:
    """Sat-Margin with the fewest hidden neurons, of Thorbjarnarson and Yorke-Smith.

    ::

        max  sum q - price sum_l sum_j on_{lj}                  with a price, or
        min  sum_l sum_j on_{lj}   s.t.   sum q >= confident    without: the second step of the lexicographic form
        -P on <= w <= P on   for all weights into and out of a hidden neuron
    """
    threshold = -(-largest_sum(problem) // 4)

    def program() -> StageProgram:
        encoding = Encoding(problem)
        builder = encoding.builder
        right = confident_columns(encoding, threshold)
        sign_rows(encoding)
        switches = [builder.columns(n - problem.biased, 0, 1, integer=True) for n in problem.hidden_layers]
        for layer, on in enumerate(switches):
            for weights in (encoding.w[layer][:, : len(on)], encoding.w[layer + 1][: len(on)].T):
                pairs = np.stack([weights, np.broadcast_to(on, weights.shape)], axis=-1)
                builder.rows(pairs, [1, problem.weight_bound], lower=0)
                builder.rows(pairs, [1, -problem.weight_bound], upper=0)

        def own(network: Network) -> list[tuple[Indices, NDArray]]:
            used = [(on, u.astype(np.int64)) for on, u in zip(switches, _used(problem, network), strict=True)]
            return [(right, _reached(problem, network, threshold)), *used]

        every = np.concatenate(switches) if switches else np.empty(0, dtype=np.int64)
        if price is None:
            builder.rows(right.reshape(1, -1), 1.0, lower=confident)
            return _finished(encoding, "min", every, own=own)
        objective = np.concatenate([right.reshape(-1), every])
        costs = np.repeat([1.0, -price], [right.size, every.size])
        return _finished(encoding, "max", objective, costs, own=own)

    def value(network: Network) -> int | None:
        reached = int(_reached(problem, network, threshold).sum())
        neurons = sum(int(used.sum()) for used in _used(problem, network))
        if price is not None:
            return reached - price * neurons
        return neurons if reached >= confident else None

    trivial = problem.codes.size if price is not None else 0
    return Goal("min-neurons", problem, price is not None, program, value, trivial)


def _used(problem: Problem, network: Network) -> list[NDArray[np.bool_]]:
    """Per hidden layer, which neurons have a link; constant neurons do not count."""
    return [
        ((into != 0).any(axis=0) | (out != 0).any(axis=1))[: n - problem.biased]
        for into, out, n in zip(network.weights, network.weights[1:], problem.hidden_layers, strict=False)
    ]


OwnColumns = Callable[[Network], list[tuple[Indices, NDArray]]]
"""From a network to indices and values of the columns that only one program has."""


def _finished(
    encoding: Encoding,
    sense: Literal["min", "max"],
    objective: Indices,
    costs: ArrayLike = 1.0,
    own: OwnColumns = lambda network: [],
) -> StageProgram:
    """A program without symmetry-breaking rows: the original systems have none."""
    milp = encoding.builder.program(sense, objective, costs)
    return StageProgram(milp, encoding, own, _no_order, [], flips=False)


def _no_order(network: Network, layer: int) -> Integers:
    raise AssertionError("neurons are not ordered")


RowValues = Callable[[Integers], Integers]
"""From output sums, shape (rows, outputs), to what each row is worth; larger is better."""


@dataclass(frozen=True)
class RowObjective:
    """An objective that is a sum over rows: the goal, and the value of each row by its output sums, larger is better.

    Counts are flat, so among equally many the smaller hinge loss is better: single neurons then have a slope to follow.
    """

    goal: Callable[[Problem], Goal]
    values: Callable[[Problem], RowValues]


def _hinge(problem: Problem) -> RowValues:
    """Minus the row's loss, in the integer units of Min-Hinge."""
    largest = largest_sum(problem)
    return lambda sums: -(np.maximum(0, largest - 4 * problem.codes * sums) ** 2).sum(axis=1)


def _before_hinge(problem: Problem, count: RowValues) -> RowValues:
    """A count, and among equal ones the smaller loss; no sum of losses over all rows outweighs a count of 1."""
    if not problem.hidden_layers:
        return count
    most = len(problem.codes) * problem.codes.shape[1] * (5 * largest_sum(problem)) ** 2 + 1
    hinge = _hinge(problem)
    return lambda sums: most * count(sums) + hinge(sums)


def _confident_outputs(problem: Problem) -> RowValues:
    """How many outputs of the row are confidently right."""
    threshold = -(-largest_sum(problem) // 4)
    return _before_hinge(problem, lambda sums: (problem.codes * sums >= threshold).sum(axis=1))


def _only_right(problem: Problem) -> RowValues:
    """1 if the only positive output is the right one, 0 if it is another.

    A row with no or several positive outputs makes the network infeasible, which all right rows together do not
    outweigh.
    """
    rows = len(problem.codes)

    def values(sums: Integers) -> Integers:
        positive = sums >= 0
        count = positive.sum(axis=1)
        right = (positive & (problem.codes > 0)).any(axis=1)
        return np.where(count == 1, right.astype(np.int64), -(rows + 1) * np.maximum(1, count - 1))

    return _before_hinge(problem, values)


SAT_MARGIN = RowObjective(sat_margin, _confident_outputs)
MIN_HINGE = RowObjective(min_hinge, _hinge)
MAX_CORRECT = RowObjective(max_correct, _only_right)
