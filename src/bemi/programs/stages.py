"""The paper's three programs: Sat-Margin, Max-Margin, Min-Weight.

On integer data every strict inequality is a step of 1, so the paper's epsilon does not appear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bemi.network import Integers, Network, confidence_threshold
from bemi.problem import Problem
from bemi.programs.encoding import Encoding
from bemi.programs.program import MILP, Floats, Indices

Groups = list[list[Indices]]
"""Per hidden layer, the sets of neurons that may change places."""


@dataclass(frozen=True, eq=False)
class StageProgram:
    """A stage as a program, with the way from a network to a point of it and back.

    Attributes
    ----------
    milp
        The program.
    encoding
        Its columns shared by all stages.
    stage_columns
        From a network to ``(indices, values)`` of the columns that only this stage has.
    order_key
        From a network and a hidden layer to one number per neuron; interchangeable neurons stand in descending order.
    interchangeable
        Per hidden layer, the sets of neurons that may change places.
    flips
        Whether hidden neurons are turned so that they give +1 on the first row.
    """

    milp: MILP
    encoding: Encoding
    stage_columns: Callable[[Network], list[tuple[Indices, Integers]]]
    order_key: Callable[[Network, int], Integers]
    interchangeable: Groups
    flips: bool

    def encode(self, network: Network) -> Floats:
        """The point that stands for a network."""
        x = self.encoding.encode(network, len(self.milp.cost))
        for index, values in self.stage_columns(network):
            x[index] = values
        return x

    def decode(self, x: Floats) -> Network:
        """The network that a point stands for."""
        return self.encoding.decode(x)

    def canonical(self, network: Network) -> Network:
        """An equally good network that satisfies the symmetry-breaking rows: a solver drops a start that does not."""
        data = self.encoding.problem.data
        first = np.zeros_like(network.weights[0])
        first[self.encoding.live] = network.weights[0][self.encoding.live]
        network = Network((first, *network.weights[1:]), network.weight_bound)
        for layer, groups in enumerate(self.interchangeable):
            if self.flips:
                network = network.flipped(layer, network.pre_activations(data[:1])[layer][0] < 0)
            order = np.arange(network.layers[layer + 1])
            key = self.order_key(network, layer)
            for group in groups:
                order[group] = group[np.argsort(-key[group], kind="stable")]
            network = network.reordered(layer, order)
        return network


def _all_interchangeable(problem: Problem) -> Groups:
    return [[np.arange(n)] for n in problem.hidden_layers]


def _descending(encoding: Encoding, groups: Groups, keys: Sequence[Indices]) -> None:
    """Rows ``key_j >= key_j'`` for neighbours in a group, where a neuron's key is the sum of its ``keys`` columns.

    Neurons that may change places would otherwise give the solver every solution in every order.
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

    Hidden neurons are ordered by the sum of their weights.  They are not turned: at 0 a neuron gives +1 either way.
    """
    encoding = Encoding(problem)
    builder = encoding.builder
    last = len(problem.layers) - 2
    threshold = confidence_threshold(problem.layers, problem.weight_bound)
    right = builder.columns(problem.codes.shape, 0, 1, integer=True)
    columns, coefficients = encoding.pre_activation(last)
    confident = problem.codes[:, :, None] * coefficients
    builder.rows(columns, confident, lower=threshold, when=right, value=1)
    builder.rows(columns, confident, upper=threshold - 1, when=right, value=0)
    _sign_rows(encoding)
    groups = _all_interchangeable(problem)
    _descending(encoding, groups, encoding.w)

    def stage_columns(network: Network) -> list[tuple[Indices, Integers]]:
        return [(right, network.confident(problem.data, problem.codes).astype(np.int64))]

    def weight_sum(network: Network, layer: int) -> Integers:
        weights = network.weights[layer]
        return weights.sum(axis=0)

    return StageProgram(builder.program("max", right), encoding, stage_columns, weight_sum, groups, flips=False)


def _sign_rows(encoding: Encoding) -> None:
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

    Margins are integers because the data are.  Hidden neurons are ordered by margin and turned to +1 on the first row,
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

    def stage_columns(network: Network) -> list[tuple[Indices, Integers]]:
        return [(index[0], values) for index, values in zip(margins, reached(network), strict=True)]

    def layer_margins(network: Network, layer: int) -> Integers:
        return reached(network)[layer]

    objective = np.concatenate([index[0] for index in margins])
    return StageProgram(builder.program("max", objective), encoding, stage_columns, layer_margins, groups, flips=True)


def _positive_on_first_row(encoding: Encoding) -> None:
    """A neuron and its mirror image, with outgoing weights negated, are the same network: keep the one with u^1 = 1."""
    for active in encoding.u:
        encoding.builder.rows(active[0][:, None], [1.0], lower=1)


def min_weight(problem: Problem, margins: Sequence[Integers] | None = None) -> StageProgram:
    """Min-Weight: the fewest links with the given margins.

    ::

        min  sum_l sum_i sum_j v_{ilj}
        y^k_j sum_i c^k_{iLj} >= m_{Lj}
        u^k_{lj} = 1  =>  sum_i c^k_{ilj} >= m_{lj}
        u^k_{lj} = 0  =>  sum_i c^k_{ilj} <= -m_{lj}
        -P v_{ilj} <= w_{ilj} <= P v_{ilj}                  (eq:abs_weight)

    Without margins (the ablation SM+MW) the rows are Sat-Margin's, and every row must be classified right: an output
    that should be +1 is at least 0, one that should be -1 at most -1.  Neurons may change places only where their
    margins are equal, and are turned only where there are margins.
    """
    encoding = Encoding(problem)
    builder = encoding.builder
    last = len(problem.layers) - 2
    columns, coefficients = encoding.pre_activation(last)
    if margins is None:
        lower = np.where(problem.codes > 0, 0, -np.inf)
        upper = np.where(problem.codes > 0, np.inf, -1)
        builder.rows(columns, coefficients, lower=lower, upper=upper)
        _sign_rows(encoding)
        groups = _all_interchangeable(problem)
    else:
        builder.rows(columns, problem.codes[:, :, None] * coefficients, lower=margins[last][None, :])
        for layer, active in enumerate(encoding.u):
            columns, coefficients = encoding.pre_activation(layer)
            need = margins[layer][None, :]
            builder.rows(columns, coefficients, lower=need, when=active, value=1)
            builder.rows(columns, coefficients, upper=-need, when=active, value=0)
        groups = [[np.flatnonzero(m == value) for value in np.unique(m)] for m in margins[:-1]]
        _positive_on_first_row(encoding)
    links = []
    for weights in encoding.w:
        present = builder.columns(weights.shape, 0, 1, integer=True)
        pairs = np.stack([weights, present], axis=-1)
        builder.rows(pairs, [1, problem.weight_bound], lower=0)
        builder.rows(pairs, [1, -problem.weight_bound], upper=0)
        links.append(present)
    _descending(encoding, groups, links)

    def stage_columns(network: Network) -> list[tuple[Indices, Integers]]:
        live = (network.weights[0][encoding.live], *network.weights[1:])
        return [(index, (w != 0).astype(np.int64)) for index, w in zip(links, live, strict=True)]

    def link_count(network: Network, layer: int) -> Integers:
        return np.count_nonzero(network.weights[layer], axis=0)

    objective = np.concatenate([index.reshape(-1) for index in links])
    milp = builder.program("min", objective)
    return StageProgram(milp, encoding, stage_columns, link_count, groups, flips=margins is not None)


def program(stage: str, problem: Problem, margins: Sequence[Integers] | None = None) -> StageProgram:
    """The program of a stage by its short name."""
    if stage == "mw":
        return min_weight(problem, margins)
    return {"sm": sat_margin, "mm": max_margin}[stage](problem)
