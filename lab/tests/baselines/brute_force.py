"""Every network with biases of a tiny architecture, and what each is worth in the other papers' objectives.

All definitions are written anew, with a bias as a number that is added to a sum: the referee knows nothing of constant
inputs and neurons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product

import numpy as np
from bemi_lab.baselines import objectives
from hypothesis import strategies as st

from bemi import Network
from bemi.engines.monolithic import min_weight_goal
from bemi.limits import Limits
from bemi.problem import Problem
from bemi.programs import Goal


@dataclass(frozen=True, eq=False)
class Case:
    """Rows, codes, hidden neurons and weight bound; a bias of 1 is worth ``unit`` in the first layer."""

    data: np.ndarray
    codes: np.ndarray
    hidden: tuple[int, ...]
    bound: int = 1
    unit: int = 1

    @property
    def problem(self) -> Problem:
        return Problem(self.data, self.codes, self.hidden, self.bound).with_biases(self.unit)

    @property
    def layers(self) -> tuple[int, ...]:
        return (self.data.shape[1], *self.hidden, self.codes.shape[1])

    @property
    def largest_sum(self) -> int:
        """B."""
        return self.bound * (self.layers[-2] + 1)


@dataclass(frozen=True, eq=False)
class Networks:
    """Many networks: per layer weights (networks, inputs, neurons) and biases (networks, neurons)."""

    weights: list[np.ndarray]
    biases: list[np.ndarray]

    @classmethod
    def all_of(cls, case: Case) -> Networks:
        return _every(case.layers, case.bound)

    @classmethod
    def random(cls, case: Case, rng: np.random.Generator, count: int = 1) -> Networks:
        def draw(*shape: int) -> np.ndarray:
            return rng.integers(-case.bound, case.bound, (count, *shape), endpoint=True)

        pairs = list(pairwise(case.layers))
        return cls([draw(*pair) for pair in pairs], [draw(pair[1]) for pair in pairs])

    @classmethod
    def of(cls, network: Network) -> Networks:
        """One network as this library has it; the links into its constant neurons must be zero."""
        last = len(network.weights) - 1
        assert all(not w[:, -1].any() for w in network.weights[:-1])
        own = [w if layer == last else w[:, :-1] for layer, w in enumerate(network.weights)]
        return cls([w[None, :-1] for w in own], [w[None, -1] for w in own])

    def network(self, index: int, bound: int) -> Network:
        """One of them as this library has it: biases as the last row, constant neurons as the last column."""
        arrays = []
        for layer, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            array = np.concatenate([weights[index], biases[index][None]])
            if layer < len(self.weights) - 1:
                array = np.concatenate([array, np.zeros((len(array), 1), dtype=np.int64)], axis=1)
            arrays.append(array)
        return Network(tuple(arrays), bound)

    def sums(self, case: Case) -> list[np.ndarray]:
        """Sums that enter the neurons of each layer, shape (networks, rows, neurons)."""
        signal = case.data[None].astype(np.int32)
        sums = []
        for layer, (weights, biases) in enumerate(zip(self.weights, self.biases, strict=True)):
            worth = case.unit if layer == 0 else 1
            sums.append(np.matmul(signal, weights) + worth * biases[:, None, :])
            signal = np.where(sums[-1] < 0, -1, 1)
        return sums

    def right(self, case: Case) -> np.ndarray:
        """Which networks give all codes on all rows."""
        return ((self.sums(case)[-1] >= 0) == (case.codes > 0)).all(axis=(1, 2))

    def without_forbidden(self, case: Case, forbidden: list[np.ndarray]) -> np.ndarray:
        first = np.where(self.sums(case)[0] < 0, -1, 1)
        return ~np.any([(first == signs[:, None]).all(axis=1).any(axis=1) for signs in forbidden], axis=0)

    def margins(self, case: Case, step: float = 0.001) -> np.ndarray:
        """Sum of all margins of networks that are right; what it is for others does not matter."""
        total = 0
        for sums in self.sums(case):
            total = total + np.where(sums >= 0, sums, -sums - step).min(axis=1).sum(axis=1)
        return total

    def confident(self, case: Case) -> np.ndarray:
        scaled = 2 * self.sums(case)[-1] / case.largest_sum
        return (case.codes * scaled >= 0.5).sum(axis=(1, 2))

    def hinge(self, case: Case) -> np.ndarray:
        scaled = 2 * self.sums(case)[-1] / case.largest_sum
        return (np.maximum(0, 0.5 - case.codes * scaled) ** 2).sum(axis=(1, 2))

    def correct(self, case: Case) -> np.ndarray:
        """Rows whose only output that is on is one that should be; NaN unless every row has one output on."""
        on = self.sums(case)[-1] >= 0
        count = (on & (case.codes > 0)).sum(axis=(1, 2))
        return np.where((on.sum(axis=2) == 1).all(axis=1), count, np.nan)

    def neurons(self) -> np.ndarray:
        """Hidden neurons with any weight, in or out, or a bias."""
        count = np.zeros(len(self.biases[0]), dtype=np.int64)
        for layer in range(len(self.weights) - 1):
            into = (self.weights[layer] != 0).any(axis=1) | (self.biases[layer] != 0)
            count += (into | (self.weights[layer + 1] != 0).any(axis=2)).sum(axis=1)
        return count

    def links(self) -> np.ndarray:
        return sum((a != 0).reshape(len(a), -1).sum(axis=1) for a in (*self.weights, *self.biases))

    def within(self, low: Networks, high: Networks) -> np.ndarray:
        inside = [
            ((a <= b) & (b <= c)).reshape(len(b), -1).all(axis=1)
            for a, b, c in zip(
                (*low.weights, *low.biases), (*self.weights, *self.biases), (*high.weights, *high.biases), strict=True
            )
        ]
        return np.all(inside, axis=0)


@lru_cache(maxsize=20)
def _every(layers: tuple[int, ...], bound: int) -> Networks:
    shapes = list(pairwise(layers))
    sizes = [a * b for a, b in shapes] + [b for _, b in shapes]
    choices = 2 * bound + 1
    cells = np.unravel_index(np.arange(choices ** sum(sizes)), (choices,) * sum(sizes))
    parts = np.split(np.stack(cells, axis=1).astype(np.int32) - bound, np.cumsum(sizes)[:-1], axis=1)
    weights = [part.reshape(-1, *shape) for part, shape in zip(parts, shapes, strict=False)]
    return Networks(weights, parts[len(shapes) :])


@dataclass(frozen=True, eq=False)
class Task:
    """A goal, and what networks are worth in it, as floats; NaN where they are not feasible."""

    case: Case
    goal: Goal
    worth: Callable[[Networks], np.ndarray]

    def best(self) -> float | None:
        worth = self.worth(Networks.all_of(self.case))
        if np.isnan(worth).all():
            return None
        return float(np.nanmax(worth) if self.goal.maximised else np.nanmin(worth))


def _where(feasible: np.ndarray, worth: np.ndarray | float) -> np.ndarray:
    return np.where(feasible, worth, np.nan)


def feasible(case: Case, rng: np.random.Generator) -> Task:
    return Task(case, objectives.feasible(case.problem), lambda nets: _where(nets.right(case), 0))


def not_forbidden(case: Case, rng: np.random.Generator) -> Task:
    """The signs of some network's first layer are forbidden: of a right one where there is one."""
    everything = Networks.all_of(case)
    chosen = rng.choice(np.flatnonzero(everything.right(case)) if everything.right(case).any() else [0])
    signs = np.where(everything.sums(case)[0][chosen] < 0, -1, 1)
    forbidden = [signs[:, 0], -signs[:, 0], rng.choice([-1, 1], len(case.data))]
    return Task(
        case,
        objectives.feasible(case.problem, forbidden),
        lambda nets: _where(nets.right(case) & nets.without_forbidden(case, forbidden), 0),
    )


def max_margin(case: Case, rng: np.random.Generator) -> Task:
    return Task(case, objectives.max_margin(case.problem), lambda nets: _where(nets.right(case), nets.margins(case)))


def max_margin_of_cp(case: Case, rng: np.random.Generator) -> Task:
    def worth(nets: Networks) -> np.ndarray:
        smallest = sum(np.abs(sums).min(axis=1).sum(axis=1) for sums in nets.sums(case))
        return _where(nets.right(case), smallest)

    return Task(case, objectives.max_margin(case.problem, step=Fraction(0)), worth)


def min_weight(case: Case, rng: np.random.Generator) -> Task:
    return Task(case, min_weight_goal(case.problem), lambda nets: _where(nets.right(case), nets.links()))


def sat_margin(case: Case, rng: np.random.Generator) -> Task:
    return Task(case, objectives.sat_margin(case.problem), lambda nets: nets.confident(case).astype(float))


def sat_margin_within(case: Case, rng: np.random.Generator) -> Task:
    one, other = Networks.random(case, rng), Networks.random(case, rng)
    low, high = (
        Networks(
            [f(a, b) for a, b in zip(one.weights, other.weights, strict=True)],
            [f(a, b) for a, b in zip(one.biases, other.biases, strict=True)],
        )
        for f in (np.minimum, np.maximum)
    )
    bounds = tuple(list(side.network(0, case.bound).weights) for side in (low, high))
    return Task(
        case,
        objectives.sat_margin(case.problem, within=bounds),
        lambda nets: _where(nets.within(low, high), nets.confident(case)),
    )


def max_correct(case: Case, rng: np.random.Generator) -> Task:
    return Task(case, objectives.max_correct(case.problem), lambda nets: nets.correct(case))


def min_hinge(case: Case, rng: np.random.Generator) -> Task:
    return Task(case, objectives.min_hinge(case.problem), lambda nets: nets.hinge(case))


def min_neurons_priced(case: Case, rng: np.random.Generator) -> Task:
    price = int(rng.integers(0, 3, endpoint=True))
    return Task(
        case,
        objectives.min_neurons(case.problem, price=price),
        lambda nets: (nets.confident(case) - price * nets.neurons()).astype(float),
    )


def min_neurons(case: Case, rng: np.random.Generator) -> Task:
    most = int(Networks.all_of(case).confident(case).max())
    # One more than possible must be infeasible.
    least = int(rng.choice([most, most, max(0, most - 1), most + 1]))
    return Task(
        case,
        objectives.min_neurons(case.problem, confident=least),
        lambda nets: _where(nets.confident(case) >= least, nets.neurons()),
    )


ANY_LAYERS = (feasible, max_margin, max_margin_of_cp, min_weight, max_correct)
HIDDEN_LAYERS = (not_forbidden, sat_margin, sat_margin_within, min_hinge, min_neurons_priced, min_neurons)

ARCHITECTURES = (
    # inputs, hidden neurons, outputs, weight bound: at most 3^11 networks each
    (2, (), 2, 1),
    (2, (), 1, 2),
    (2, (1,), 2, 1),
    (2, (1,), 3, 1),
    (1, (2,), 2, 1),
    (2, (2,), 1, 1),
    (1, (1,), 2, 2),
    (2, (1, 1), 2, 1),
    (1, (2, 1), 2, 1),
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Small cases; their codes are those of one class per row, or what some network gives, so that one is right."""
    inputs, hidden, outputs, bound = draw(st.sampled_from(ARCHITECTURES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.integers(2, 5))
    low, high = draw(st.sampled_from(((0, 1), (0, 6), (-3, 3))))
    data = rng.integers(low, high, (rows, inputs), endpoint=True)
    unit = draw(st.sampled_from((1, 4)))
    codes = np.where(rng.integers(max(2, outputs), size=(rows, 1)) == np.arange(outputs), 1, -1)
    case = Case(data, codes, hidden, bound, unit)
    if draw(st.booleans()):
        return case
    taught = Networks.random(case, rng, 1).sums(case)[-1][0] >= 0
    return replace(case, codes=np.where(taught, 1, -1))


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    case = draw(cases())
    make = draw(st.sampled_from(ANY_LAYERS + HIDDEN_LAYERS if case.hidden else ANY_LAYERS))
    return make(case, np.random.default_rng(draw(st.integers(0, 2**32 - 1))))


def without_limit(parts: int) -> Limits:
    return Limits()


def signs_and_margins(case: Case, network: Network) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Per layer, the sign of every neuron on every row, and every neuron's margin."""
    sums = [s[0] for s in Networks.of(network).sums(case)]
    return [np.where(s < 0, -1, 1) for s in sums], [np.where(s >= 0, s, -s - 0.001).min(axis=0) for s in sums]


def largest_margin(inputs: np.ndarray, worth: int, signs: np.ndarray, bound: int) -> float:
    """The largest margin of one neuron with these signs, over all its weights and biases."""
    margins = []
    for *weights, bias in product(range(-bound, bound + 1), repeat=inputs.shape[1] + 1):
        sums = inputs @ np.array(weights) + worth * bias
        if np.array_equal(np.where(sums < 0, -1, 1), signs):
            margins.append(np.where(sums >= 0, sums, -sums - 0.001).min())
    return max(margins)
