"""Tiny soft-margin problems with all their limits, and their objective over every network."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st

from bemi.engines.decomposition.soft.resolution import choose_resolution
from bemi.problem import ROW_WEIGHT_UNIT, Problem


@st.composite
def problems(draw):
    """Up to four inputs, six rows (some may be zero), one or two outputs, P up to 2; some limits, all or none."""
    inputs = draw(st.integers(1, 4))
    outputs = draw(st.integers(1, 2)) if inputs <= 2 else 1
    rows = draw(st.integers(1, 6))

    def table(values, height, width):
        line = st.lists(values, min_size=width, max_size=width)
        return np.array(draw(st.lists(line, min_size=height, max_size=height)))

    bits = draw(st.booleans())
    data = table(st.sampled_from([-1, 1]) if bits else st.integers(-5, 6), rows, inputs)
    problem = Problem(
        data,
        table(st.sampled_from([-1, 1]), rows, outputs),
        (),
        draw(st.integers(1, 2)),
        row_weights=draw(st.none() | st.just(1)) and table(st.integers(1, 3 * ROW_WEIGHT_UNIT), 1, rows)[0],
        signs=draw(st.none() | st.just(1)) and table(st.integers(-1, 1), inputs, outputs),
        uncounted=draw(st.sampled_from([(), (inputs - 1,)])),
    )
    price = draw(st.sampled_from([0.25, 1.0, 10.0]))
    soft, start = choose_resolution(problem, price, draw(st.sampled_from([1, 2])), draw(st.none() | st.integers(1, 3)))
    return replace(problem, soft=soft), start


def norm(row):
    """``isqrt`` of the sum of squares, by counting."""
    square, root = sum(v * v for v in row), 0
    while (root + 1) ** 2 <= square:
        root += 1
    return root


def by_hand(problem, column, output):
    """The objective of one output in fractions, written out."""
    soft, t = problem.soft, problem.soft.resolutions[output]
    total = Fraction(sum(w * w for w in column), 2)
    for k, row in enumerate(problem.data.tolist()):
        if nu := norm(row):
            omega = 1 if problem.row_weights is None else Fraction(int(problem.row_weights[k]), 2**16)
            y = Fraction(int(problem.codes[k, output]) * sum(a * b for a, b in zip(row, column, strict=True)), nu)
            targets = [t] if soft.hinges == 1 else [t / 2, 3 * t / 2]
            total += sum(soft.price * t * omega / soft.hinges * max(Fraction(0), target - y) for target in targets)
    return total


def allowed(problem, output):
    """Every column of weights of an output within the limits on signs and links."""
    bound, inputs = problem.weight_bound, problem.data.shape[1]
    for column in product(range(-bound, bound + 1), repeat=inputs):
        signs = [0] * inputs if problem.signs is None else problem.signs[:, output].tolist()
        links = sum(w != 0 for i, w in enumerate(column) if i not in problem.uncounted)
        most = problem.soft.max_links
        if all(w * s >= 0 for w, s in zip(column, signs, strict=True)) and (most is None or links <= most):
            yield column


def best(problem):
    """The smallest objective of all networks, by output."""
    return [
        min(by_hand(problem, column, output) for column in allowed(problem, output))
        for output in range(problem.codes.shape[1])
    ]


def proved(problem, proof, output):
    """The bound that a tree of multipliers proves, recomputed in fractions from its rules."""
    soft, t, rows = problem.soft, problem.soft.resolutions[output], len(problem.data)
    denominator = proof["denominator"]

    def leaf(multipliers, box):
        g, gain = [Fraction(0)] * problem.data.shape[1], Fraction(0)
        for term, numerator in multipliers:
            hinge, k = divmod(term, rows)
            mu, row = Fraction(numerator, denominator), problem.data[k].tolist()
            omega = 1 if problem.row_weights is None else Fraction(int(problem.row_weights[k]), 2**16)
            assert 0 <= mu * norm(row) <= soft.price * t * omega / soft.hinges
            gain += mu * norm(row) * (t if soft.hinges == 1 else t / 2 + t * hinge)
            g = [a + mu * int(problem.codes[k, output]) * v for a, v in zip(g, row, strict=True)]
        bounds = [
            gain + sum(Fraction(w * w, 2) - w * a for w, a in zip(column, g, strict=True))
            for column in allowed(problem, output)
            if all(low <= w <= high for w, (low, high) in zip(column, box, strict=True))
        ]
        return min(bounds, default=None)

    def smallest(tree, box):
        if "multipliers" in tree:
            return leaf(tree["multipliers"], box)
        i, value = tree["split"]
        low, high = box[i]
        assert low <= value < high
        parts = [(low, value), (value + 1, high)]
        found = [
            smallest(child, [*box[:i], part, *box[i + 1 :]])
            for child, part in zip(tree["children"], parts, strict=True)
        ]
        return min((bound for bound in found if bound is not None), default=None)

    bound = problem.weight_bound
    return smallest(proof["outputs"][output], [(-bound, bound)] * problem.data.shape[1])
