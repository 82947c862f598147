"""Integer weights of one neuron with a large margin, near the solution of its linear program.

In a vertex of the linear program all but as many weights as there are tight rows sit at a bound, and moving weight i
by one step costs exactly its reduced cost |g_i|, where g is the mean of the signed rows under the dual multipliers.
So a good integer point differs from the vertex in the fractional weights and in a few cheap ones.  Two phases work on
those alone:

- a *beam* fixes the weights one after another, longest columns first (short columns can repair what long ones break),
  all weights not yet fixed standing at their fractional values;
- *annealing* by single steps and by pairs of similar columns repairs what is left.

Both rate a point by the soft minimum ``sum_k exp((U - y_k) / tau)`` over its signed pre-activations y.  A step
multiplies every term by a number that depends on the column alone, so with these factors tabulated a step is rated by
one dot product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.neuron import metropolis
from bemi.engines.decomposition.neuron.metropolis import fast_part
from bemi.exact import Integers
from bemi.jit import njit
from bemi.limits import FOREVER, Deadline

Floats = NDArray[np.float64]

PROPOSALS = 6_000_000
"""Annealing proposals if nothing else ends the search; about half a second for 40 rows."""

_CHUNK = 200_000  # proposals between two looks at the clock

# Found by trying on pairs of image classes; results are flat around these values.
_FIRST_WIDTH, _WIDTH, _LEVELS = 60, 150, 12
_BEAM_TAU = (0.5, 0.1)  # first and last softness, in units of the root mean square entry
_ORDER_NOISE = 0.2  # spread of the column order in later rounds
_FREE_COST = (0.002, 0.003, 0.0015)  # dearest free weight by rounds, as a share of U / P
_RUN = (4, 8)  # chunks per annealing run, by rounds
_TAU = (0.35, 0.2)  # first and last softness, relative to the gap of the present point
_TEMPERATURE = (0.005, 0.0014)  # first and last, relative to the same


def exact_margin(signed_columns: Integers, weights: Integers) -> int:
    """Smallest signed pre-activation, in 64-bit integers; columns are rows here: shape (weights, rows)."""
    return int((weights @ signed_columns).min())


@fast_part
def _nth(values, size, nth):
    """The nth smallest (from 0) of the first ``size`` values, which are reordered."""
    lo = 0
    hi = size - 1
    while lo < hi:
        pivot = values[(lo + hi) >> 1]
        i = lo
        j = hi
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                t = values[i]
                values[i] = values[j]
                values[j] = t
                i += 1
                j -= 1
        if nth <= j:
            hi = j
        elif nth >= i:
            lo = i
        else:
            break
    return values[nth]


@fast_part
def _set_terms(residuals, tau, terms):
    for k in range(residuals.shape[0]):
        terms[k] = math.exp(max(-40.0, min(40.0, residuals[k] / tau)))


@fast_part
def _set_factors(column, by, tau, factors):
    for k in range(column.shape[0]):
        factors[k] = math.exp(max(-30.0, min(30.0, -by * column[k] / tau)))


@fast_part
def _extend_point(residuals, terms, by, column, factors, new_residuals, new_terms):
    for k in range(column.shape[0]):
        new_residuals[k] = residuals[k] - by * column[k]
        new_terms[k] = min(np.float32(1e20), max(np.float32(1e-20), terms[k] * factors[k]))


@fast_part
def _threshold(score, scratch, total, width):
    """The score up to which points are kept."""
    if total <= width:
        return np.float32(3e38)
    for q in range(total):
        scratch[q] = score[q]
    return _nth(scratch, total, width - 1)


@fast_part
def _best_point(residuals, count):
    """The point whose largest residual is smallest: that of the largest margin."""
    best = 0
    lowest = np.float32(3e38)
    for b in range(count):
        largest = np.float32(-3e38)
        for k in range(residuals.shape[1]):
            largest = max(largest, residuals[b, k])
        if largest < lowest:
            lowest = largest
            best = b
    return best


@njit(cache=True, fastmath=True, error_model="numpy")
def _beam(a, x, res, power, order, tau_first, tau_last, width, levels):
    """Fix the columns of ``order`` one by one and keep the ``width`` best partial points.

    ``a`` (n, K) float32 columns, ``x`` values of the columns not yet fixed, ``res`` (K,) = U - y at x.  The softness
    tau falls in ``levels`` steps; between them the terms are carried along by multiplication, which spares
    exponentials.
    """
    n_rows = res.shape[0]
    steps = order.shape[0]
    cur, nxt = np.empty((width, n_rows), np.float32), np.empty((width, n_rows), np.float32)
    e_cur, e_nxt = np.empty((width, n_rows), np.float32), np.empty((width, n_rows), np.float32)
    for k in range(n_rows):
        cur[0, k] = res[k]
    count = np.int64(1)
    parent = np.zeros((steps, width), np.int32)
    choice = np.zeros((steps, width), np.int16)
    factor = np.empty((4, n_rows), np.float32)
    score, scratch = np.empty(4 * width, np.float32), np.empty(4 * width, np.float32)
    level = -1
    tau = tau_first
    for t in range(steps):
        i = order[t]
        now = (t * levels) // steps
        if now != level:
            level = now
            tau = tau_last + (tau_first - tau_last) * (1.0 - now / max(1, levels - 1))
            for b in range(count):
                _set_terms(cur[b], tau, e_cur[b])
        # the neighbours of the LP value on both sides, at most four
        low = max(-power, math.floor(x[i] + 1e-7) - 1)
        high = min(power, math.ceil(x[i] - 1e-7) + 1)
        if power == 1:
            low = -1
            high = 1
        vals = high - low + 1
        for v in range(vals):
            _set_factors(a[i], low + v - x[i], tau, factor[v])
        for b in range(count):
            for v in range(vals):
                score[b * vals + v] = metropolis.rated(e_cur[b], factor[v])
        total = count * vals
        worst = _threshold(score, scratch, total, width)
        kept = 0
        for q in range(total):
            if score[q] <= worst and kept < width:
                b = q // vals
                v = q % vals
                d = np.float32(low + v - x[i])
                _extend_point(cur[b], e_cur[b], d, a[i], factor[v], nxt[kept], e_nxt[kept])
                parent[t, kept] = b
                choice[t, kept] = low + v
                kept += 1
        count = kept
        cur, nxt = nxt, cur
        e_cur, e_nxt = e_nxt, e_cur
    best = _best_point(cur, count)
    out = np.zeros(steps, np.int64)
    for t in range(steps - 1, -1, -1):
        out[t] = choice[t, best]
        best = parent[t, best]
    return out


@fast_part
def _tabulate(table, a, tau):
    """Set the factor by which the steps +1 and -1 of each weight multiply each term."""
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            z = max(-25.0, min(25.0, a[i, k] / tau))  # products of three stay within float32
            f = math.exp(-z)
            table[0, i, k] = f
            table[1, i, k] = 1.0 / f


@njit(cache=True, fastmath=True, error_model="numpy")
def _anneal(a, u, w, y, power, mate, mate_sign, taus, temps, per, seed, best_w, best):
    """Metropolis walk on ``tau * log sum_k exp((u - y_k) / tau)``; changes w, y and best_w, returns the best margin."""
    mates = mate.shape[1]
    table = np.empty((2, *a.shape), np.float32)
    e = np.empty(a.shape[1], np.float32)
    one = np.uint64(1)
    r = metropolis.first_state(seed)
    for stage in range(taus.shape[0]):
        tau = taus[stage]
        inv_kappa = temps[stage] / tau
        _tabulate(table, a, tau)
        s = metropolis.soft_terms(y, u, tau, e)
        since = 0
        for _ in range(per):
            r = metropolis.next_state(r)
            i = metropolis.below(r & np.uint64(0xFFFFFFFF), 32, a.shape[0])
            hi = r >> np.uint64(32)
            c = np.int64(hi & one)
            if w[i] >= power:
                c = 1
            elif w[i] <= -power:
                c = 0
            d = 1 - 2 * c
            pair = mates > 0 and ((hi >> one) & np.uint64(0xFFFF)) >= np.uint64(32768)
            j = 0
            dj = 0
            if pair:
                q = metropolis.below(hi >> np.uint64(17), 15, mates)
                j = np.int64(mate[i, q])
                dj = d * np.int64(mate_sign[i, q])
                if w[j] + dj > power or w[j] + dj < -power:
                    continue
                new = metropolis.rated_pair(e, table[c, i], table[0 if dj > 0 else 1, j])
            else:
                new = metropolis.rated(e, table[c, i])
            if not new < s:
                # beyond the reach of any draw: most proposals end here, without a logarithm
                if inv_kappa < 0.05 and not new < s * (1.0 + 40.0 * inv_kappa):
                    continue
                r = metropolis.next_state(r)
                if not math.log(new / s) <= -inv_kappa * math.log(metropolis.uniform(r)):
                    continue
            w[i] += d
            if pair:
                w[j] += dj
                metropolis.take_pair(y, e, d, a[i], table[c, i], dj, a[j], table[0 if dj > 0 else 1, j])
            else:
                metropolis.take_step(y, e, d, a[i], table[c, i])
            s = new
            since += 1
            if since >= metropolis.TERMS_STAY_EXACT:
                s = metropolis.soft_terms(y, u, tau, e)
                since = 0
            m = metropolis.smallest(y)
            if m > best:
                best = m
                metropolis.copy_weights(w, best_w)
    return best


def integer_weights(
    data: Integers,
    signs: Integers,
    bound: int,
    relaxed: Floats,
    value: float,
    multipliers: Floats,
    start: Integers | None = None,
    *,
    proposals: int = PROPOSALS,
    seed: int = 0,
    deadline: Deadline = FOREVER,
    enough: int | None = None,
) -> tuple[Integers, int]:
    """Integer weights for one neuron, and their exact margin.

    Parameters
    ----------
    data, signs, bound
        Rows, the sign that the neuron is to give each of them, and P.
    relaxed, value, multipliers
        Solution, value and row multipliers of the linear program; they guide the search, and no claim rests on them.
    start
        Weights to start from.
    proposals, seed
        How long to search; the result is the same for the same values.
    deadline
        When the search stops regardless.
    enough
        Margin at which to stop.
    """
    columns = np.ascontiguousarray((signs[:, None] * data).T)
    goal = math.floor(value + 1e-6 * max(1.0, abs(value)))
    if enough is not None:
        goal = min(goal, enough)

    # A column of one sign belongs at its bound, whatever the others do.
    up, down = (columns >= 0).all(axis=1), (columns <= 0).all(axis=1)
    x = np.clip(relaxed, -bound, bound)
    x[up], x[down], x[up & down] = bound, -bound, 0

    candidates = [np.rint(x).astype(np.int64), np.zeros(len(columns), dtype=np.int64)]
    if start is not None:
        candidates.append(np.asarray(start, dtype=np.int64))
    best = _Best(*max(((exact_margin(columns, c), c) for c in candidates), key=lambda pair: pair[0]), goal, deadline)
    mixed = np.asarray(~(up | down))
    if best.done() or not mixed.any():
        return best.weights, best.margin
    guide = _Guide.of(columns, bound, x, value, np.maximum(0.0, multipliers), mixed)
    rng = np.random.default_rng(seed)
    used = rounds = 0
    while used < proposals and not best.done():
        free = guide.free(best.margin, rounds)
        if not len(free):
            break
        weights = _beam_weights(guide, free, rounds, rng)
        margin = exact_margin(columns, weights)
        if not best.offer(margin, weights) and rounds == 0 and start is not None:
            weights, margin = best.weights.copy(), best.margin
        used += _annealing_run(guide, free, weights, margin, best, rounds, proposals - used, rng)
        rounds += 1
    return best.weights, exact_margin(columns, best.weights)


@dataclass
class _Best:
    """The best weights so far, the margin at which to stop, and the moment."""

    margin: int
    weights: Integers
    goal: int
    deadline: Deadline

    def done(self) -> bool:
        return self.margin >= self.goal or self.deadline.passed

    def offer(self, margin: int, weights: Integers) -> bool:
        """Take the weights if they are better; returns whether they are."""
        if margin <= self.margin:
            return False
        self.margin, self.weights = margin, weights.copy()
        return True


@dataclass(frozen=True, eq=False)
class _Guide:
    """What the linear program says about where to search.

    Attributes
    ----------
    columns, bound
        Signed columns, and P.
    x, value
        Solution of the linear program, and its value.
    mixed, cost, length
        Per column: whether it has both signs, what a step of its weight costs, and its length on the tight rows.
    tight, unit
        Rows with multipliers, and the root mean square entry of the mixed columns on them.
    limits
        Cost of the dearest weight that may move, by rounds.
    """

    columns: Integers
    bound: int
    x: Floats
    value: float
    mixed: NDArray[np.bool_]
    cost: Floats
    length: Floats
    tight: NDArray[np.bool_]
    unit: float
    limits: list[float]

    @classmethod
    def of(
        cls, columns: Integers, bound: int, x: Floats, value: float, multipliers: Floats, mixed: NDArray[np.bool_]
    ) -> _Guide:
        tight = multipliers > 1e-9 * multipliers.max(initial=0.0)
        if not tight.any():
            tight = np.ones(columns.shape[1], dtype=bool)
        cost = np.abs(columns @ (multipliers / max(1e-300, multipliers.sum())))
        part = columns[:, tight].astype(np.float64)
        length = np.sqrt((part**2).sum(axis=1))
        unit = float(np.sqrt((part[mixed] ** 2).mean())) or 1.0
        ranked = np.sort(cost[mixed])
        # At least the fractional weights and a few dozen more are free, however small the numbers are.
        least = ranked[min(len(ranked) - 1, 2 * int(tight.sum()) + 32)]
        limits = [max(share * max(value, 0.0) / bound, least) for share in _FREE_COST]
        return cls(columns, bound, x, value, mixed, cost, length, tight, unit, limits)

    def free(self, margin: int, rounds: int) -> NDArray[np.intp]:
        """Weights that may move; if a single step costs more than the present gap, the weight must stay."""
        limit = self.limits[rounds % len(self.limits)]
        return np.flatnonzero(self.mixed & (self.cost <= min(self.value - margin, limit)))


def _beam_weights(guide: _Guide, free: NDArray[np.intp], rounds: int, rng: np.random.Generator) -> Integers:
    """All weights, rounded; the free ones by the beam."""
    weights = np.rint(guide.x).astype(np.int64)
    mixed_point = weights.astype(np.float64)
    mixed_point[free] = guide.x[free]
    jitter = 1.0 if rounds == 0 else np.exp(_ORDER_NOISE * rng.standard_normal(len(free)))
    order = np.argsort(-guide.length[free] * jitter, kind="stable")
    weights[free[order]] = _beam(
        np.ascontiguousarray(guide.columns[free]).astype(np.float32),
        mixed_point[free],
        (guide.value - mixed_point @ guide.columns).astype(np.float32),
        guide.bound,
        order,
        _BEAM_TAU[0] * guide.unit,
        _BEAM_TAU[1] * guide.unit,
        _FIRST_WIDTH if rounds == 0 else _WIDTH,
        _LEVELS,
    )
    return weights


def _annealing_run(
    guide: _Guide,
    free: NDArray[np.intp],
    weights: Integers,
    margin: int,
    best: _Best,
    rounds: int,
    proposals: int,
    rng: np.random.Generator,
) -> int:
    """Anneal the free ones of these weights, whose margin is given; returns how many proposals it took."""
    columns_free = np.ascontiguousarray(guide.columns[free])
    mate, mate_sign = metropolis.partner_columns(columns_free[:, guide.tight], metropolis.PARTNERS)
    sums = weights @ guide.columns
    walker = weights[free].copy()
    kept = walker.copy()
    chunks = _RUN[rounds % len(_RUN)]
    used = 0
    for chunk in range(chunks):
        if used >= proposals or best.done():
            break
        size = min(_CHUNK, proposals - used)
        gap = max(guide.value - margin, 1.0)
        progress = (chunk + np.arange(4) / 4.0) / chunks
        taus = gap * _TAU[0] * (_TAU[1] / _TAU[0]) ** progress
        temperatures = gap * _TEMPERATURE[0] * (_TEMPERATURE[1] / _TEMPERATURE[0]) ** progress
        margin = int(
            _anneal(
                columns_free,
                float(guide.value),
                walker,
                sums,
                guide.bound,
                mate,
                mate_sign,
                taus,
                temperatures,
                max(1, size // 4),
                int(rng.integers(1, 2**62)),
                kept,
                margin,
            )
        )
        used += size
        if margin > best.margin:
            found = weights.copy()
            found[free] = kept
            best.offer(margin, found)
    return used
