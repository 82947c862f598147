"""Max-Margin in closed form: one hidden layer of one or two neurons, one output, any weights.

No sum is 0, so the output is an odd function of the signs of two neurons: it is one of them, up to a flip.  With U the
largest margin of a neuron that gives the codes, and M* that of any neuron, the largest sum of margins is

    max(U + M* + P, 2 U + 2 P),

the first with an output that sees one neuron only, the second with two neurons that give the codes; with one neuron it
is U + P.  If no neuron gives the codes, there is no network, whatever the layers above are.
``bemi.certificate.widest`` has the proof.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bemi.engines.decomposition.max_margin.search import distinct_rows
from bemi.engines.decomposition.neuron.widest import widest
from bemi.engines.portfolio import Finding, StageState
from bemi.limits import Limits
from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.stages.result import Outcome

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
    return Finding(
        Network((first, output), bound), bound=most, proof=proof, certified=proof is not None, outcome=Outcome.LIMIT
    )


def _proof(**neurons: list[Any] | None) -> dict[str, Any] | None:
    """R62's proof, unless a part would take the checker too long."""
    return None if None in neurons.values() else {"kind": "single-neurons", **neurons}
