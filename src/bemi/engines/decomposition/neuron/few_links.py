"""Few links for one neuron that keeps a margin under given signs.

    min |supp w|   subject to   s_k w.x^k >= m  for every k with s_k != 0,   w integer in {-P..P}.

Its linear program has ``sum_i |w_i| / P`` in place of the number of links.  In dual form any ``mu >= 0`` proves

    links >= m * sum(mu) - sum_i max(0, P |g_i| - 1),   g = sum_k mu_k s_k x^k,

so the solver's multipliers are rounded to integers over a common denominator and the bound is recomputed from them
exactly.

Integer weights come from the given ones: links are stripped in the order of their price, and a Metropolis walk on
``links + rate tau log sum_k exp((m - y_k) / tau)`` does the rest.  As in :mod:`bemi.engines.decomposition.neuron.rounding`, a
step is rated by one dot product with tabulated factors.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import highspy
import numpy as np
from numba import njit
from numpy.typing import NDArray

from bemi.engines.decomposition.neuron.rounding import _mates, _terms
from bemi.products import Integers

Floats = NDArray[np.float64]
Signs = NDArray[np.int8]
Multipliers = tuple[tuple[int, int], ...]

PROPOSALS_PER_WEIGHT = 2_000
"""Proposals of the walk if nothing else ends it; about a tenth of a second for pictures."""

DENOMINATOR = 2**32
"""Common denominator of the multipliers; rounding to it moves a bound by less than a thousandth of a link on images."""

_CHUNK = 200_000  # proposals between two looks at the clock
_STRIPS = 50  # random orders of removal
_STRIP_NOISE = 0.5  # spread of these orders
_MATES = 8  # partners per column
_RUN = 3  # chunks per walk
# First and last softness and the price of margin, relative to the linear program's: a steep wall at the margin suits
# P = 1, a soft one larger P, so the walks alternate.
_WALLS = ((0.1, 0.02, 3.0), (0.35, 0.2, 1.5))
_TEMPERATURE = (0.3, 0.1)  # first and last, in links


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
        _set_rows(lp, np.hstack([data, -data]))
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


def _set_rows(lp: highspy.HighsLp, table: Integers) -> None:
    rows, columns = np.nonzero(table)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.searchsorted(rows, np.arange(len(table) + 1)).astype(np.int32)
    lp.a_matrix_.index_ = columns.astype(np.int32)
    lp.a_matrix_.value_ = table[rows, columns].astype(np.float64)


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


@njit(cache=True, fastmath=True, error_model="numpy")
def _walk(
    a: Integers,
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
    n, n_rows = a.shape
    mates = mate.shape[1]
    table = np.empty((4, n, n_rows), np.float32)  # factors of the steps +1, -1, +P, -P
    e = np.empty(n_rows, np.float32)
    step = np.array([1, -1, power, -power])
    one = np.uint64(1)
    tiny = np.float32(1e-30)
    r = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x2545F4914F6CDD1D)
    if r == np.uint64(0):
        r = one
    low32 = np.uint64(0xFFFFFFFF)
    links = np.int64(0)
    for column in range(n):
        if w[column] != 0:
            links += 1
    for stage in range(taus.shape[0]):
        tau = taus[stage]
        temp = temps[stage]
        weight = rate * tau
        for move in range(4):
            for column in range(n):
                for k in range(n_rows):
                    table[move, column, k] = math.exp(max(-25.0, min(25.0, -step[move] * a[column, k] / tau)))
        s = _terms(y, need, tau, e)
        since = 0
        for _ in range(per):
            r ^= r << np.uint64(13)
            r ^= r >> np.uint64(7)
            r ^= r << np.uint64(17)
            i = np.int64(((r & low32) * np.uint64(n)) >> np.uint64(32))
            hi = r >> np.uint64(32)
            c = np.int64(hi & np.uint64(3))
            vi = w[i] + step[c]
            if vi > power or vi < -power:
                c ^= 1
                vi = w[i] + step[c]
                if vi > power or vi < -power:
                    continue
            change = np.int64(vi != 0) - np.int64(w[i] != 0)
            fi = table[c, i]
            pair = mates > 0 and (hi >> np.uint64(2)) & one == one
            j = np.int64(0)
            cj = np.int64(0)
            new = np.float32(0)
            if pair:
                q = np.int64(((hi >> np.uint64(17)) * np.uint64(mates)) >> np.uint64(15))
                j = np.int64(mate[i, q])
                cj = c if mate_sign[i, q] > 0 else c ^ 1
                vj = w[j] + step[cj]
                if vj > power or vj < -power:
                    continue
                change += np.int64(vj != 0) - np.int64(w[j] != 0)
                fj = table[cj, j]
                for k in range(n_rows):
                    new += e[k] * fi[k] * fj[k]
            else:
                for k in range(n_rows):
                    new += e[k] * fi[k]
            if new > s * 1e6:  # far beyond any draw
                continue
            diff = change + weight * math.log(max(new, tiny) / max(s, tiny))
            if not diff <= 0:
                r ^= r << np.uint64(13)
                r ^= r >> np.uint64(7)
                r ^= r << np.uint64(17)
                draw = (np.float64(r >> np.uint64(12)) + 1.0) * 2.0**-52
                if not diff <= -temp * math.log(draw):
                    continue
            w[i] = vi
            links += change
            d = step[c]
            ai = a[i]
            if pair:
                dj = step[cj]
                w[j] += dj
                aj = a[j]
                fj = table[cj, j]
                for k in range(n_rows):
                    y[k] += d * ai[k] + dj * aj[k]
                    e[k] *= fi[k] * fj[k]
            else:
                for k in range(n_rows):
                    y[k] += d * ai[k]
                    e[k] *= fi[k]
            s = new
            since += 1
            if since >= 64:  # products of rounded factors drift
                s = _terms(y, need, tau, e)
                since = 0
            if links < best and y.min() >= need:
                best = links
                best_w[:] = w
    return best


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
    deadline: float | None = None,
    enough: int = 0,
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
        Moment of ``time.perf_counter`` after which the search ends all the same.
    enough
        Number of links at which to stop.
    """
    columns = np.ascontiguousarray((signs[:, None] * data).T)
    n = len(columns)
    mu = relaxed.prices
    worth = bound * np.abs(columns @ mu)  # links that the margin loses with this weight, at the program's prices
    order = np.argsort(worth, kind="stable")
    rng = np.random.default_rng(seed)
    best_weights = np.array(start, dtype=np.int64)
    best = int(np.count_nonzero(best_weights))
    target = max(enough, relaxed.bound)

    def done() -> bool:
        return best <= target or (deadline is not None and time.perf_counter() >= deadline)

    def offer(weights: Integers) -> None:
        nonlocal best, best_weights
        count = int(np.count_nonzero(weights))
        if count < best:
            best, best_weights = count, weights.copy()

    x = relaxed.weights
    away = (np.sign(x) * np.ceil(np.abs(x) - 1e-7)).astype(np.int64)
    full = (np.sign(x) * np.where(np.abs(x) > 1e-7, bound, 0)).astype(np.int64)
    for point in (np.zeros(n, np.int64), np.rint(x).astype(np.int64), away, full, best_weights):
        sums = point @ columns
        if done() or sums.min() < margin:
            continue
        for trial in range(_STRIPS + 1):
            noise = 1.0 if trial == 0 else np.exp(_STRIP_NOISE * rng.standard_normal(n))
            weights, rest = point.copy(), sums.copy()
            _strip(columns, weights, rest, margin, order if trial == 0 else np.argsort(worth * noise, kind="stable"))
            offer(weights)
    total = float(mu.sum())
    if done() or total <= 0:
        return best_weights
    # The distance between the margin and what the program reaches with as many links sets the scale of the walk.
    scale = max(1.0, (best - relaxed.bound) / total)
    mate, mate_sign = _mates(columns[:, mu > 0], _MATES)
    used = rounds = 0
    while used < proposals and not done():
        first, last, rate = _WALLS[rounds % len(_WALLS)]
        rounds += 1
        weights = best_weights.copy()
        sums = weights @ columns
        found = weights.copy()
        for chunk in range(_RUN):
            if used >= proposals or done():
                break
            size = min(_CHUNK, proposals - used)
            progress = (chunk + np.arange(4) / 4.0) / _RUN
            reached = _walk(
                columns,
                float(margin),
                weights,
                sums,
                bound,
                mate,
                mate_sign,
                scale * first * (last / first) ** progress,
                _TEMPERATURE[0] * (_TEMPERATURE[1] / _TEMPERATURE[0]) ** progress,
                rate * total,
                max(1, size // 4),
                int(rng.integers(1, 2**62)),
                found,
                np.int64(best),
            )
            used += size
            if reached < best:
                stripped = found.copy()
                rest = stripped @ columns
                if rest.min() >= margin:
                    _strip(columns, stripped, rest, margin, order)
                    offer(stripped)
    return best_weights
