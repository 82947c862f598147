"""Shapes: bounds on splitting neurons that divide many codes, against all dichotomies of a few rows."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from bemi.certificate import Rows
from bemi.certificate.margins import MarginProof
from bemi.certificate.shapes import shapes
from bemi.engines.decomposition.max_margin.dichotomies import Search
from bemi.engines.decomposition.max_margin.nodes import Budget, Node, PartialNeuron
from bemi.engines.decomposition.max_margin.search import distinct_rows
from bemi.engines.decomposition.max_margin.shapes import shape_labels
from bemi.problem import Problem, class_codes


def few_rows(seed: int, rows: int = 7, codes: int = 5, neurons: int = 4, low: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(codes), rng.integers(0, codes, rows - codes)])
    data = rng.integers(low, 40, (rows, 6))
    return distinct_rows(Problem(data, class_codes(8)[labels], (neurons, neurons), 1))


def all_dichotomies(search: Search) -> list[tuple[int, np.ndarray]]:
    """Every dichotomy of the rows, + on the first, with the bound of its linear program."""
    rows = search.instance.rows
    columns = [np.array((1, *rest), dtype=np.int8) for rest in product((1, -1), repeat=rows - 1)]
    return [(search.instance.margin(column), column) for column in columns]


def largest_sum(search: Search, neurons: int) -> int:
    """The largest sum of margins of neurons that tell all codes apart, over all choices of dichotomies."""
    every = [(margin, column) for margin, column in all_dichotomies(search) if margin >= 1]
    every.sort(key=lambda entry: -entry[0])
    a, b = search.instance.pair_a, search.instance.pair_b
    apart = [int("".join("01"[int(x)] for x in column[a] != column[b]), 2) for _, column in every]
    everything = (1 << len(a)) - 1
    best = 0
    for chosen in combinations_with_replacement(range(len(every)), neurons):
        total = sum(every[i][0] for i in chosen)
        if total > best:
            seen = 0
            for i in chosen:
                seen |= apart[i]
            if seen == everything:
                best = total
    return best


@pytest.mark.parametrize(("codes", "neurons"), [(2, 1), (2, 2), (3, 2), (4, 2), (3, 3), (5, 3), (6, 3), (8, 3)])
def test_the_checker_lists_the_same_shapes(codes, neurons):
    assert {tuple(line) for line in shape_labels(codes, neurons).tolist()} == shapes(codes, neurons)


def node_with_merged_rows(search: Search) -> Node:
    """A node in which the wide neuron is constant on all rows."""
    rows = search.instance.rows
    cap, _, _, _ = search._largest_margin()
    search.incumbent.cap = cap
    empty = PartialNeuron(np.zeros(rows, dtype=np.int8), np.arange(rows), None, cap)
    merged = np.zeros(rows, dtype=np.int64)
    return Node([empty] * 4, dict.fromkeys(search.deductions.wide_tiers, merged), 0, [])


def test_no_three_neurons_do_better_than_shapes_allow():
    exact = refined = 0
    for seed in range(25):
        problem = few_rows(seed, codes=3 + seed % 3, low=-20 if seed % 2 else 0)
        search = Search(problem, Budget(10**6))
        best = largest_sum(search, search.deductions.n_splitting)
        node = node_with_merged_rows(search)
        search.shapes.bound(node)
        first = node.together
        assert first >= best
        node.total = node.together  # nothing else counts here
        while search.shapes.refine(node, 200):
            node.total = node.together
        assert best <= node.together <= first
        refined += node.together < first
        exact += node.together == best
    assert refined > 3
    assert exact > 15


def test_searches_with_shapes_equal_all_sign_matrices():
    """Value and bound of a search without limits are those of the best four dichotomies, and the proof holds."""
    steps = 0
    for seed in range(4):
        problem = few_rows(seed, rows=6, codes=(5, 4, 3, 5)[seed], low=-20 if seed % 3 == 0 else 0)
        search = Search(problem, Budget())
        search.run()
        assert search.shapes.usable
        able = [entry for entry in all_dichotomies(search) if entry[0] >= 1]
        best = 0
        for chosen in combinations_with_replacement(able, 4):
            total = sum(margin for margin, _ in chosen)
            if total + 32 > best:
                signs = np.stack([column for _, column in chosen], axis=1)
                best = max(best, total + (search.instance.upper_of(signs) or -(10**9)))
        assert search.bound == max(best, 0)
        rows = Rows(problem.data.tolist(), problem.codes.tolist(), problem.layers, 1)
        assert MarginProof(rows, search.proof).bound() == search.bound
        steps += str(search.proof["tree"]).count("'Y'")
    assert steps > 3


def test_proofs_hold_however_early_the_search_stops():
    rng = np.random.default_rng(3)
    centres = rng.integers(20, 200, (6, 30))
    data = np.concatenate([np.clip(c + rng.integers(-60, 61, (3, 30)), 0, 255) for c in centres])
    problem = distinct_rows(Problem(data, np.repeat(class_codes(8)[:6], 3, axis=0), (4, 4), 1))
    rows = Rows(problem.data.tolist(), problem.codes.tolist(), problem.layers, 1)
    bounds = []
    for nodes in (5, 20, 60, 100, 200, 400):
        search = Search(problem, Budget(nodes))
        search.run()
        bounds.append(search.bound)
        assert MarginProof(rows, search.proof).bound() == search.bound
    assert bounds[-1] < bounds[0]
