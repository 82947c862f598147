"""Min-Weight after soft margins against every network of a tiny problem, with all kinds of limits."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from soft_brute import allowed, by_hand, norm, problems
from strategies import run_only

from bemi.limits import Limits
from bemi.problem import KeepObjective


def proved(problem, proof, ceiling):
    """``min over all networks of links + theta (g.w part of the bound - V)``, in fractions from the proof's rules."""
    numerator, denominator = (int(part, 16) for part in proof["theta"].split("/"))
    theta, rows = Fraction(numerator, denominator), len(problem.data)
    total = -theta * ceiling
    for output, tree in enumerate(proof["outputs"]):
        t, hinges = problem.soft.resolutions[output], problem.soft.hinges
        g, gain = [Fraction(0)] * problem.data.shape[1], Fraction(0)
        for term, units in tree["multipliers"]:
            hinge, k = divmod(term, rows)
            mu, row = Fraction(units, proof["denominator"]), problem.data[k].tolist()
            gain += mu * norm(row) * (t if hinges == 1 else t / 2 + t * hinge)
            g = [a + mu * int(problem.codes[k, output]) * v for a, v in zip(g, row, strict=True)]
        total += theta * gain + min(
            sum((w != 0) + theta * (Fraction(w * w, 2) - w * a) for w, a in zip(column, g, strict=True))
            for column in allowed(problem, output)
        )
    return math.ceil(total)


@given(problems(), st.sampled_from([0.0, 0.05, 0.5]))
@settings(max_examples=80)
def test_it_against_every_network(case, loss):
    problem, start = case
    best = run_only("soft", "outputs", problem=problem, start=start, limits=Limits())
    ceiling = (1 + Fraction(loss)) * best.objective
    result = run_only(
        "mw", "soft links", problem=problem, start=best.network, keep=KeepObjective(ceiling), limits=Limits()
    )
    columns = [
        [(by_hand(problem, column, output), np.count_nonzero(column)) for column in allowed(problem, output)]
        for output in range(problem.codes.shape[1])
    ]
    fewest = min(
        sum(used for _, used in choice) for choice in product(*columns) if sum(value for value, _ in choice) <= ceiling
    )
    assert problem.allows(result.network)
    assert problem.soft_value(result.network) <= ceiling
    assert result.bound <= fewest <= result.objective == result.network.links <= best.network.links
    if result.certificate is not None:
        assert result.bound <= proved(problem, result.certificate, ceiling)
