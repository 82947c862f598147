"""Networks as points of programs: columns and rows for a network on data, programs of stages, and goals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.network import Network, sign
from bemi.problem.problem import Objective, Problem, better
from bemi.programs.program import MILP, Builder, Floats, Indices

Within = tuple[Sequence[Integers], Sequence[Integers]]
"""Smallest and largest weights, one array per layer each."""


class Encoding:
    """Columns and rows that every stage shares: weights, activations and their products.

    Columns, with layers counted from 0:

    - ``w[l]``, shape (n_{l-1}, n_l): the weight w_{ilj}, integer in {-P..P} (eq:sat_first_dom).  In the first layer
      only inputs that are not zero in every row have columns.
    - ``u[l]``, shape (rows, n_l), hidden layers: binary, 1 where the neuron gives +1.
    - ``c[l]``, shape (rows, n_{l-1}, n_l), l >= 1: the product c_{ilj} = (2 u_{(l-1)i} - 1) w_{ilj} (eq:sat_mult; the
      paper prints u_{(l-1)j}).  First-layer products ``x_i w_{i1j}`` (eq:sat_trivial_mult) are linear and need none.

    If the problem is biased, the weights into the last neuron of every hidden layer are fixed to 0.

    Parameters
    ----------
    problem
        Data, codes, layers and weight bound.
    within
        Smallest and largest weights, as arrays per layer, if they are tighter than -P and P.
    """

    def __init__(self, problem: Problem, within: Within | None = None) -> None:
        self.problem = problem
        self.live = problem.live
        self.builder = Builder()
        bound = problem.weight_bound
        rows = len(problem.data)
        sizes = (len(self.live), *problem.layers[1:])
        depth = len(sizes) - 1
        columns = self.builder.columns
        lower, upper = self._weight_bounds(within)
        # Inputs without columns: the allowed weight closest to 0.
        self._dead = np.clip(0, lower[0], upper[0])
        lower[0], upper[0] = lower[0][self.live], upper[0][self.live]
        self.w = [columns((sizes[t], sizes[t + 1]), lower[t], upper[t], integer=True) for t in range(depth)]
        self.u = [columns((rows, sizes[t + 1]), 0, 1, integer=True) for t in range(depth - 1)]
        self.c = [
            columns((rows, sizes[t], sizes[t + 1]), -bound, bound, integer=False, implied=True) for t in range(1, depth)
        ]
        for layer in range(1, depth):
            self._product_rows(layer)

    def _weight_bounds(self, within: Within | None) -> tuple[list[Integers], list[Integers]]:
        layers, bound = self.problem.layers, self.problem.weight_bound
        if within is None:
            shapes = list(pairwise(layers))
            within = [np.full(shape, -bound) for shape in shapes], [np.full(shape, bound) for shape in shapes]
        sides = []
        for side in within:
            arrays = [array.copy() for array in side]
            if self.problem.biased:
                for array in arrays[:-1]:
                    array[:, -1] = 0
            sides.append(arrays)
        return sides[0], sides[1]

    def _product_rows(self, layer: int) -> None:
        """u_{(l-1)i} = 1 => c = w;  u_{(l-1)i} = 0 => c = -w."""
        product = self.c[layer - 1]
        weight = np.broadcast_to(self.w[layer], product.shape)
        active = np.broadcast_to(self.u[layer - 1][:, :, None], product.shape)
        pairs = np.stack([product, weight], axis=-1)
        self.builder.rows(pairs, [1, -1], lower=0, upper=0, when=active, value=1)
        self.builder.rows(pairs, [1, 1], lower=0, upper=0, when=active, value=0)

    def pre_activation(self, layer: int) -> tuple[Indices, Floats]:
        """Columns and coefficients, shape (rows, n_l, terms), whose sum is a neuron's pre-activation."""
        if layer == 0:
            values = self.problem.data[:, self.live].astype(np.float64)
            shape = (len(values), self.w[0].shape[1], len(self.live))
            return np.broadcast_to(self.w[0].T[None], shape), np.broadcast_to(values[:, None, :], shape)
        columns = self.c[layer - 1].transpose(0, 2, 1)
        return columns, np.ones(columns.shape)

    def encode(self, network: Network, size: int) -> Floats:
        """Values of the shared columns for a network, in a vector of ``size`` whose other entries are 0."""
        x = np.zeros(size)
        *hidden, _ = network.pre_activations(self.problem.data)
        for layer, index in enumerate(self.w):
            weights = network.weights[layer]
            x[index] = weights[self.live] if layer == 0 else weights
        for layer, sums in enumerate(hidden):
            activation = sign(sums)
            x[self.u[layer]] = (activation + 1) // 2
            x[self.c[layer]] = activation[:, :, None] * network.weights[layer + 1][None]
        return x

    def decode(self, x: Floats) -> Network:
        """The network whose weights a point holds; inputs without columns get weight 0 if allowed."""
        weights = [np.rint(x[index]).astype(np.int64) for index in self.w]
        first = self._dead.copy()
        first[self.live] = weights[0]
        return Network((first, *weights[1:]), self.problem.weight_bound)


Groups = list[list[Indices]]
"""Per hidden layer, the sets of neurons that may change places."""


@dataclass(frozen=True, eq=False)
class StageProgram:
    """A stage as a program, with maps from networks to its points and back.

    Attributes
    ----------
    milp
        The program.
    encoding
        Its columns shared by all stages.
    stage_columns
        Maps a network to ``(indices, values)`` of the columns that only this stage has.
    order_key
        Maps a network and a hidden layer to one number per neuron; interchangeable neurons are in descending order.
    interchangeable
        Per hidden layer, the sets of interchangeable neurons.
    flips
        Whether hidden neurons are flipped so that they give +1 on the first row.
    constant
        Difference between the stage's objective and the program's.
    """

    milp: MILP
    encoding: Encoding
    stage_columns: Callable[[Network], list[tuple[Indices, NDArray]]]
    order_key: Callable[[Network, int], Integers]
    interchangeable: Groups
    flips: bool
    constant: float = 0.0

    def encode(self, network: Network) -> Floats:
        """The point that represents a network."""
        x = self.encoding.encode(network, len(self.milp.cost))
        for index, values in self.stage_columns(network):
            x[index] = values
        return x

    def decode(self, x: Floats) -> Network:
        """The network that a point represents."""
        return self.encoding.decode(x)

    def canonical(self, network: Network) -> Network:
        """An equally good network that satisfies the symmetry-breaking rows; solvers reject any other start."""
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


@dataclass(frozen=True, eq=False)
class Goal:
    """What a network should achieve on a problem.

    Attributes
    ----------
    name, problem, maximised
        Its name, the data, and whether a larger objective is better.
    program
        Builds the program.
    value
        Maps a network to its objective, or None if the network is infeasible.
    trivial
        A bound on the objective that can be checked by hand.
    unit
        The value of one unit of the objective in reports.
    rational
        Whether objectives are rationals instead of integers.
    solvers_may_miss
        Whether a solver's network may miss the goal within the solver's tolerance; such a network is ignored.
    """

    name: str
    problem: Problem
    maximised: bool
    program: Callable[[], StageProgram]
    value: Callable[[Network], Any]
    trivial: int
    unit: Fraction | int = 1
    rational: bool = False
    solvers_may_miss: bool = False

    def in_report_units(self, value: Objective) -> Objective:
        """An objective in the units of reports."""
        if self.unit == 1:
            return value
        scaled = value * Fraction(self.unit)
        return int(scaled) if scaled.denominator == 1 else scaled

    def better(self, value: Objective | None, other: Objective | None) -> bool:
        """Whether one objective beats another."""
        return better(value, other, maximised=self.maximised)
