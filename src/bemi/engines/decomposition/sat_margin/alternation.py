"""Sat-Margin with one hidden layer and one output: the best weights of one neuron after the other.

With the other neurons fixed, some rows are confident whatever a neuron does, some never, and on the others it has to be
right.  The neuron that is right on most of them is found exactly by
:mod:`bemi.engines.decomposition.neuron.exhaustive`.  Neurons are replaced in random order until nothing
improves. Then one of them, or all, begin anew, each from the rows of a random part of the data.
"""

from __future__ import annotations

import numpy as np

from bemi.engines.decomposition.neuron.exhaustive import best_agreement
from bemi.engines.portfolio import Finding, StageState
from bemi.exact import Integers
from bemi.limits import Deadline, Limits
from bemi.network import Network, confidence_threshold, sign
from bemi.problem.problem import Problem
from bemi.stages.result import Outcome

RESTARTS, RESTARTS_PER_NODE, RESTARTS_PER_SECOND = 90, 3, 60
"""How often neurons begin anew if there is no limit, and by the nodes or seconds of a limit.

A core does about twice as many in a second for 160 rows of 13 inputs, so the clock rarely has a say in the result."""

_PATIENCE = 1  # rounds over all neurons without a gain before they begin anew
_PART = 0.7  # of the rows for which a neuron is chosen at first
_FIRST = 3  # restarts in which all neurons begin anew
_KICKS = 0.9  # share of restarts that keep the best network but for one neuron
_NEEDED, _OTHERS = 1 << 20, 4  # price of a row that needs the neuron; other rows decide between equals, by chance
_STRICT = 0.3  # share of climbs in which a row that needs a neuron must not get a sum of 0
_ROOM = 4  # neurons among which one with few sums of 0 is chosen


def search(problem: Problem, state: StageState, limits: Limits) -> Finding:
    """The strategy: the network with most confident rows, and the fewest sums of 0 on these."""
    assert state.start is not None
    network = alternated(
        problem, state.start, restarts=restarts_within(state.limits), seed=limits.seed, deadline=limits.deadline()
    )
    message = "stopped after a local search; the bound is by prices of rows"
    return Finding(network, outcome=Outcome.LOCAL, message=message)


def restarts_within(limits: Limits) -> int:
    """Restarts of a search: from the node limit, else from the time limit, else a constant."""
    if limits.nodes is not None:
        return min(RESTARTS, RESTARTS_PER_NODE * limits.nodes)
    return RESTARTS if limits.seconds is None else max(1, int(RESTARTS_PER_SECOND * limits.seconds))


def alternated(problem: Problem, start: Network, *, restarts: int, seed: int, deadline: Deadline) -> Network:
    """A network with at least as many confident rows as ``start``.

    Among those with equally many it has the fewest sums of 0 on these rows, since Max-Margin allows none.

    Parameters
    ----------
    problem, start
        Rows for a network with one hidden layer and one output, and the network to start from.
    restarts, seed, deadline
        When to stop, and the seed of random choices.
    """
    search = _Alternation(problem, seed, deadline)
    network = start
    most = search.worth(start)[0]
    found = {problem.confident_rows(start).tobytes(): start}
    for attempt in range(restarts + 1):
        network = search.climb(network)
        count, _ = search.worth(network)
        if count > most:
            most, found = count, {}
        if count == most:
            key = problem.confident_rows(network).tobytes()
            found[key] = max(found.get(key, network), network, key=search.worth)
        if deadline.passed:
            break
        # Any of the best: equally good networks lead to different places.
        best = list(found.values())[int(search.rng.integers(len(found)))]
        # The output weights of the start may be worse than those of new networks.
        kick = attempt >= _FIRST and search.rng.random() < _KICKS
        network = search.kicked(best) if kick else search.begin_anew(best)
    return max(found.values(), key=search.worth)


class _Alternation:
    """Replaces neurons one by one."""

    def __init__(self, problem: Problem, seed: int, deadline: Deadline) -> None:
        self.problem, self.deadline = problem, deadline
        self.codes = problem.codes[:, 0]
        self.threshold = confidence_threshold(problem.layers, problem.weight_bound)
        self.rng = np.random.default_rng(seed)

    def worth(self, network: Network) -> tuple[int, int]:
        """Number of confident rows, and minus the sums of 0 on them."""
        confident = self.problem.confident_rows(network)
        sums = network.pre_activations(self.problem.data)[0][confident]
        return int(confident.sum()), -int((sums == 0).sum())

    def climb(self, network: Network) -> Network:
        """Replace neurons until ``_PATIENCE`` rounds bring no gain."""
        first, output = network.weights[0].copy(), network.weights[1][:, 0]
        used = np.flatnonzero(output)
        strict = bool(self.rng.random() < _STRICT)
        best, best_worth, idle = network, self.worth(network), 0
        while idle < _PATIENCE and not self.deadline.passed:
            for j in self.rng.permutation(used).tolist():
                self._replace(first, output, j, strict)
            changed = Network((first.copy(), network.weights[1]), network.weight_bound)
            worth = self.worth(changed)
            idle = 0 if worth > best_worth else idle + 1
            if worth > best_worth:
                best, best_worth = changed, worth
        return best

    def _replace(self, first: Integers, output: Integers, j: int, strict: bool) -> None:
        """Give neuron j weights that are right on most rows that need it, without sums of 0 if there are such."""
        data = self.problem.data
        sums = sign(data @ first) * output
        rest = self.codes * (sums.sum(axis=1) - sums[:, j])
        size = abs(int(output[j]))
        certain = rest - size >= self.threshold
        needs = (rest + size >= self.threshold) & ~certain
        prices = self.rng.integers(0, _OTHERS, len(rest))
        prices[needs] += _NEEDED
        prices[certain] = 0
        targets = self.codes if output[j] > 0 else -self.codes
        # Neurons that are worse than the present one on the rows that need it are of no use.
        right = targets * (data @ first[:, j]) >= ((targets < 0) | strict)
        level = int(right[needs].sum()) * _NEEDED - 1
        found = best_agreement(data, targets, prices, self.problem.weight_bound, level=level, room=_ROOM, strict=strict)
        if found.weights.size:
            equal = found.values // _NEEDED == found.values[0] // _NEEDED
            zeros = (data[needs | certain] @ found.weights[:, equal] == 0).sum(axis=0)
            first[:, j] = found.weights[:, np.argmin(zeros)]

    def begin_anew(self, network: Network) -> Network:
        """A network whose neurons are right on many rows each.

        It uses as many neurons as let the largest share of them be wrong on a confident row.
        """
        bound, size = network.weight_bound, network.layers[1]
        wrong = [((c * bound - self.threshold) // (2 * bound)) / c for c in range(1, size + 1)]
        used = 1 + max(range(size), key=lambda c: (wrong[c], -c))
        columns = [self._fresh() for _ in range(used)]
        # A neuron that is not used has the same weights everywhere, so that it hardly has a sum of 0.
        columns += [np.full_like(columns[0], bound)] * (size - used)
        first = np.stack(columns, axis=1)
        output = np.where(np.arange(size) < used, bound, 0)
        return Network((first, output[:, None]), bound)

    def kicked(self, network: Network) -> Network:
        """The network with one other neuron."""
        first, output = network.weights[0].copy(), network.weights[1]
        j = int(self.rng.choice(np.flatnonzero(output[:, 0])))
        first[:, j] = self._fresh() * np.sign(output[j, 0])
        return Network((first, output), network.weight_bound)

    def _fresh(self) -> Integers:
        """Weights of a neuron that is right on as many rows of a random part as possible."""
        part = (self.rng.random(len(self.codes)) < _PART).astype(np.int64)
        found = best_agreement(self.problem.data, self.codes, part, self.problem.weight_bound)
        if found.weights.size:
            return found.weights[:, 0]
        bound = self.problem.weight_bound
        return self.rng.integers(-bound, bound + 1, size=(self.problem.data.shape[1],))
