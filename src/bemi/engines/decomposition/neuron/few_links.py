"""Few links for one neuron that keeps a margin under given signs.

    min |supp w|   subject to   s_k w.x^k >= m  for every k with s_k != 0,   w integer in {-P..P}.

Its linear program has ``sum_i |w_i| / P`` in place of the number of links.  In dual form any ``mu >= 0`` proves

    links >= m * sum(mu) - sum_i max(0, P |g_i| - 1),   g = sum_k mu_k s_k x^k,

so the solver's multipliers are rounded to integers over a common denominator and the bound is recomputed from them
exactly.

Integer weights come from the given ones: links are stripped in the order of their price, and a Metropolis walk on
``links + rate tau log sum_k exp((m - y_k) / tau)`` does the rest.  A step is rated by one dot
product with tabulated factors (:mod:`~bemi.engines.decomposition.neuron.metropolis`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import highspy
import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.neuron import metropolis
from bemi.engines.decomposition.neuron.metropolis import fast_part
from bemi.exact import Integers
from bemi.jit import njit
from bemi.limits import FOREVER, Deadline

Floats = NDArray[np.float64]
Signs = NDArray[np.int8]
Multipliers = tuple[tuple[int, int], ...]

LEAST_PROPOSALS, PROPOSALS_PER_WEIGHT = 1_000_000, 5_000
"""Proposals of the walks if nothing else ends them; less than a fifth of a second for pictures."""

DENOMINATOR = 2**32
"""Common denominator of the multipliers; rounding to it moves a bound by less than a thousandth of a link on images."""

_CHUNK = 250_000  # proposals between two looks at the clock
_LEVELS = 6  # of softness and temperature per chunk
_STRIPS = 50  # random orders of removal
_STRIP_NOISE = 0.5  # spread of these orders
_FINEST = 50.0  # the largest number in the data over the smallest softness: beyond it the terms leave their range
_SHIFTS = (0.2, 0.8)  # how far above the margin descents start, relative to the first softness


_BEST, _PROGRAM, _LAST = range(3)


class _Plan(NamedTuple):
    """A walk: start, chunks, what it aims at beyond the margin, first and last softness, price and temperature.

    It starts from the best weights, from the rounded solution of the linear program, or where the last walk ended.
    Buffer, softness and price of margin are relative to the linear program's, temperatures are in links.
    """

    start: int
    chunks: int
    buffer: float
    softness: tuple[float, float]
    price: float
    temperature: tuple[float, float]


_WALL = ((0.1, 0.02), 3.0, (0.3, 0.1))
# The best weights are mostly found by a descent that begins near the linear program's solution, where every link is
# worth its price; a steep wall at the margin then strips what is too much.  A soft one suits larger P.
_PLANS = (
    _Plan(_BEST, 2, 0.0, *_WALL),
    _Plan(_PROGRAM, 2, 0.5, (1.0, 0.1), 3.0, (0.6, 0.1)),
    _Plan(_LAST, 1, 0.0, *_WALL),
    _Plan(_BEST, 2, 0.0, (0.35, 0.2), 1.5, (0.3, 0.1)),
    _Plan(_PROGRAM, 2, 0.5, (1.0, 0.1), 5.0, (0.6, 0.1)),
    _Plan(_LAST, 1, 0.0, *_WALL),
    _Plan(_BEST, 2, 0.0, (0.3, 0.1), 1.2, (0.3, 0.1)),
    _Plan(_PROGRAM, 4, 1.0, (2.0, 0.05), 3.0, (0.6, 0.1)),
    _Plan(_LAST, 1, 0.0, *_WALL),
)


def exact_links_bound(data: Integers, signs: Signs, bound: int, margin: int, mu: Multipliers) -> int:
    """The number of links that ``mu`` (pairs of row and numerator over :data:`DENOMINATOR`) proves necessary."""
    if not mu:
        return 0
    rows = np.array([k for k, _ in mu])
    numerators = [v for _, v in mu]
    total = sum(numerators)
    largest = bound * total * int(np.abs(data[rows]).sum(axis=1).max(initial=0)) + abs(margin) * total
    kind = np.int64 if largest + data.shape[1] * DENOMINATOR < 2**62 else object
    g = (np.array(numerators, dtype=kind) * signs[rows].astype(kind)) @ data[rows].astype(kind)
    excess = bound * np.abs(g) - DENOMINATOR
    value = margin * total - int(excess[excess > 0].sum())
    return max(0, -(-value // DENOMINATOR))


@dataclass(frozen=True)
class LinksBound:
    """Solution of the linear program; ``bound`` is proved by ``mu``, nothing else is claimed."""

    bound: int
    mu: Multipliers
    weights: Floats
    prices: Floats  # the multipliers as the solver gave them, one per row


class LinksLP:
    """The linear program over fixed rows; signs and margins switch its rows on and off, so that it is warm-started."""

    def __init__(self, data: Integers, bound: int) -> None:
        self.data, self.bound = data, bound
        rows, n = data.shape
        self._lower = np.full(rows, -np.inf)
        self._upper = np.full(rows, np.inf)
        self._solver = highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("threads", 1)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = 2 * n, rows
        lp.col_cost_ = np.full(2 * n, 1.0 / bound)
        lp.col_lower_ = np.zeros(2 * n)
        lp.col_upper_ = np.full(2 * n, float(bound))
        lp.row_lower_, lp.row_upper_ = self._lower, self._upper
        set_rows(lp, np.hstack([data, -data]))
        highs.passModel(lp)

    def solve(self, signs: Signs, margin: int) -> LinksBound | None:
        """The bound for these signs (0 = free), or None if the program is infeasible or was not solved."""
        lower = np.where(signs > 0, float(margin), -np.inf)
        upper = np.where(signs < 0, -float(margin), np.inf)
        for k in np.flatnonzero((lower != self._lower) | (upper != self._upper)):
            self._solver.changeRowBounds(int(k), lower[k], upper[k])
        self._lower, self._upper = lower, upper
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._solver.getSolution()
        n = self.data.shape[1]
        values = np.array(solution.col_value)
        prices = np.maximum(0.0, signs * np.array(solution.row_dual))
        mu = tuple((int(k), int(prices[k] * DENOMINATOR)) for k in np.flatnonzero(prices * DENOMINATOR >= 1))
        proved = exact_links_bound(self.data, signs, self.bound, margin, mu)
        return LinksBound(proved, mu, values[:n] - values[n:], prices)


def set_rows(lp: highspy.HighsLp, table: Integers) -> None:
    """Set the matrix of a linear program."""
    rows, columns = np.nonzero(table)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.searchsorted(rows, np.arange(len(table) + 1)).astype(np.int32)
    lp.a_matrix_.index_ = columns.astype(np.int32)
    lp.a_matrix_.value_ = table[rows, columns].astype(np.float64)


def _between(ends: tuple[float, float], progress: Floats) -> Floats:
    first, last = ends
    return first * (last / first) ** progress


@njit(cache=True)
def _strip(a: Integers, w: Integers, y: Integers, need: int, order: NDArray[np.intp]) -> None:
    """Remove links, in the given order, as long as no row falls below ``need``."""
    for i in order:
        if w[i] == 0:
            continue
        spare = True
        for k in range(y.shape[0]):
            if y[k] - w[i] * a[i, k] < need:
                spare = False
                break
        if spare:
            for k in range(y.shape[0]):
                y[k] -= w[i] * a[i, k]
            w[i] = 0


@fast_part
def _count_links(w):
    links = np.int64(0)
    for i in range(w.shape[0]):
        if w[i] != 0:
            links += 1
    return links


@fast_part
def _links_gained(weight, by):
    return np.int64(weight + by != 0) - np.int64(weight != 0)


@fast_part
def _allowed_move(weight, step, move, power):
    """The move, or else its opposite, that keeps the weight within bounds; -1 if neither does."""
    if abs(weight + step[move]) <= power:
        return move
    return move ^ 1 if abs(weight + step[move ^ 1]) <= power else -1


@fast_part
def _tabulate(table, step, a, tau):
    """Set the factor by which each move of each weight multiplies each term."""
    for move in range(table.shape[0]):
        for i in range(a.shape[0]):
            for k in range(a.shape[1]):
                table[move, i, k] = math.exp(max(-60.0, min(60.0, -step[move] * a[i, k] / tau)))


@njit(cache=True, fastmath=True, error_model="numpy")
def _walk(
    a: Integers,
    margin: float,
    need: float,
    w: Integers,
    y: Integers,
    power: int,
    mate: NDArray[np.int32],
    mate_sign: NDArray[np.int8],
    taus: Floats,
    temps: Floats,
    rate: float,
    per: int,
    seed: int,
    best_w: Integers,
    best: np.int64,
) -> np.int64:
    """Metropolis walk; changes w and y, puts the feasible point with fewest links into best_w and returns its links."""
    mates = mate.shape[1]
    table = np.empty((4, *a.shape), np.float32)  # factors of the steps +1, -1, +P, -P
    e = np.empty(a.shape[1], np.float32)
    step = np.array([1, -1, power, -power])
    spare = np.float32(1.0)  # a margin beyond the one needed is worth nothing
    r = metropolis.first_state(seed)
    links = _count_links(w)
    for stage in range(taus.shape[0]):
        tau = taus[stage]
        temp = temps[stage]
        weight = rate * tau
        _tabulate(table, step, a, tau)
        s = metropolis.soft_terms(y, need, tau, e)
        since = 0
        for _ in range(per):
            r = metropolis.next_state(r)
            i = metropolis.below(r & np.uint64(0xFFFFFFFF), 32, a.shape[0])
            hi = r >> np.uint64(32)
            c = _allowed_move(w[i], step, np.int64(hi & np.uint64(3)), power)
            if c < 0:
                continue
            change = _links_gained(w[i], step[c])
            pair = mates > 0 and (hi >> np.uint64(2)) & np.uint64(1) == np.uint64(1)
            j = np.int64(0)
            cj = np.int64(0)
            if pair:
                q = metropolis.below(hi >> np.uint64(17), 15, mates)
                j = np.int64(mate[i, q])
                cj = c if mate_sign[i, q] > 0 else c ^ 1
                if abs(w[j] + step[cj]) > power:
                    continue
                change += _links_gained(w[j], step[cj])
                new = metropolis.rated_pair(e, table[c, i], table[cj, j])
            else:
                new = metropolis.rated(e, table[c, i])
            if new > s * 1e6:  # far beyond any draw
                continue
            diff = change + weight * math.log((spare + new) / (spare + s))
            if not diff <= 0:
                r = metropolis.next_state(r)
                if not diff <= -temp * math.log(metropolis.uniform(r)):
                    continue
            w[i] += step[c]
            links += change
            if pair:
                w[j] += step[cj]
                metropolis.take_pair(y, e, step[c], a[i], table[c, i], step[cj], a[j], table[cj, j])
            else:
                metropolis.take_step(y, e, step[c], a[i], table[c, i])
            s = new
            since += 1
            if since >= metropolis.TERMS_STAY_EXACT:
                s = metropolis.soft_terms(y, need, tau, e)
                since = 0
            if links < best and metropolis.smallest(y) >= margin:
                best = links
                metropolis.copy_weights(w, best_w)
    return best


def forced_weights(columns: Integers, bound: int, margin: int) -> Integers:
    """Weights (-P or P) that every neuron with the margin has, 0 for the others.

    A row with the sum ``P ||x||_1 - slack`` at most loses ``|x_i|`` with every step that a weight takes from its bound.
    """
    forced = np.zeros(len(columns), dtype=np.int64)
    while True:
        free = np.abs(columns) * (forced == 0)[:, None]
        slack = bound * free.sum(axis=0) + forced @ columns - margin
        weight, row = np.nonzero(free > np.maximum(slack, 0))
        if not len(weight):
            return forced
        forced[weight] = bound * np.sign(columns[weight, row])


def fewer_links(
    data: Integers,
    signs: Integers,
    bound: int,
    margin: int,
    relaxed: LinksBound,
    start: Integers,
    *,
    proposals: int,
    seed: int = 0,
    deadline: Deadline = FOREVER,
    enough: int = 0,
    relax: Callable[[int], LinksBound | None] | None = None,
) -> Integers:
    """Integer weights of one neuron with few links.

    Parameters
    ----------
    data, signs, bound, margin
        Rows, the sign that the neuron gives each of them, P, and the margin to keep.
    relaxed
        Solution of the linear program; it guides the search, and no claim rests on it.
    start
        Weights that keep the margin.
    proposals, seed
        How long to search; the result is the same for the same values.
    deadline
        When the search stops regardless.
    enough
        Number of links at which to stop.
    relax
        Solves the linear program for another margin; descents start from that of a somewhat larger one.
    """
    search = LinkSearch(data, signs, bound, margin, relaxed, start, seed=seed, relax=relax)
    search.extend(proposals, enough, deadline)
    return search.weights


class LinkSearch:
    """A search for few links that can be continued; ``weights`` are the best so far.  See :func:`fewer_links`."""

    def __init__(
        self,
        data: Integers,
        signs: Integers,
        bound: int,
        margin: int,
        relaxed: LinksBound,
        start: Integers,
        *,
        seed: int = 0,
        relax: Callable[[int], LinksBound | None] | None = None,
    ) -> None:
        columns = np.ascontiguousarray((signs[:, None] * data).T)
        self.weights, self.links = np.array(start, dtype=np.int64), int(np.count_nonzero(start))
        self._columns, self._bound, self._margin, self._relaxed = columns, bound, margin, relaxed
        self._relax = relax
        self._target, self._deadline = relaxed.bound, FOREVER
        # Links that the margin loses with a weight, at the program's prices.
        self._worth = bound * np.abs(columns @ relaxed.prices)
        self._order = np.argsort(self._worth, kind="stable")
        self._rng = np.random.default_rng(seed)
        forced = forced_weights(columns, bound, margin)
        self._free = np.flatnonzero(forced == 0)
        # A row all of whose weights are forced has its margin for certain.
        self._rows = np.flatnonzero((columns[self._free] != 0).any(axis=0))
        self._rounds = -1  # walks so far; before the first one, links are stripped
        self._movable = True

    def extend(self, proposals: int, enough: int = 0, deadline: Deadline = FOREVER) -> None:
        """Go on for so many proposals, or until the links are few enough."""
        self._target, self._deadline = max(enough, self._relaxed.bound), deadline
        if self._rounds < 0 and not self.done():
            self._rounds = 0
            self.strip_starts()
            self._movable = self.prepare_walks()
        used = 0
        while self._movable and used < proposals and not self.done():
            plan = _PLANS[self._rounds % len(_PLANS)]
            # A walk is not cut short, unless even the first would be.
            used += self.walk(plan, proposals if used == 0 else plan.chunks * _CHUNK)
            self._rounds += 1

    def offer(self, weights: Integers) -> None:
        """Take weights that have the margin if they have fewer links."""
        count = int(np.count_nonzero(weights))
        if count < self.links:
            self.links, self.weights = count, weights.copy()

    def done(self) -> bool:
        return self.links <= self._target or self._deadline.passed

    def strip_starts(self) -> None:
        """Strip links off several roundings of the program's solution, and off the start."""
        x, n = self._relaxed.weights, len(self._columns)
        away = (np.sign(x) * np.ceil(np.abs(x) - 1e-7)).astype(np.int64)
        full = (np.sign(x) * np.where(np.abs(x) > 1e-7, self._bound, 0)).astype(np.int64)
        for point in (np.zeros(n, np.int64), np.rint(x).astype(np.int64), away, full, self.weights):
            sums = point @ self._columns
            if self.done() or sums.min() < self._margin:
                continue
            for trial in range(_STRIPS + 1):
                order = self._order
                if trial > 0:
                    noise = np.exp(_STRIP_NOISE * self._rng.standard_normal(n))
                    order = np.argsort(self._worth * noise, kind="stable")
                weights = point.copy()
                _strip(self._columns, weights, sums.copy(), self._margin, order)
                self.offer(weights)

    def prepare_walks(self) -> bool:
        """Set what all walks share; the links that are found before set their scale.  False if nothing can move."""
        prices = self._relaxed.prices[self._rows]
        self._total = float(prices.sum())
        if self._total <= 0:
            return False
        # The distance between the margin and what the program reaches with as many links.
        self._scale = max(1.0, (self.links - self._relaxed.bound) / self._total)
        self._moved = np.ascontiguousarray(self._columns[np.ix_(self._free, self._rows)])
        self._partners = metropolis.partner_columns(self._moved[:, prices > 0], metropolis.PARTNERS)
        self._finest = float(np.abs(self._moved).max()) * self._bound / _FINEST
        self._last = self.weights
        return True

    def walk(self, plan: _Plan, proposals: int) -> int:
        """One walk; returns how many proposals it took, at most ``proposals``."""
        start = self._last if plan.start == _LAST else self.weights
        if plan.start == _PROGRAM:
            start = self._rounded()
        weights = start[self._free]
        sums = (start @ self._columns)[self._rows]
        forced = self.links - int(np.count_nonzero(self.weights[self._free]))
        found = weights.copy()
        used = 0
        for chunk in range(plan.chunks):
            if used >= proposals or self.done():
                break
            size = min(_CHUNK, proposals - used)
            progress = (chunk + np.arange(_LEVELS) / _LEVELS) / plan.chunks
            reached = _walk(
                self._moved,
                float(self._margin),
                self._margin + plan.buffer * self._scale,
                weights,
                sums,
                self._bound,
                *self._partners,
                np.maximum(self._finest, self._scale * _between(plan.softness, progress)),
                _between(plan.temperature, progress),
                plan.price * self._total,
                max(1, size // _LEVELS),
                int(self._rng.integers(1, 2**62)),
                found,
                np.int64(self.links - forced),
            )
            used += size
            if reached < self.links - forced:
                whole = self.weights.copy()
                whole[self._free] = found
                self._strip_and_offer(whole)
        self._last = self.weights.copy()
        self._last[self._free] = weights
        return used

    def _rounded(self) -> Integers:
        """The solution of the linear program for a larger margin, rounded: descents fall short of where they start."""
        relaxed = None
        shift = self._scale * self._rng.uniform(*_SHIFTS)
        while self._relax is not None and relaxed is None and shift >= 1:
            relaxed = self._relax(self._margin + int(shift))
            shift *= 0.8
        near = (relaxed or self._relaxed).weights
        start = self.weights.copy()
        start[self._free] = np.rint(near[self._free])
        return start

    def _strip_and_offer(self, weights: Integers) -> None:
        rest = weights @ self._columns
        if rest.min() >= self._margin:
            _strip(self._columns, weights, rest, self._margin, self._order)
            self.offer(weights)
