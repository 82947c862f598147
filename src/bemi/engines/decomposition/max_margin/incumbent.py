"""Good first-layer sign matrices: the start of the search, and what it has to beat."""

from __future__ import annotations

import itertools

import numpy as np

from bemi.engines.decomposition.max_margin.nodes import Budget, Instance
from bemi.engines.decomposition.neuron.linear_program import NeuronBound, Signs
from bemi.exact import Integers
from bemi.problem.problem import outputs_for

EPS = 1e-6
_MOST_CODES = 6  # up to this many, every dichotomy of whole classes is tried
_MOST_OFFERED, _MOST_ALTERNATIVES = 10, 40


class Incumbent:
    """The best sign matrix found so far, at the level of linear programs, and ways to improve it.

    Attributes
    ----------
    value
        Sum of the neurons' largest margins, rounded down, plus the bound on the upper layers.
    signs, margins
        The matrix, one column per neuron in order of margins, and those margins; None and empty before the first one.
    history
        All matrices that were the best when found, best last.
    alternatives
        Matrices of whole classes in order of value: the upper layers need not be able to use the best ones.
    """

    def __init__(self, instance: Instance, budget: Budget) -> None:
        self.instance, self.budget = instance, budget
        self.value = 0
        self.signs: Signs | None = None
        self.margins: list[int] = []
        self.history: list[Signs] = []
        self.alternatives: list[Signs] = []
        self.cap = 0
        self.constant: Signs = np.ones(instance.rows, dtype=np.int8)
        self._pool: dict[bytes, tuple[float, Signs]] = {}

    def offer(self, signs: Signs) -> bool:
        """Accept a complete sign matrix (rows, neurons) if it is better."""
        upper = self.instance.upper_of(signs)
        if upper is None:
            return False
        margins = [self.instance.margin(column) for column in signs.T]
        value = sum(margins) + upper
        if min(margins) < 1 or (value <= self.value and self.signs is not None):
            return False
        self.value = max(value, self.value)
        order = np.argsort(margins, kind="stable")
        self.signs = signs[:, order].astype(np.int8)
        self.margins = [margins[j] for j in order]
        self.history.append(self.signs)
        return True

    def note(self, signs: Signs, margin: float) -> None:
        """Remember a dichotomy of large margin that came up on the way."""
        if margin >= 1:
            positive = signs > 0
            key = np.packbits(positive if positive[0] else ~positive).tobytes()
            self._pool.setdefault(key, (margin, signs))

    def _best_noted(self, most: int) -> list[tuple[float, Signs]]:
        return sorted(self._pool.values(), key=lambda entry: (-entry[0], entry[1].tobytes()))[:most]

    def begin(self, cap: int, constant: Signs) -> None:
        """The best few dichotomies of whole classes that tell all codes apart; all other neurons constant.

        ``cap`` is the largest margin of any neuron, and ``constant`` signs that reach it.
        """
        self.cap, self.constant = cap, constant
        n_codes, neurons = self.instance.n_codes, self.instance.neurons
        everywhere = np.repeat(constant[:, None], neurons, axis=1)
        if n_codes == 1:
            self.offer(everywhere)
            return
        bits = outputs_for(n_codes)
        if bits > neurons:
            return
        if n_codes <= _MOST_CODES:
            masks = list(range(1, 1 << (n_codes - 1)))
        else:
            # Too many to list: the binary digits of the code numbers.
            masks = [sum(((c >> j) & 1) << c for c in range(n_codes)) for j in range(bits)]
        splits = []
        for mask in masks:
            side = 1 - 2 * ((mask >> np.arange(n_codes)) & 1)
            signs = side[self.instance.code_of].astype(np.int8)
            margin = self.instance.margin(signs)
            if margin >= 1:
                splits.append((margin, tuple(side.tolist()), signs))
        ranked: list[tuple[int, int, tuple[tuple[int, tuple[int, ...], Signs], ...]]] = []
        for size in range(bits, min(neurons, bits + 1) + 1):
            for chosen in itertools.combinations(splits, size):
                if len(set(zip(*(split[1] for split in chosen), strict=True))) == n_codes:
                    total = sum(split[0] for split in chosen) + (neurons - size) * cap
                    ranked.append((-total, len(ranked), chosen))
        for place, (_, _, chosen) in enumerate(sorted(ranked, key=lambda entry: entry[:2])[:_MOST_ALTERNATIVES]):
            signs = everywhere.copy()
            signs[:, : len(chosen)] = np.stack([split[2] for split in chosen], axis=1)
            self.alternatives.append(signs)
            if place >= _MOST_OFFERED:
                continue
            self.offer(signs)
            if n_codes == 2:
                # More copies cost margin but help the upper layers: decisive for data of small scale.
                for copies in range(2, neurons + 1):
                    signs[:, copies - 1] = signs[:, 0]
                    self.offer(signs)

    def improve(self, n_splitting: int, rounds: int = 6) -> None:
        """Local search on the sign matrix, whose first ``n_splitting`` neurons tell the codes apart.

        A wide-margin neuron takes over a few rows that limit a splitting one: it separates them from every row of
        another code, after which the splitting neuron is free there.  If one row of small L1 norm limits all margins,
        this often costs nothing.  Dichotomies of large margin noted during the search are tried as well.
        """
        neurons = self.instance.neurons
        if self.signs is None or neurons < 2 or self.instance.n_codes < 2:
            return
        for _ in range(rounds):
            before = self.value
            for neuron in range(min(n_splitting, neurons - 1)):
                self._take_over(neuron)
                self._try_noted(neuron)
            signs = self.signs.copy()
            for neuron in range(neurons):
                column = self._reoptimised(signs, neuron, self.margins[neuron] + 1)
                if column is not None:
                    changed = signs.copy()
                    changed[:, neuron] = column
                    if self.offer(changed):
                        signs = self.signs.copy()
            self._copy_columns()
            if self.value == before:
                return

    def _reoptimised(self, signs: Signs, neuron: int, need: int) -> Signs | None:
        """A dichotomy of margin ``need`` for one neuron, the others fixed; it must separate what they do not."""
        code_of = self.instance.code_of
        _, cell = np.unique(np.delete(signs, neuron, axis=1), axis=0, return_inverse=True)
        cell = cell.reshape(-1)
        tie = np.ones(self.instance.rows, dtype=np.int8)
        duty = np.full(self.instance.rows, -1)
        for number in range(cell.max() + 1):
            members = np.flatnonzero(cell == number)
            codes = np.unique(code_of[members])
            if codes.size > 2:
                return None
            if codes.size == 2:
                duty[members] = number
                tie[members] = np.where(code_of[members] == codes[0], 1, -1)
        if (duty < 0).all():
            return self.constant
        return self._dive(np.zeros(self.instance.rows, dtype=np.int8), tie, duty, need)

    def _dive(self, signs: Signs, tie: Signs, cells: Integers, need: int) -> Signs | None:
        """Complete one neuron greedily; None as soon as its margin falls below ``need``.

        ``cells`` numbers the rows that get their signs together (sign s on a cell means s times ``tie`` on its rows);
        rows with cell -1 are free on their own.
        """
        rows = self.instance.rows
        signs = signs.copy()
        found: NeuronBound | None = None
        for _ in range(2 * rows):
            sums = np.zeros(rows)
            if signs.any():
                found = self.instance.lp.solve(signs, start=found, stop=max(0, need - 1))
                if found.bound < need or not found.exact:
                    return None
                sums = found.sums
            free = np.flatnonzero(signs == 0)
            if not free.size:
                return signs
            label = np.where(cells[free] >= 0, cells[free], rows + free)
            low, high = np.full(2 * rows, np.inf), np.full(2 * rows, -np.inf)
            np.minimum.at(low, label, tie[free] * sums[free])
            np.maximum.at(high, label, tie[free] * sums[free])
            best = np.maximum(low[label], -high[label])
            # Cells first: they are required; single rows only have to stay away from zero.
            in_cell = cells[free] >= 0
            if in_cell.any():
                if found is None:
                    members = cells == int(np.argmax(np.bincount(cells[free][in_cell])))
                    signs[members] = tie[members]
                    continue
                chosen = label[int(np.argmin(np.where(in_cell, best, np.inf)))]
            else:
                worst = int(np.argmin(best))
                if found is not None and best[worst] >= found.bound - EPS:
                    signs[free] = np.where(sums[free] >= 0, 1, -1)
                    return signs
                chosen = label[worst]
            sign = 1 if low[chosen] >= -high[chosen] else -1
            members = free[label == chosen]
            signs[members] = sign * tie[members]
        return None

    def _replaced(self, signs: Signs, wide: int, column: Signs | None, splitting: int) -> bool:
        """Offer the matrix with a new wide-margin column, and the splitting column chosen to fit it."""
        if column is None:
            return False
        signs = signs.copy()
        signs[:, wide] = column
        need = self.margins[splitting] + self.margins[wide] - self.instance.margin(column) + 1
        new = self._reoptimised(signs, splitting, max(1, need))
        self.budget.spend()
        if new is None:
            return False
        signs[:, splitting] = new
        return self.offer(signs)

    def _take_over(self, splitting: int) -> None:
        """Let the neuron of widest margin separate some rows that the splitting one's multipliers name."""
        assert self.signs is not None
        lp, code_of, rows = self.instance.lp, self.instance.code_of, self.instance.rows
        wide = self.instance.neurons - 1
        signs = self.signs.copy()
        present = lp.solve(np.ascontiguousarray(signs[:, splitting]))
        rest = np.delete(signs, [splitting, wide], axis=1)
        budget = self.margins[splitting] + self.margins[wide]
        free_tie, no_cells = np.ones(rows, dtype=np.int8), np.full(rows, -1)
        for first in _by_weight(present)[:10]:
            taken, dead = [first], set()
            while True:
                # The taken rows against all rows of another code that no other neuron separates from them.
                cover = np.zeros(rows, dtype=np.int8)
                cover[taken] = -1
                for k in taken:
                    cover[(rest == rest[k]).all(axis=1) & (code_of != code_of[k])] = 1
                self.budget.spend()
                covered = lp.solve(cover, stop=max(0, budget - self.cap))
                relieved = signs[:, splitting].copy()
                relieved[taken] = 0
                gain = None
                if covered.bound > budget - self.cap and relieved.any():
                    freed = lp.solve(relieved, start=present, stop=max(0, budget - covered.bound))
                    if freed.bound + covered.bound > budget:
                        gain = freed
                if gain is None and len(taken) > 1:
                    dead.add(taken.pop())
                elif gain is not None:
                    column = self._dive(cover, free_tie, no_cells, max(1, budget - gain.bound))
                    if self._replaced(signs, wide, column, splitting):
                        return
                more = [
                    k
                    for k in _by_weight(gain or present)
                    if code_of[k] == code_of[first] and k not in taken and k not in dead
                ]
                if not more or len(dead) > 2 or len(taken) > 8:
                    break
                taken.append(more[0])

    def _try_noted(self, splitting: int, most: int = 40) -> None:
        assert self.signs is not None
        wide = self.instance.neurons - 1
        for margin, column in self._best_noted(most):
            if margin + self.cap <= self.margins[splitting] + self.margins[wide]:
                break
            self._replaced(self.signs, wide, column, splitting)

    def _copy_columns(self) -> None:
        """Replace columns by copies of good ones, to help the upper layers."""
        assert self.signs is not None
        columns = {}
        for column in [*self.signs.T, *(signs for _, signs in self._best_noted(12))]:
            turned = column * column[0]
            columns[turned.tobytes()] = turned
        signs = self.signs.copy()
        value = self._value_and_ties(signs)
        improved = True
        while improved:
            improved = False
            for neuron in range(self.instance.neurons):
                for column in columns.values():
                    changed = signs.copy()
                    changed[:, neuron] = column
                    new = self._value_and_ties(changed)
                    if new > value:
                        signs, value, improved = changed, new, True
            if value[0] > self.value:
                self.offer(signs)

    def _value_and_ties(self, signs: Signs) -> tuple[int, int]:
        """Objective, and minus the number of pairs that limit the upper layers."""
        count = self.instance.separations(signs)
        if (count == 0).any():
            return -1, 0
        upper = self.instance.upper[count, self.instance.code_distance]
        lowest = int(upper.min())
        margins = sum(self.instance.margin(column) for column in signs.T)
        return margins + lowest, -int((upper == lowest).sum())


def _by_weight(found: NeuronBound) -> list[int]:
    """Rows that carry a bound, largest multiplier first."""
    return [k for k, _ in sorted(found.multipliers, key=lambda pair: (-pair[1], pair[0]))]
