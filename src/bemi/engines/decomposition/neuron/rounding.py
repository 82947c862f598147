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
import time

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bemi.products import Integers
from bemi.programs.limits import Limits
from bemi.programs.program import Builder, Status
from bemi.solvers import highs

Floats = NDArray[np.float64]

PROPOSALS = 6_000_000
"""Annealing proposals if nothing else ends the search; about half a second for 40 rows."""

_CHUNK = 200_000  # proposals between two looks at the clock

# Found by trying on pairs of image classes; results are flat around these values.
_FIRST_WIDTH, _WIDTH, _LEVELS = 60, 150, 12
_BEAM_TAU = (0.5, 0.1)  # first and last softness, in units of the root mean square entry
_ORDER_NOISE = 0.2  # spread of the column order in later rounds
_FREE_COST = (0.002, 0.003, 0.0015)  # dearest free weight by rounds, as a share of U / P
_MATES = 8  # partners per column
_RUN = (4, 8)  # chunks per annealing run, by rounds
_TAU = (0.35, 0.2)  # first and last softness, relative to the gap of the present point
_TEMPERATURE = (0.005, 0.0014)  # first and last, relative to the same


def exact_margin(signed_columns: Integers, weights: Integers) -> int:
    """Smallest signed pre-activation, in 64-bit integers; columns are rows here: shape (weights, rows)."""
    return int((weights @ signed_columns).min())


@njit(cache=True)
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


@njit(cache=True, fastmath=True, error_model="numpy")
def _beam(a, x, res, power, order, tau_first, tau_last, width, levels):
    """Fix the columns of ``order`` one by one and keep the ``width`` best partial points.

    ``a`` (n, K) float32 columns, ``x`` values of the columns not yet fixed, ``res`` (K,) = U - y at x.  The softness
    tau falls in ``levels`` steps; between them the terms are carried along by multiplication, which spares
    exponentials.
    """
    n_rows = res.shape[0]
    steps = order.shape[0]
    cur = np.empty((width, n_rows), np.float32)
    nxt = np.empty((width, n_rows), np.float32)
    e_cur = np.empty((width, n_rows), np.float32)
    e_nxt = np.empty((width, n_rows), np.float32)
    for k in range(n_rows):
        cur[0, k] = res[k]
    count = 1
    parent = np.zeros((steps, width), np.int32)
    choice = np.zeros((steps, width), np.int16)
    factor = np.empty((4, n_rows), np.float32)
    score = np.empty(4 * width, np.float32)
    scratch = np.empty(4 * width, np.float32)
    level = -1
    tau = tau_first
    for t in range(steps):
        i = order[t]
        now = (t * levels) // steps
        if now != level:
            level = now
            tau = tau_last + (tau_first - tau_last) * (1.0 - now / max(1, levels - 1))
            for b in range(count):
                for k in range(n_rows):
                    e_cur[b, k] = math.exp(max(-40.0, min(40.0, cur[b, k] / tau)))
        # the neighbours of the LP value on both sides, at most four
        low = max(-power, math.floor(x[i] + 1e-7) - 1)
        high = min(power, math.ceil(x[i] - 1e-7) + 1)
        if power == 1:
            low = -1
            high = 1
        vals = high - low + 1
        for v in range(vals):
            d = low + v - x[i]
            for k in range(n_rows):
                factor[v, k] = math.exp(max(-30.0, min(30.0, -d * a[i, k] / tau)))
        for b in range(count):
            e = e_cur[b]
            for v in range(vals):
                s = np.float32(0)
                f = factor[v]
                for k in range(n_rows):
                    s += e[k] * f[k]
                score[b * vals + v] = s
        total = count * vals
        worst = np.float32(3e38)
        if total > width:
            for q in range(total):
                scratch[q] = score[q]
            worst = _nth(scratch, total, width - 1)
        kept = 0
        for q in range(total):
            if score[q] <= worst and kept < width:
                b = q // vals
                v = q % vals
                d = np.float32(low + v - x[i])
                for k in range(n_rows):
                    nxt[kept, k] = cur[b, k] - d * a[i, k]
                    e_nxt[kept, k] = min(np.float32(1e20), max(np.float32(1e-20), e_cur[b, k] * factor[v, k]))
                parent[t, kept] = b
                choice[t, kept] = low + v
                kept += 1
        count = kept
        cur, nxt = nxt, cur
        e_cur, e_nxt = e_nxt, e_cur
    best = 0
    low_res = np.float32(3e38)
    for b in range(count):
        m = np.float32(-3e38)
        for k in range(n_rows):
            m = max(m, cur[b, k])
        if m < low_res:
            low_res = m
            best = b
    out = np.zeros(steps, np.int64)
    for t in range(steps - 1, -1, -1):
        out[t] = choice[t, best]
        best = parent[t, best]
    return out


@njit(cache=True, fastmath=True, error_model="numpy")
def _terms(y, u, tau, e):
    s = np.float32(0)
    for k in range(y.shape[0]):
        e[k] = math.exp(max(-60.0, min(30.0, (u - y[k]) / tau)))
        s += e[k]
    return s


@njit(cache=True, fastmath=True, error_model="numpy")
def _anneal(a, u, w, y, power, mate, mate_sign, taus, temps, per, seed, best_w, best):
    """Metropolis walk on ``tau * log sum_k exp((u - y_k) / tau)``; changes w, y and best_w, returns the best margin."""
    n, n_rows = a.shape
    mates = mate.shape[1]
    table = np.empty((2, n, n_rows), np.float32)  # factors of the steps +1 and -1
    e = np.empty(n_rows, np.float32)
    one = np.uint64(1)
    r = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x2545F4914F6CDD1D)
    if r == np.uint64(0):
        r = one
    low32 = np.uint64(0xFFFFFFFF)
    low16 = np.uint64(0xFFFF)
    for stage in range(taus.shape[0]):
        tau = taus[stage]
        inv_kappa = temps[stage] / tau
        for i in range(n):
            for k in range(n_rows):
                z = max(-25.0, min(25.0, a[i, k] / tau))  # products of three stay within float32
                f = math.exp(-z)
                table[0, i, k] = f
                table[1, i, k] = 1.0 / f
        s = _terms(y, u, tau, e)
        since = 0
        for _ in range(per):
            r ^= r << np.uint64(13)
            r ^= r >> np.uint64(7)
            r ^= r << np.uint64(17)
            i = np.int64(((r & low32) * np.uint64(n)) >> np.uint64(32))
            hi = r >> np.uint64(32)
            c = np.int64(hi & one)
            if w[i] >= power:
                c = 1
            elif w[i] <= -power:
                c = 0
            d = 1 - 2 * c
            fi = table[c, i]
            pair = mates > 0 and ((hi >> one) & low16) >= np.uint64(32768)
            j = 0
            dj = 0
            new = np.float32(0)
            if pair:
                q = np.int64(((hi >> np.uint64(17)) * np.uint64(mates)) >> np.uint64(15))
                j = np.int64(mate[i, q])
                dj = d * np.int64(mate_sign[i, q])
                if w[j] + dj > power or w[j] + dj < -power:
                    continue
                fj = table[0 if dj > 0 else 1, j]
                for k in range(n_rows):
                    new += e[k] * fi[k] * fj[k]
            else:
                for k in range(n_rows):
                    new += e[k] * fi[k]
            if not new < s:
                # beyond the reach of any draw: most proposals end here, without a logarithm
                if inv_kappa < 0.05 and not new < s * (1.0 + 40.0 * inv_kappa):
                    continue
                r ^= r << np.uint64(13)
                r ^= r >> np.uint64(7)
                r ^= r << np.uint64(17)
                draw = (np.float64(r >> np.uint64(12)) + 1.0) * 2.0**-52
                if not math.log(new / s) <= -inv_kappa * math.log(draw):
                    continue
            w[i] += d
            ai = a[i]
            if pair:
                w[j] += dj
                aj = a[j]
                fj = table[0 if dj > 0 else 1, j]
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
                s = _terms(y, u, tau, e)
                since = 0
            m = y.min()
            if m > best:
                best = m
                best_w[:] = w
    return best


def _mates(columns: Integers, count: int) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """For each column the partners whose sum or difference with it is shortest, with the relative sign."""
    n = len(columns)
    count = min(count, n - 1)
    if count <= 0:
        return np.zeros((n, 0), np.int32), np.zeros((n, 0), np.int8)
    c = columns.astype(np.float32)
    g = c @ c.T
    q = np.diag(g).copy()
    dist = q[None, :] - 2 * np.abs(g)
    np.fill_diagonal(dist, np.inf)
    idx = np.argpartition(dist, count - 1, axis=1)[:, :count]
    sign = np.where(np.take_along_axis(g, idx, 1) > 0, -1, 1)
    return idx.astype(np.int32), sign.astype(np.int8)


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
    deadline: float | None = None,
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
        Moment of ``time.perf_counter`` after which the search ends all the same.
    enough
        Margin at which to stop.
    """
    columns = np.ascontiguousarray((signs[:, None] * data).T)
    n, rows = columns.shape
    multipliers = np.maximum(0.0, multipliers)
    goal = math.floor(value + 1e-6 * max(1.0, abs(value)))
    if enough is not None:
        goal = min(goal, enough)

    # A column of one sign belongs at its bound, whatever the others do.
    up, down = (columns >= 0).all(axis=1), (columns <= 0).all(axis=1)
    x = np.clip(relaxed, -bound, bound)
    x[up], x[down], x[up & down] = bound, -bound, 0

    candidates = [np.rint(x).astype(np.int64), np.zeros(n, dtype=np.int64)]
    if start is not None:
        candidates.append(np.asarray(start, dtype=np.int64))
    best, best_weights = max(((exact_margin(columns, c), c) for c in candidates), key=lambda pair: pair[0])

    def done() -> bool:
        return best >= goal or (deadline is not None and time.perf_counter() >= deadline)

    mixed = ~(up | down)
    if done() or not mixed.any():
        return best_weights, best
    tight = multipliers > 1e-9 * multipliers.max(initial=0.0)
    if not tight.any():
        tight = np.ones(rows, dtype=bool)
    cost = np.abs(columns @ (multipliers / max(1e-300, multipliers.sum())))
    part = columns[:, tight].astype(np.float64)
    length = np.sqrt((part**2).sum(axis=1))
    unit = float(np.sqrt((part[mixed] ** 2).mean())) or 1.0
    ranked = np.sort(cost[mixed])
    # At least the fractional weights and a few dozen more are free, however small the numbers are.
    least = ranked[min(len(ranked) - 1, 2 * int(tight.sum()) + 32)]
    limits = [max(share * max(value, 0.0) / bound, least) for share in _FREE_COST]
    rng = np.random.default_rng(seed)
    used = rounds = 0
    while used < proposals and not done():
        # A weight whose single step costs more than the present gap must stay; most dear ones will.
        free = np.flatnonzero(mixed & (cost <= min(value - best, limits[rounds % len(limits)])))
        if not len(free):
            break
        weights = np.rint(x).astype(np.int64)
        mixed_point = weights.astype(np.float64)
        mixed_point[free] = x[free]
        columns_free = np.ascontiguousarray(columns[free])
        jitter = 1.0 if rounds == 0 else np.exp(_ORDER_NOISE * rng.standard_normal(len(free)))
        order = np.argsort(-length[free] * jitter, kind="stable")
        weights[free[order]] = _beam(
            columns_free.astype(np.float32),
            mixed_point[free],
            (value - mixed_point @ columns).astype(np.float32),
            bound,
            order,
            _BEAM_TAU[0] * unit,
            _BEAM_TAU[1] * unit,
            _FIRST_WIDTH if rounds == 0 else _WIDTH,
            _LEVELS,
        )
        sums = weights @ columns
        reached = int(sums.min())
        if reached > best:
            best, best_weights = reached, weights.copy()
        elif rounds == 0 and start is not None:
            weights, reached = best_weights.copy(), best
            sums = weights @ columns
        mate, mate_sign = _mates(columns_free[:, tight], _MATES)
        walker = weights[free].copy()
        kept = walker.copy()
        chunks = _RUN[rounds % len(_RUN)]
        for chunk in range(chunks):
            if used >= proposals or done():
                break
            size = min(_CHUNK, proposals - used)
            gap = max(value - reached, 1.0)
            progress = (chunk + np.arange(4) / 4.0) / chunks
            taus = gap * _TAU[0] * (_TAU[1] / _TAU[0]) ** progress
            temperatures = gap * _TEMPERATURE[0] * (_TEMPERATURE[1] / _TEMPERATURE[0]) ** progress
            reached = int(
                _anneal(
                    columns_free,
                    float(value),
                    walker,
                    sums,
                    bound,
                    mate,
                    mate_sign,
                    taus,
                    temperatures,
                    max(1, size // 4),
                    int(rng.integers(1, 2**62)),
                    kept,
                    reached,
                )
            )
            used += size
            if reached > best:
                best, best_weights = reached, weights.copy()
                best_weights[free] = kept
        rounds += 1
    return best_weights, exact_margin(columns, best_weights)


def settled_weights(
    data: Integers, signs: Integers, bound: int, multipliers: Integers, start: Integers, limits: Limits
) -> tuple[Integers, int, bool]:
    """Weights at least as good as ``start``, their exact margin, and whether the solver calls them the best there are.

    For multipliers lam and ``g = sum_k lam_k s_k x^k / sum lam``, weights with ``w_i = v`` have a margin of at most
    ``P ||g||_1 - (P |g_i| - v g_i)``.  So better weights than ``start`` stay within a few steps of their bounds, and
    what is left is small where few rows are tight.
    """
    rows = signs[:, None] * data
    best = int((rows @ start).min())
    total = int(multipliers.sum())
    g = np.abs(multipliers @ rows)
    slack = bound * int(g.sum()) - (best + 1) * total
    if slack < 0:
        return start, best, True
    steps = np.minimum(2 * bound, slack // np.maximum(g, 1))
    toward = np.sign(multipliers @ rows)
    low = np.where(toward > 0, bound - steps, -bound)
    high = np.where(toward < 0, -bound + steps, bound)
    builder = Builder()
    w = builder.columns(len(start), low, high, integer=True)
    m = builder.columns(1, best + 1, bound * int(np.abs(data).sum(axis=1).min()), integer=True)
    columns = np.broadcast_to(np.append(w, m), (len(rows), len(start) + 1))
    builder.rows(columns, np.column_stack([rows, -np.ones(len(rows))]), lower=0)
    solution = highs.solve(builder.program("max", m), limits=limits)
    if solution.x is not None:
        weights = solution.x[w].astype(np.int64)
        reached = int((rows @ weights).min())
        if reached > best:
            return weights, reached, solution.status is Status.OPTIMAL
    return start, best, solution.status is Status.INFEASIBLE
