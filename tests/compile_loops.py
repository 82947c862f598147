"""Runs every compiled loop of the engines once, so that no test waits for the compiler; `make test` does so first."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
from strategies import run_only

from bemi import BeMiClassifier, FewBitClassifier
from bemi.engines import initial_network
from bemi.engines.decomposition.max_margin.nodes import Budget
from bemi.engines.decomposition.max_margin.pairs import annealed_pair
from bemi.engines.decomposition.max_margin.raising import raised
from bemi.engines.decomposition.min_weight import separators
from bemi.engines.decomposition.neuron import shortlist
from bemi.engines.decomposition.neuron.exhaustive import best_neuron
from bemi.engines.decomposition.neuron.linear_program import NeuronLP
from bemi.engines.decomposition.sat_margin import annealing as walk
from bemi.engines.decomposition.sat_margin import prices
from bemi.engines.decomposition.soft.resolution import choose_resolution
from bemi.limits import Deadline, Limits
from bemi.problem import KeepMargins, Problem


def main() -> None:
    rng = np.random.default_rng(0)
    data = rng.integers(0, 30, (4, 6))
    problem = Problem(data, np.repeat([[1], [-1]], 2, axis=0), (2,), 2)
    limits = Limits(nodes=30)
    widest = run_only("mm", "dichotomies", problem=problem, start=initial_network(problem), limits=limits)
    assert widest.network is not None
    margins = KeepMargins(tuple(widest.network.margins(problem.data, problem.codes)))
    small = Problem(rng.integers(-9, 10, (6, 5)), np.repeat([[1], [-1]], 3, axis=0), (3,), 1)
    listed = run_only("mm", "lists", problem=small, start=initial_network(small), limits=limits)
    if listed.network is not None and listed.ran:
        kept = KeepMargins(tuple(listed.network.margins(small.data, small.codes)))
        run_only("mw", "lists", problem=small, start=listed.network, keep=kept, limits=limits)
    run_only("mw", "turns", problem=problem, start=widest.network, keep=margins, limits=limits)
    shortlist.Lister(NeuronLP(data, 2), np.arange(len(data)), 50).extend(0, 20)
    _separators(rng.integers(0, 9, (8, 4)))
    walk.most_confident(problem, initial_network(problem), proposals=100)
    prices.priced_bound(problem, initial_network(problem), Deadline())
    raised(problem, widest.network, budget=Budget(10), seed=0)
    best_neuron(problem.data, problem.codes[:, 0], 2)
    annealed_pair(problem.data, problem.codes[:, 0], 2, seed=0, deadline=Deadline.after(0.1))
    flat = replace(problem, hidden_layers=())
    for kind, max_links in product((np.int8, np.int16, np.int64), (None, 2)):
        short = replace(flat, data=flat.data.astype(kind))
        soft, network = choose_resolution(short, 10.0, max_links=max_links)
        run_only("soft", "outputs", problem=replace(short, soft=soft), start=network, limits=limits)
    _images(rng.integers(0, 17, (24, 64)))


def _images(rows: np.ndarray) -> None:
    """Histograms, deformed copies, rows that stand for others, and the choice among candidates."""
    limits = {"node_limit": 1, "time_limit": None}
    FewBitClassifier((8, 8), **limits).fit(rows, np.arange(24) % 2)
    BeMiClassifier((), stages=("sm",), max_per_class=4, **limits).fit(rows, np.arange(24) % 2)


def _separators(data: np.ndarray) -> None:
    task = separators.Task(data, np.arange(8) % 2 == 0, 1, separators.MOST_NEURONS, (True, True))
    separators.with_links(task, 2)
    separators.walked(task, None, 2, proposals=100)
    alone = separators.Task(data, data @ [1, 1, -1, 0] >= 0, 1, 1, (True, True))
    separators.stripped(alone, np.array([1, 1, -1, 0]), False)


if __name__ == "__main__":
    main()
