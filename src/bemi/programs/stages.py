"""The paper's three programs, Sat-Margin, Max-Margin, Min-Weight, and soft margins.

On integer data every strict inequality is a step of 1, so the paper's epsilon does not appear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.network import Network, confidence_threshold
from bemi.problem.problem import KEEP_LABELS, Keep, KeepLabels, KeepMargins, KeepObjective, Problem
from bemi.problem.soft_margin import ROW_WEIGHT_UNIT, row_hinges, row_norms
from bemi.programs.encoding import Encoding, Groups, StageProgram
from bemi.programs.program import Floats, Indices


def _all_interchangeable(problem: Problem) -> Groups:
    # The constant neuron of a biased problem is not like the others.
    return [[np.arange(n - problem.biased)] for n in problem.hidden_layers]


def _descending(encoding: Encoding, groups: Groups, keys: Sequence[Indices]) -> None:
    """Rows ``key_j >= key_j'`` for neighbours in a group, where a neuron's key is the sum of its ``keys`` columns.

    Otherwise, interchangeable neurons would give the solver every solution in every order.
    """
    for layer_groups, columns in zip(groups, keys, strict=False):
        for group in layer_groups:
            if len(group) > 1:
                before, after = columns[:, group[:-1]].T, columns[:, group[1:]].T
                pairs = np.concatenate([before, after], axis=1)
                signs = np.repeat([1.0, -1.0], len(columns))
                encoding.builder.rows(pairs, signs, lower=0)


def sat_margin(problem: Problem) -> StageProgram:
    """Sat-Margin: as many confidently right outputs as possible (eq:fo_sm).

    ::

        max  sum_k sum_j q^k_j
        q^k_j = 1  =>  y^k_j sum_i c^k_{iLj} >= t           t = ceil(P (n_{L-1} + 1) / 4), or 1 without a hidden layer
        q^k_j = 0  =>  y^k_j sum_i c^k_{iLj} <= t - 1       (sat_impl_1, sat_impl_2, eq:sat_pred)
        u^k_{lj} = 1  =>  sum_i c^k_{ilj} >= 0              (sat_impl_3)
        u^k_{lj} = 0  =>  sum_i c^k_{ilj} <= -1             (sat_impl_4)

    Hidden neurons are ordered by the sum of their weights.  They are not flipped: at 0 a neuron gives +1 either way.
    """
    encoding = Encoding(problem)
    right = confident_columns(encoding, confidence_threshold(problem.layers, problem.weight_bound))
    sign_rows(encoding)
    groups = _all_interchangeable(problem)
    _descending(encoding, groups, encoding.w)

    def stage_columns(network: Network) -> list[tuple[Indices, NDArray]]:
        return [(right, network.confident(problem.data, problem.codes).astype(np.int64))]

    def weight_sum(network: Network, layer: int) -> Integers:
        weights = network.weights[layer]
        return weights.sum(axis=0)

    milp = encoding.builder.program("max", right)
    return StageProgram(milp, encoding, stage_columns, weight_sum, groups, flips=False)


def confident_columns(encoding: Encoding, threshold: int) -> Indices:
    """Columns q, 1 if y times the output's sum reaches the threshold, shape (rows, n_L)."""
    problem, builder = encoding.problem, encoding.builder
    right = builder.columns(problem.codes.shape, 0, 1, integer=True)
    columns, coefficients = encoding.pre_activation(len(problem.layers) - 2)
    confident = problem.codes[:, :, None] * coefficients
    builder.rows(columns, confident, lower=threshold, when=right, value=1)
    builder.rows(columns, confident, upper=threshold - 1, when=right, value=0)
    return right


def right_rows(encoding: Encoding) -> None:
    """Every row classified right: y = +1 => sum >= 0;  y = -1 => sum <= -1, for outputs."""
    codes = encoding.problem.codes
    columns, coefficients = encoding.pre_activation(len(encoding.w) - 1)
    lower = np.where(codes > 0, 0, -np.inf)
    upper = np.where(codes > 0, np.inf, -1)
    encoding.builder.rows(columns, coefficients, lower=lower, upper=upper)


def sign_rows(encoding: Encoding) -> None:
    """u = 1 => sum >= 0;  u = 0 => sum <= -1, for hidden neurons."""
    for layer, active in enumerate(encoding.u):
        columns, coefficients = encoding.pre_activation(layer)
        encoding.builder.rows(columns, coefficients, lower=0, when=active, value=1)
        encoding.builder.rows(columns, coefficients, upper=-1, when=active, value=0)


def max_margin(problem: Problem) -> StageProgram:
    """Max-Margin: the largest sum of margins with every row right.

    ::

        max  sum_l sum_j m_{lj},   1 <= m_{lj} <= cap_l
        y^k_j sum_i c^k_{iLj} >= m_{Lj}                     (eq:mm_1)
        u^k_{lj} = 1  =>  sum_i c^k_{ilj} >= m_{lj}         (eq:mm_impl_1)
        u^k_{lj} = 0  =>  sum_i c^k_{ilj} <= -m_{lj}        (eq:mm_impl_2)

    Margins are integers because the data are.  Hidden neurons are ordered by margin and flipped to +1 on the first row,
    which changes nothing since no pre-activation is 0 here.
    """
    encoding = Encoding(problem)
    builder = encoding.builder
    margins = [
        # An all-zero row has cap 0: the column stays well-formed and the rows make the program infeasible.
        builder.columns((1, size), 1, max(cap, 1), integer=True)
        for size, cap in zip(problem.layers[1:], problem.margin_caps(), strict=True)
    ]
    for layer, margin in enumerate(margins):
        columns, coefficients = encoding.pre_activation(layer)
        with_margin = np.concatenate([columns, np.broadcast_to(margin[:, :, None], (*columns.shape[:2], 1))], axis=2)
        one = np.ones((*columns.shape[:2], 1))
        if layer == len(margins) - 1:
            signed = problem.codes[:, :, None] * coefficients
            builder.rows(with_margin, np.concatenate([signed, -one], axis=2), lower=0)
        else:
            active = encoding.u[layer]
            builder.rows(with_margin, np.concatenate([coefficients, -one], axis=2), lower=0, when=active, value=1)
            builder.rows(with_margin, np.concatenate([coefficients, one], axis=2), upper=0, when=active, value=0)
    groups = _all_interchangeable(problem)
    _descending(encoding, groups, margins)
    _positive_on_first_row(encoding)

    def reached(network: Network) -> list[Integers]:
        return network.margins(problem.data, problem.codes)

    def stage_columns(network: Network) -> list[tuple[Indices, NDArray]]:
        return [(index[0], values) for index, values in zip(margins, reached(network), strict=True)]

    def layer_margins(network: Network, layer: int) -> Integers:
        return reached(network)[layer]

    objective = np.concatenate([index[0] for index in margins])
    return StageProgram(builder.program("max", objective), encoding, stage_columns, layer_margins, groups, flips=True)


def _positive_on_first_row(encoding: Encoding) -> None:
    """A neuron and its mirror image, with outgoing weights negated, are the same network: keep the one with u^1 = 1."""
    for active in encoding.u:
        encoding.builder.rows(active[0][:, None], [1.0], lower=1)


@dataclass(frozen=True, eq=False)
class _SoftColumns:
    """Columns of the soft-margin objective, their costs, and the constant term."""

    segments: Indices
    missing: Indices
    targets: Floats
    costs: Floats
    constant: float

    @property
    def all(self) -> Indices:
        return np.concatenate([self.segments.reshape(-1), self.missing.reshape(-1)])

    def values(self, problem: Problem, encoding: Encoding, network: Network) -> list[tuple[Indices, NDArray]]:
        """Values of the columns for a network."""
        live = network.weights[0][encoding.live][:, :, None]
        steps = np.arange(-problem.weight_bound, problem.weight_bound)
        missing = _missing(problem, network, self.targets)
        return [(self.segments, (live > steps).astype(np.int64)), (self.missing, missing)]


def _missing(problem: Problem, network: Network, targets: Floats) -> Floats:
    """``max(0, t_h - s_k w.x^k / nu_k)``, shape (hinges, rows, outputs); 0 for rows of zeros."""
    norms = row_norms(problem.data)[:, None]
    sums = problem.data @ network.weights[0] * problem.codes
    return np.where(norms > 0, np.maximum(0.0, targets[:, None, :] - sums / np.maximum(norms, 1)), 0.0)


def _soft_columns(encoding: Encoding) -> _SoftColumns:
    """Columns, and rows that link them to the weights.

    ::

        w_ij = -P + sum_{p=-P}^{P-1} z_ijp,   0 <= z <= 1, cost p + 1/2: slopes increase, so segments fill in order
        s_kj w_j.x^k / nu_k + xi_hkj >= t_hj,   xi >= 0, cost c_hj omega_k, for rows with nu_k > 0

    The targets t_h and prices c_h of the hinges are those of :func:`bemi.problem.soft_margin.row_hinges`.
    """
    problem, builder = encoding.problem, encoding.builder
    assert problem.soft is not None
    bound = problem.weight_bound
    (weights,) = encoding.w
    segments = builder.columns((*weights.shape, 2 * bound), 0, 1, integer=False)
    rows, outputs = problem.codes.shape
    hinges = [row_hinges(problem.soft, output) for output in range(outputs)]
    targets = np.array([[float(hinge.target) for hinge in own] for own in hinges]).T
    prices = np.array([[float(hinge.price) for hinge in own] for own in hinges]).T
    missing = builder.columns((len(targets), rows, outputs), 0, np.inf, integer=False)
    parts = np.concatenate([weights[:, :, None], segments], axis=2)
    builder.rows(parts, [1.0, *[-1.0] * (2 * bound)], lower=-bound, upper=-bound)
    norms = row_norms(problem.data)
    nonzero = np.flatnonzero(norms)
    columns, coefficients = encoding.pre_activation(0)
    signed = (problem.codes[:, :, None] * coefficients)[nonzero] / norms[nonzero, None, None]
    ones = np.ones((len(nonzero), outputs, 1))
    for own, target in zip(missing, targets, strict=True):
        builder.rows(
            np.concatenate([columns[nonzero], own[nonzero][:, :, None]], axis=2),
            np.concatenate([signed, ones], axis=2),
            lower=np.broadcast_to(target, (len(nonzero), outputs)),
        )
    steps = np.broadcast_to(np.arange(-bound, bound) + 0.5, segments.shape).reshape(-1)
    omega = np.ones(rows) if problem.row_weights is None else problem.row_weights / ROW_WEIGHT_UNIT
    costs = np.concatenate([steps, (prices[:, None, :] * omega[None, :, None]).reshape(-1)])
    return _SoftColumns(segments, missing, targets, costs, bound**2 / 2 * weights.size)


def soft_margin(problem: Problem) -> StageProgram:
    """Soft margins: ``min 1/2 sum w^2 + sum_hkj c_hj omega_k xi_hkj``, for networks without a hidden layer.

    The rows are those of the shared soft columns and, with a limit on links, :func:`_links_limited`; the square of an
    integer weight is the sum of its segments' costs.  Limits on signs are limits of the weights' columns.
    """
    encoding = _soft_encoding(problem)
    columns = _soft_columns(encoding)
    limited = problem.soft is not None and problem.soft.max_links is not None
    links = _link_columns(encoding) if limited else []
    _links_limited(encoding, links)
    milp = encoding.builder.program("min", columns.all, columns.costs)

    def stage_columns(network: Network) -> list[tuple[Indices, NDArray]]:
        return columns.values(problem, encoding, network) + _link_values(encoding, links, network)

    return StageProgram(milp, encoding, stage_columns, _no_order, [], flips=False, constant=columns.constant)


def _soft_encoding(problem: Problem) -> Encoding:
    """Weights that have the signs that soft margins allow."""
    low, high = problem.weight_range()
    return Encoding(problem, ([low], [high]))


def _link_columns(encoding: Encoding) -> list[Indices]:
    """Columns v, 1 for each weight that may be other than 0, per layer: ``-P v <= w <= P v``  (eq:abs_weight)."""
    builder, bound = encoding.builder, encoding.problem.weight_bound
    links = []
    for weights in encoding.w:
        present = builder.columns(weights.shape, 0, 1, integer=True)
        pairs = np.stack([weights, present], axis=-1)
        builder.rows(pairs, [1, bound], lower=0)
        builder.rows(pairs, [1, -bound], upper=0)
        links.append(present)
    return links


def _link_values(encoding: Encoding, links: list[Indices], network: Network) -> list[tuple[Indices, NDArray]]:
    """Values of the link columns for a network."""
    live = (network.weights[0][encoding.live], *network.weights[1:])
    return [(index, (w != 0).astype(np.int64)) for index, w in zip(links, live, strict=False)]


def _links_limited(encoding: Encoding, links: list[Indices]) -> None:
    """``sum_i v_ij <= max_links`` over the counted inputs of each output j, if soft margins limit links."""
    problem = encoding.problem
    if problem.soft is None or problem.soft.max_links is None:
        return
    counted = np.isin(encoding.live, problem.counted)
    encoding.builder.rows(links[0][counted].T, 1.0, upper=problem.soft.max_links)


def _no_order(network: Network, layer: int) -> Integers:
    raise AssertionError("there is no hidden layer")


CEILING_TOLERANCE = 1e-6
"""Fraction by which a program raises a ceiling on the soft-margin objective, since its arithmetic is inexact."""


def min_weight(problem: Problem, keep: Keep = KEEP_LABELS) -> StageProgram:
    """Min-Weight: the fewest links of a network that preserves ``keep``.

    ::

        min  sum_l sum_i sum_j v_{ilj},                     v of :func:`_link_columns`

    and the rows of :func:`_margins_kept`, :func:`_ceiling_kept` or :func:`_labels_kept`.
    """
    encoding = _soft_encoding(problem) if isinstance(keep, KeepObjective) else Encoding(problem)
    builder = encoding.builder
    match keep:
        case KeepMargins(margins):
            kept = _margins_kept(encoding, margins)
        case KeepObjective(ceiling):
            kept = _ceiling_kept(encoding, ceiling)
        case KeepLabels():
            kept = _labels_kept(encoding)
    links = _link_columns(encoding)
    _links_limited(encoding, links)
    _descending(encoding, kept.groups, links)

    def stage_columns(network: Network) -> list[tuple[Indices, NDArray]]:
        present = _link_values(encoding, links, network)
        return present + (kept.soft.values(problem, encoding, network) if kept.soft else [])

    def link_count(network: Network, layer: int) -> Integers:
        return np.count_nonzero(network.weights[layer], axis=0)

    objective = np.concatenate([index.reshape(-1) for index in links])
    milp = builder.program("min", objective)
    return StageProgram(milp, encoding, stage_columns, link_count, kept.groups, flips=kept.flips)


@dataclass(frozen=True, eq=False)
class _Kept:
    """Symmetry left by the rows that preserve ``keep``: interchangeable neurons, and whether they are flipped."""

    groups: Groups
    flips: bool = False
    soft: _SoftColumns | None = None


def _margins_kept(encoding: Encoding, margins: Sequence[Integers]) -> _Kept:
    """No neuron's margin falls below its given value.

    ::

        y^k_j sum_i c^k_{iLj} >= m_{Lj}
        u^k_{lj} = 1  =>  sum_i c^k_{ilj} >= m_{lj}
        u^k_{lj} = 0  =>  sum_i c^k_{ilj} <= -m_{lj}

    Neurons are interchangeable only if their margins are equal.
    """
    problem, builder = encoding.problem, encoding.builder
    last = len(problem.layers) - 2
    columns, coefficients = encoding.pre_activation(last)
    builder.rows(columns, problem.codes[:, :, None] * coefficients, lower=margins[last][None, :])
    for layer, active in enumerate(encoding.u):
        columns, coefficients = encoding.pre_activation(layer)
        need = margins[layer][None, :]
        builder.rows(columns, coefficients, lower=need, when=active, value=1)
        builder.rows(columns, coefficients, upper=-need, when=active, value=0)
    _positive_on_first_row(encoding)
    return _Kept([[np.flatnonzero(m == value) for value in np.unique(m)] for m in margins[:-1]], flips=True)


def _ceiling_kept(encoding: Encoding, ceiling: Fraction) -> _Kept:
    """The soft-margin objective f stays under a ceiling: its own columns, and ``f <= V``."""
    soft = _soft_columns(encoding)
    most = float(ceiling) * (1 + CEILING_TOLERANCE) - soft.constant
    encoding.builder.rows(soft.all[None], soft.costs[None], upper=most)
    return _Kept([], soft=soft)


def _labels_kept(encoding: Encoding) -> _Kept:
    """Every row stays classified right (the ablation SM+MW).

    An output that should be +1 is at least 0, one that should be -1 at most -1; hidden neurons have Sat-Margin's rows.
    """
    right_rows(encoding)
    sign_rows(encoding)
    return _Kept(_all_interchangeable(encoding.problem))
