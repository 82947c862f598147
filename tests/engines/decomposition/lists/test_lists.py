"""All neurons of a margin, and their combinations, against lists and networks made in the plainest way."""

from __future__ import annotations

from contextlib import contextmanager
from itertools import combinations_with_replacement, count, product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import AllNetworks, tiny_problems
from strategies import run_only

from bemi import limits
from bemi.engines import initial_network
from bemi.engines.decomposition.lists import bitset_tree, combination, max_margin
from bemi.engines.decomposition.lists.bitset_tree import Forest, fitting
from bemi.engines.decomposition.lists.upper_layers import widest_forms
from bemi.engines.decomposition.neuron.all_weights import AllWeights
from bemi.limits import FOREVER, Deadline, Limits
from bemi.problem import KeepMargins, Problem
from bemi.stages import Outcome


def dichotomies(rows, bound, level):
    """Largest margin and fewest links by signs, + on the first row."""
    found: dict[tuple[int, ...], tuple[int, int]] = {}
    for weights in product(range(-bound, bound + 1), repeat=rows.shape[1]):
        sums = rows @ np.array(weights)
        if sums[0] > 0 and np.abs(sums).min() >= level:
            key = tuple(np.sign(sums).tolist())
            wide, few = found.get(key, (0, len(weights)))
            found[key] = max(wide, int(np.abs(sums).min())), min(few, int(np.count_nonzero(weights)))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_lists_hold_every_dichotomy_with_its_best_neuron(seed):
    rng = np.random.default_rng(seed)
    bound = int(rng.integers(1, 4))
    inputs = int(rng.integers(1, 7 if bound == 1 else 4))
    factor = (1, 5000, 2**30)[seed % 3]  # lanes of 16, 32 and 64 bits
    rows = rng.integers(-6, 7, (int(rng.integers(1, 70 if seed % 5 == 0 else 12)), inputs)) * factor
    rows[:, 0] += rows.any(axis=1) == 0
    level = int(rng.choice([1, 1 + 2 * factor]))
    want = dichotomies(rows, bound, level)
    for by_links in (False, True):
        listed = AllWeights(rows, bound).list(level, FOREVER, by_links=by_links)
        sums = rows @ listed.weights
        signs = np.sign(sums) * np.sign(sums[0])
        assert listed.complete
        assert (np.abs(sums).min(axis=0) == listed.margins).all()
        best = {key: -few if by_links else wide for key, (wide, few) in want.items()}
        assert dict(zip(map(tuple, signs.T.tolist()), listed.values.tolist(), strict=True)) == best
        assert (np.diff(listed.values) <= 0).all()
        wrong = np.array([[int(w) >> (k & 63) & 1 for k, w in enumerate(np.repeat(words, 64)[: len(rows)])]
                          for words in listed.wrong]).reshape(-1, len(rows))  # fmt: skip
        assert ((sums < 0) == wrong.T).all()


def test_a_list_that_ends_early_says_so(monkeypatch):
    rows = np.random.default_rng(0).integers(-9, 10, (30, 9))
    every = AllWeights(rows, 1).list(1, FOREVER)
    assert every.complete
    assert len(every.values) > 2048
    assert not AllWeights(rows, 1).list(1, FOREVER, most=1000).complete


@pytest.mark.parametrize("looks", [0, 10, 10**9])
def test_trees_find_the_best_neuron_that_fits(monkeypatch, looks):
    """However early the time to build them is up."""
    ticks = count(1)
    monkeypatch.setattr(limits, "now", lambda: next(ticks))
    monkeypatch.setattr(bitset_tree, "LOOK", 1)
    rng = np.random.default_rng(1)
    rows = rng.integers(-9, 10, (70, 8))
    listed = AllWeights(rows, 1).list(1, FOREVER)
    forest = Forest.of([listed], len(rows), deadline=Deadline.after(looks))
    assert len(forest.best) == 1 if looks == 0 else (len(forest.best) < 30) == (looks < 30)
    table = (forest.wrong[:, np.arange(70) >> 6] >> (np.arange(70) & 63).astype(np.uint64) & np.uint64(1)).astype(bool)
    stack = np.zeros(len(forest.best) + 4, dtype=np.int64)
    for _ in range(300):
        chosen = rng.permutation(70)[: rng.integers(0, 8)]
        right, wrong = np.split(chosen, [rng.integers(0, len(chosen) + 1)])
        fits = ~table[:, right].any(axis=1) & table[:, wrong].all(axis=1)
        floor = int(rng.integers(0, 6))
        words = [np.zeros(2, np.uint64) for _ in range(2)]
        for word, some in zip(words, (right, wrong), strict=True):
            for k in some.tolist():
                word[k >> 6] |= np.uint64(1 << (k & 63))
        out = np.zeros(len(forest.values), dtype=np.int32)
        arguments = (
            *(forest.wrong, forest.values, forest.members, forest.always, forest.sometimes),
            *(forest.best, forest.span, forest.children, stack, out),
        )
        found = out[0] if fitting(0, *words, floor, True, *arguments) else -1
        best = forest.values[fits].max(initial=-1)
        assert (found < 0) == (best < floor)
        if found >= 0:
            assert fits[found]
            assert forest.values[found] == best
        number = fitting(0, *words, floor, False, *arguments)
        assert sorted(out[:number].tolist()) == np.flatnonzero(fits & (forest.values >= floor)).tolist()


def test_dominated_neurons_are_searched_for_as_long_as_there_is_time(monkeypatch):
    ticks = count(1)
    monkeypatch.setattr(limits, "now", lambda: next(ticks))
    monkeypatch.setattr(bitset_tree, "LOOK", 1)
    monkeypatch.setattr(bitset_tree, "FIRST_BLOCK", 100)
    rows = np.random.default_rng(2).integers(-9, 10, (12, 8))
    listed = AllWeights(rows, 1).list(1, FOREVER)
    kept = [
        len(Forest.of([listed], len(rows), all_entries=False, best_only=True, deadline=Deadline.after(looks)).members)
        for looks in (0, 1000, 10**9)
    ]
    assert kept[0] == 2 * len(listed.values) > kept[1] > kept[2]


def test_dominated_neurons_are_left_out(monkeypatch):
    monkeypatch.setattr(bitset_tree, "FIRST_BLOCK", 1)
    rng = np.random.default_rng(2)
    rows = rng.integers(-9, 10, (12, 6))
    listed = AllWeights(rows, 1).list(1, FOREVER)
    forest = Forest.of([listed], len(rows), all_entries=False, best_only=True)
    wrong, values = forest.wrong[:, 0], forest.values
    beaten = (wrong & ~wrong[:, None] == 0) & (values >= values[:, None])
    np.fill_diagonal(beaten, False)
    kept = np.zeros(len(values), dtype=bool)
    kept[forest.members] = True
    assert forest.roots[0, 0] == -1
    # Not all others are: those of a block are not compared.
    assert beaten[~kept][:, kept].any(axis=1).all()
    assert kept[~beaten.any(axis=1)].all()
    assert kept.sum() < len(kept) / 2


@pytest.mark.parametrize("seed", range(8))
def test_sat_margin_finds_networks_that_are_right_on_all_rows(seed):
    rng = np.random.default_rng(seed)
    data = rng.integers(-9, 10, (40, 8))
    sums = data @ rng.integers(-1, 2, (8, 3))
    kept = (sums != 0).all(axis=1)
    codes = np.sign(np.sign(sums[kept]).sum(axis=1, keepdims=True))
    problem = Problem(data[kept], codes, (3,), 1)
    found = lists_only("sm", problem, initial_network(problem))
    assert found.objective == len(codes)
    assert found.network.margins(problem.data, codes) is not None


def test_forms_of_known_shapes():
    """Labels alone or with others, and majorities: (q, e) neurons of which at most e are wrong are worth q - 2 e."""
    assert sorted(form.value for form in widest_forms((3,), 1)) == [1, 1, 2, 3]
    assert sorted(form.value for form in widest_forms((5,), 1)) == [1, 1, 1, 2, 2, 3, 3, 4, 5]
    assert [form.value for form in widest_forms((4, 4), 1)][:6] == [20, 16, 12, 12, 11, 10]
    for hidden, bound in (((3,), 2), ((4, 4), 1), ((4, 4), 2), ((3, 2), 3)):
        neurons = hidden[0]
        for form in widest_forms(hidden, bound):
            patterns = [p for p in range(1 << neurons) if form.accepted >> p & 1]
            signs = np.array([[1 - 2 * (p >> j & 1) for j in range(neurons)] for p in patterns])
            total = 0
            for layer in form.upper:
                sums = signs @ np.array(layer)
                total, signs = total + int(np.abs(sums).min(axis=0).sum()), np.sign(sums)
            assert (signs == 1).all()
            assert total >= form.value


def lists_only(stage, problem, start, keep=None, limits=None):
    extra = {} if keep is None else {"keep": keep}
    return run_only(stage, "lists", problem=problem, start=start, limits=limits or Limits(), **extra)


@contextmanager
def short_lists(stage, short):
    """Lists hold as few neurons as they may, so that most must be asked for one at a time; the shortest are thinned."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bitset_tree, "FIRST_BLOCK", 2)
        patch.setattr(combination, "ROUND", 4)  # searches from above begin at once
        if short and stage == "mm":
            patch.setattr(AllWeights, "level_of", lambda self, dichotomies: 1 << 40)
        elif short:
            # Inputs of upper layers are signs.
            hopeless = property(lambda self: 1 if np.abs(self._sums).max() <= 3 * self.bound else 1 << 40)
            patch.setattr(AllWeights, "hopeless_below", hopeless)
        yield


@settings(max_examples=200, deadline=None)
@given(problem=tiny_problems(), short=st.booleans())
def test_lists_equal_brute_force(problem, short):
    if not problem.hidden_layers or problem.codes.shape[1] > 1:
        return
    every = AllNetworks.of(problem)
    best = every.best("mm")
    start = initial_network(problem)
    with short_lists("mm", short):
        found = lists_only("mm", problem, start)
    assert found.objective == found.bound == best
    assert found.outcome is (Outcome.INFEASIBLE if best is None else Outcome.OPTIMAL)
    if found.network is None or best is None:
        return
    margins = found.network.margins(problem.data, problem.codes)
    with short_lists("mw", short):
        smallest = lists_only("mw", problem, found.network, KeepMargins(tuple(margins)))
    links = every.best("mw", margins)
    assert smallest.bound <= links <= smallest.objective
    assert short or smallest.objective == smallest.bound


def upper_value(signs, hidden, bound, margins):
    """The best value of the layers above: their sum of margins, or their fewest links that keep margins."""
    columns = np.array(list(product(range(-bound, bound + 1), repeat=signs.shape[1])))
    sums = signs @ columns.T
    if not hidden:
        reached = sums.min(axis=0)
        if margins is None:
            return int(reached.max()) if reached.max() >= 1 else None
        links = np.count_nonzero(columns, axis=1)[reached >= margins[0][0]]
        return -int(links.min()) if len(links) else None
    return best_choice(signs, hidden, bound, margins)


def best_choice(rows, hidden, bound, margins):
    """The best value of all layers by every choice of dichotomies for the first; None if there is no network."""
    levels = [1] if margins is None else sorted(set(margins[0]))
    known = {level: dichotomies(rows, bound, level) for level in levels}
    flips = {
        level: [(np.array(s), wide if margins is None else -few) for s, (wide, few) in entries.items()]
        for level, entries in known.items()
    }
    if margins is None:
        choices = combinations_with_replacement(flips[1], hidden[0])
    else:
        choices = product(*(flips[m] for m in margins[0]))
    best, seen = None, {}
    for choice in choices:
        signs = np.unique(np.stack([s for s, _ in choice], axis=1), axis=0)
        key = signs.tobytes()
        if key not in seen:
            seen[key] = upper_value(signs, hidden[1:], bound, None if margins is None else margins[1:])
        if seen[key] is not None:
            value = sum(v for _, v in choice) + seen[key]
            best = value if best is None else max(best, value)
    return best


SHAPES = ((2,), (3,), (4,), (5,), (4, 4), (3, 2), (3, 3))


@pytest.mark.parametrize("seed", range(120))
def test_lists_equal_all_choices_of_neurons(seed):
    rng = np.random.default_rng(seed)
    hidden, bound = SHAPES[seed % len(SHAPES)], int(rng.choice([1, 1, 2, 3]))
    inputs, rows = int(rng.integers(2, 5 if bound == 1 else 3)), int(rng.integers(2, 8))
    data = rng.integers(-6, 7, (rows, inputs)) if seed % 2 else rng.integers(0, 30, (rows, inputs))
    data = data[data.any(axis=1)]
    codes = np.where(data @ rng.integers(-bound, bound + 1, (inputs, 1)) >= 0, 1, -1)
    codes *= np.where(rng.random(codes.shape) < 0.2, -1, 1)
    signed = np.unique(data * codes, axis=0)
    if not len(data) or comb(len(dichotomies(signed, bound, 1)) + hidden[0] - 1, hidden[0]) > 800:
        return
    problem, short = Problem(data, codes, hidden, bound), seed % 4 == 1
    start = initial_network(problem)
    with short_lists("mm", short):
        found = lists_only("mm", problem, start)
    best = best_choice(signed, hidden, bound, None)
    assert found.objective == found.bound == best
    if best is None:
        assert found.outcome is Outcome.INFEASIBLE
        return
    margins = found.network.margins(data, codes)
    if seed % 3 == 0:
        margins = [np.maximum(1, m - rng.integers(0, 2, m.shape)) for m in margins]
    if len(dichotomies(signed, bound, 1)) ** hidden[0] > 2000:
        return
    with short_lists("mw", short):
        smallest = lists_only("mw", problem, found.network, KeepMargins(tuple(margins)))
    links = -best_choice(signed, hidden, bound, [m.tolist() for m in margins])
    assert smallest.bound <= links <= smallest.objective
    assert short or smallest.objective == smallest.bound


def test_a_bound_without_combinations_holds():
    rng = np.random.default_rng(5)
    data = rng.integers(-10, 11, (14, 8))
    problem = Problem(data, rng.choice([-1, 1], (14, 1)), (3,), 1)
    start = initial_network(problem)
    best = lists_only("mm", problem, start)
    assert best.outcome is Outcome.OPTIMAL
    assert best.network is not None
    short = lists_only("mm", problem, best.network, limits=Limits(nodes=0))
    assert short.bound > best.objective == short.objective
    assert short.certificate is None


def test_bounds_fall_as_far_as_steps_allow_and_hold(monkeypatch):
    monkeypatch.setattr(combination, "ROUND", 20)
    monkeypatch.setattr(max_margin, "STEPS_PER_NODE", 50)
    rng = np.random.default_rng(7)
    data = rng.integers(-10, 11, (18, 8))
    problem = Problem(data, rng.choice([-1, 1], (18, 1)), (3,), 1)
    best = lists_only("mm", problem, initial_network(problem))
    limits = [Limits(nodes=nodes) for nodes in (1, 2, 4, 8, 16, 32, 64, 10_000)]
    bounds = [lists_only("mm", problem, best.network, limits=each).bound for each in limits]
    assert sorted(bounds, reverse=True) == bounds
    assert bounds[-1] == best.objective
    assert len(set(bounds)) >= 3, bounds


def test_without_time_nothing_is_claimed():
    rng = np.random.default_rng(0)
    problem = Problem(rng.integers(-9, 10, (20, 12)), rng.choice([-1, 1], (20, 1)), (4, 4), 1)
    found = lists_only("mm", problem, initial_network(problem), limits=Limits(seconds=0.0))
    assert found.outcome is not Outcome.INFEASIBLE
