"""One hidden layer of one or two neurons and one output: closed forms, for any weights.

**Max-Margin.** No sum is 0, so the output is an odd function of the signs of two neurons: it is one of them, up to a
flip.  With U the largest margin of a neuron that gives the codes, and M* that of any neuron, the largest sum of margins
is

    max(U + M* + P, 2 U + 2 P),

the first with an output that sees one neuron only, the second with two neurons that give the codes; with one neuron it
is U + P.  If no neuron gives the codes, there is no network, whatever the layers above are.
``bemi.certificate.widest`` has the proof.

**Sat-Margin.** Let an output be confident from t >= 1 on.  If its weights have absolute values a >= b with
``a - b >= t``, its sign is the first neuron's, up to a flip; otherwise it is confident only where both agree.  So no
network has more rows right than the best single neuron, whose output has the weight P or -P.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bemi.engines.decomposition.max_margin.search import distinct_rows
from bemi.engines.decomposition.neuron.all_weights import AllWeights, seconds_needed
from bemi.engines.decomposition.neuron.widest import widest
from bemi.engines.portfolio import Finding, StageState
from bemi.limits import Limits
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.stages.result import Outcome, Proof

MOST_SECONDS = 100.0
"""Without a limit, searches over all weights that take longer are not begun."""

MOST_INPUTS = 64
"""Inputs up to which the search over a neuron's weights is worth a try."""


def applies(problem: Problem, state: StageState) -> bool:
    """Whether the problem has so few neurons, one output and few enough inputs."""
    return (
        bool(problem.hidden_layers)
        and problem.layers[1] <= 2
        and problem.layers[-1] == 1
        and not problem.biased
        and len(problem.live) <= MOST_INPUTS
    )


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: the best network, or that there is none."""
    distinct, bound, clock = distinct_rows(problem), problem.weight_bound, limits.deadline()
    data, codes = distinct.data, distinct.codes[:, 0]
    labels = widest(data, codes, bound, clock)
    if labels.weights is None:
        return Finding(outcome=Outcome.INFEASIBLE if labels.bound == 0 else Outcome.NOT_FOUND)
    if len(problem.hidden_layers) > 1:
        return Finding()
    if problem.layers[1] == 1:
        first, output, most = labels.weights[:, None], np.array([[bound]]), labels.bound + bound
        proof = _proof(labels=labels.proof)
    else:
        best = widest(data, np.zeros_like(codes), bound, clock)
        other, link = labels.weights, bound
        if best.weights is not None and best.margin >= labels.margin + bound:
            other, link = best.weights, 0
        first, output = np.stack([labels.weights, other], axis=1), np.array([[bound], [link]])
        most = max(labels.bound + best.bound + bound, 2 * labels.bound + 2 * bound)
        proof = _proof(labels=labels.proof, any=best.proof)
    support: Proof = "computed" if proof is None else "certified"
    return Finding(Network((first, output), bound), bound=most, proof=proof, support=support, outcome=Outcome.LIMIT)


AGREEMENT = 8.0
"""How many times as long as a list it takes to count the rows on which neurons agree."""


def agreement_applies(problem: Problem, state: StageState) -> bool:
    """Whether all weights of a neuron can be tried in the time."""
    if len(problem.layers) != 3 or not applies(problem, state) or not len(problem.live):
        return False
    needed = 2 * AGREEMENT * seconds_needed(problem.live.size, problem.weight_bound)
    return needed < (MOST_SECONDS if state.clock.left is None else state.clock.left)


def search_agreement(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy for Sat-Margin: the neuron that agrees with most codes, or with most codes turned round."""
    every, codes, clock = AllWeights(problem.data, problem.weight_bound), problem.codes[:, 0], limits.deadline()
    best, value, complete = None, 0 if state.value is None else state.value, True
    for turn in (1, -1):
        neuron, reached, tried = every.agreeing(turn * codes, clock, beaten=value)
        complete = complete and tried
        if neuron is not None:
            others = np.zeros_like(neuron)
            first = np.stack([neuron, *[others] * (problem.layers[1] - 1)], axis=1)
            output = np.zeros((problem.layers[1], 1), dtype=np.int64)
            output[0] = turn * problem.weight_bound
            best, value = Network((first, output), problem.weight_bound), reached
    return Finding(best, bound=value if complete else None, support="computed", outcome=Outcome.LIMIT)


def _proof(**neurons: list[Any] | None) -> dict[str, Any] | None:
    """R62's proof, unless a part would take the checker too long."""
    return None if None in neurons.values() else {"kind": "single-neurons", **neurons}
