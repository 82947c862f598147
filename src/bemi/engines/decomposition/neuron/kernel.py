"""The compiled part of the one-neuron linear program: a simplex walk on its dual, and line searches.

The dual of ``max m, s_k w x^k >= m, |w_i| <= P`` is ``min P ||sum_k lam_k s_k x^k||_1`` over the simplex, a convex
piecewise-linear function of at most K numbers.  The walk goes over the vertices of that dual: rows R carry lam, and
|R| - 1 coordinates are held at g_i = 0 (these are the weights strictly between -P and P), so the basis has the size
of the number of tight rows, not of the number of inputs.  A step passes all breakpoints (signs of g_i that change)
until the slope is used up.
"""

from __future__ import annotations

import numpy as np
from numba import njit

OPTIMAL, BELOW, FAILED = 0, 1, 2
"""How a walk ended: at the optimum, at or below the threshold, or without an answer."""

TOP = 8
"""Most violated rows and weights whose steepest-edge length is measured."""


@njit(cache=True)
def refactor(X, s, rows, cols, t, Binv):
    # Gauss-Jordan with row pivoting: a singular basis is an answer here, not an exception.
    B = np.empty((t, t))
    for p in range(t):
        k = rows[p]
        B[p, 0] = 1.0
        for c in range(t - 1):
            B[p, c + 1] = s[k] * X[k, cols[c]]
        for c in range(t):
            Binv[p, c] = 0.0
        Binv[p, p] = 1.0
    for c in range(t):
        best = c
        for p in range(c + 1, t):
            if abs(B[p, c]) > abs(B[best, c]):
                best = p
        if abs(B[best, c]) < 1e-10:
            return False
        if best != c:
            for q in range(t):
                v = B[c, q]
                B[c, q] = B[best, q]
                B[best, q] = v
                v = Binv[c, q]
                Binv[c, q] = Binv[best, q]
                Binv[best, q] = v
        d = 1.0 / B[c, c]
        for q in range(t):
            B[c, q] *= d
            Binv[c, q] *= d
        for p in range(t):
            if p != c and B[p, c] != 0.0:
                f = B[p, c]
                for q in range(t):
                    B[p, q] -= f * B[c, q]
                    Binv[p, q] -= f * Binv[c, q]
    return True


@njit(cache=True)
def present_vertex(X, eps, s, rows, cols, t, Binv, lam, g):
    n = X.shape[1]
    for p in range(t):
        v = Binv[0, p]
        for c in range(t - 1):
            v -= eps[cols[c]] * Binv[c + 1, p]
        lam[p] = v
    for i in range(n):
        g[i] = eps[i]
    for p in range(t):
        f = lam[p] * s[rows[p]]
        for i in range(n):
            g[i] += f * X[rows[p], i]
    for c in range(t - 1):
        g[cols[c]] = 0.0


@njit(cache=True)
def walk(X, XT, gram, eps, s, P, stop, rows, cols, t, side, lam_out, w_out, y_out, max_iter):
    """Minimise P*||g(lam) + eps||_1 from the vertex (rows, cols); returns (status, t, value, iterations).

    eps is a fixed tiny perturbation: images have many zeros and a light point often carries all of
    lam, so the plain problem is massively degenerate.  The primal side (w, m) does not see it.
    """
    K, n = X.shape
    cap = rows.shape[0]
    Binv = np.zeros((cap, cap))
    if not refactor(X, s, rows, cols, t, Binv):
        return FAILED, t, 0.0, 0
    g = np.zeros(n)
    dg = np.zeros(n)
    in_basis_row = np.zeros(K, np.bool_)
    in_basis_col = np.zeros(n, np.bool_)
    for p in range(t):
        in_basis_row[rows[p]] = True
    for c in range(t - 1):
        in_basis_col[cols[c]] = True
    scale = 0.0
    lam = np.zeros(cap)
    present_vertex(X, eps, s, rows, cols, t, Binv, lam, g)
    for p in range(t):
        if lam[p] < -1e-9:
            return FAILED, t, 0.0, 0
    for i in range(n):
        if not in_basis_col[i] and g[i] * side[i] < 0.0:
            side[i] = -side[i]
        scale += abs(X[rows[0], i])
    scale = max(scale, 1.0) * P
    tol = 1e-9 * scale + 1e-7
    # Yrest = X @ (weights at a bound): small integers, hence exact in floats.
    Yrest = np.zeros(K)
    for i in range(n):
        if not in_basis_col[i]:
            si = side[i]
            for k in range(K):
                Yrest[k] += si * XT[i, k]
    y = np.zeros(K)
    wN = np.zeros(cap)
    dlam = np.zeros(cap)
    beta = np.zeros(cap)
    gamma = np.zeros(cap)
    bp = np.empty(n)
    bp_i = np.empty(n, np.int64)
    top_v = np.empty(TOP)
    top_k = np.empty(TOP, np.int64)
    stalled = 0
    since = 0
    rng = 12345
    value = 0.0
    status = FAILED
    it = 0
    while it < max_iter:
        it += 1
        if since >= 40:
            if not refactor(X, s, rows, cols, t, Binv):
                return FAILED, t, value, it
            since = 0
            present_vertex(X, eps, s, rows, cols, t, Binv, lam, g)
        since += 1
        # Multipliers of the present vertex: margin m and the weights between the bounds.
        m = 0.0
        for p in range(t):
            m += Binv[0, p] * s[rows[p]] * Yrest[rows[p]]
        value = m
        if m <= stop:
            status = BELOW
            break
        for c in range(t - 1):
            v = 0.0
            for p in range(t):
                v -= Binv[c + 1, p] * s[rows[p]] * Yrest[rows[p]]
            wN[c] = v
        for k in range(K):
            y[k] = Yrest[k]
        for c in range(t - 1):
            i = cols[c]
            v = wN[c]
            for k in range(K):
                y[k] += v * XT[i, k]
        # Pricing by steepest edge in the space of g: the squared length of each candidate direction
        # comes from the Gram matrix.  Only the few most violated rows are measured.  Random among
        # the candidates once the walk has stalled: no cycling.
        best = 0.0
        ent_row = -1
        ent_col = -1
        seen = 0
        random_rule = stalled > 30
        n_top = 0
        for k in range(K):
            if s[k] != 0 and not in_basis_row[k]:
                viol = m - s[k] * y[k]
                if viol > tol:
                    if random_rule:
                        seen += 1
                        rng = (rng * 1103515245 + 12345) % 2147483648
                        if (rng >> 8) % seen == 0:
                            ent_row = k
                    elif n_top < TOP or viol > top_v[n_top - 1]:
                        if n_top < TOP:
                            n_top += 1
                        q = n_top - 1
                        while q > 0 and top_v[q - 1] < viol:
                            top_v[q] = top_v[q - 1]
                            top_k[q] = top_k[q - 1]
                            q -= 1
                        top_v[q] = viol
                        top_k[q] = k
        for q0 in range(n_top):
            k = top_k[q0]
            sk = s[k]
            norm = gram[k, k]
            for q in range(t):
                v = Binv[0, q]
                for c in range(t - 1):
                    v += sk * X[k, cols[c]] * Binv[c + 1, q]
                beta[q] = v * s[rows[q]]
                norm -= 2.0 * sk * beta[q] * gram[k, rows[q]]
            for q in range(t):
                v = 0.0
                for p in range(t):
                    v += beta[p] * gram[rows[p], rows[q]]
                norm += v * beta[q]
            score = top_v[q0] * top_v[q0] / max(norm, 1e-9)
            if score > best:
                best = score
                ent_row = k
        n_top = 0
        for c in range(t - 1):
            viol = abs(wN[c]) - P
            if viol > 1e-9 * P + 1e-10:
                size = 0.0
                for p in range(t):
                    size += abs(Binv[c + 1, p])
                if viol <= tol * size:
                    continue
                if random_rule:
                    seen += 1
                    rng = (rng * 1103515245 + 12345) % 2147483648
                    if (rng >> 8) % seen == 0:
                        ent_row = -1
                        ent_col = c
                    continue
                viol /= size
                if n_top < TOP or viol > top_v[n_top - 1]:
                    if n_top < TOP:
                        n_top += 1
                    q = n_top - 1
                    while q > 0 and top_v[q - 1] < viol:
                        top_v[q] = top_v[q - 1]
                        top_k[q] = top_k[q - 1]
                        q -= 1
                    top_v[q] = viol
                    top_k[q] = c
        for q0 in range(n_top):
            c = top_k[q0]
            viol = abs(wN[c]) - P
            norm = 0.0
            for p in range(t):
                beta[p] = Binv[c + 1, p] * s[rows[p]]
            for q in range(t):
                v = 0.0
                for p in range(t):
                    v += beta[p] * gram[rows[p], rows[q]]
                norm += v * beta[q]
            score = viol * viol / max(norm, 1e-9)
            if score > best:
                best = score
                ent_row = -1
                ent_col = c
        if ent_row < 0 and ent_col < 0:
            status = OPTIMAL
            break
        # Direction in lam and in g.
        for i in range(n):
            dg[i] = 0.0
        if ent_row >= 0:
            k = ent_row
            sk = s[k]
            for q in range(t):
                v = Binv[0, q]
                for c in range(t - 1):
                    v += sk * X[k, cols[c]] * Binv[c + 1, q]
                beta[q] = v
                dlam[q] = -v
            for i in range(n):
                dg[i] = sk * X[k, i]
            slope = -(m - sk * y[k])
        else:
            sg = 1.0 if wN[ent_col] > 0 else -1.0
            for q in range(t):
                dlam[q] = sg * Binv[ent_col + 1, q]
            slope = P - abs(wN[ent_col])
        for p in range(t):
            f = dlam[p] * s[rows[p]]
            if f != 0.0:
                r = rows[p]
                for i in range(n):
                    dg[i] += f * X[r, i]
        # Ratio test: a lam that reaches zero ends the step; a g_i that does so only bends it.
        limit = np.inf
        leave_row = -1
        for p in range(t):
            if dlam[p] < -1e-11:
                a = max(lam[p], 0.0) / -dlam[p]
                if a < limit - 1e-15 or (a <= limit and (leave_row < 0 or dlam[p] < dlam[leave_row])):
                    limit = a
                    leave_row = p
        big = 0.0
        for i in range(n):
            if abs(dg[i]) > big:
                big = abs(dg[i])
        nb = 0
        for i in range(n):
            if not in_basis_col[i] and side[i] * dg[i] < 0.0 and abs(dg[i]) > 1e-10 * big:
                a = max(g[i] * side[i], 0.0) / abs(dg[i] * side[i])
                if a <= limit:
                    bp[nb] = a
                    bp_i[nb] = i
                    nb += 1
        leave_col = -1
        alpha = limit
        while nb > 0:
            # Few breakpoints are passed, so the next one is searched for rather than all of them sorted.
            q = 0
            for o in range(1, nb):
                if bp[o] < bp[q]:
                    q = o
            i = bp_i[q]
            if slope + 2.0 * P * abs(dg[i]) >= 0.0:
                # Among breakpoints at the same place prefer the largest pivot.
                leave_col = i
                alpha = bp[q]
                for o in range(nb):
                    if bp[o] <= alpha + 1e-12 and abs(dg[bp_i[o]]) > abs(dg[leave_col]):
                        leave_col = bp_i[o]
                break
            slope += 2.0 * P * abs(dg[i])
            side[i] = -side[i]
            d = 2.0 * side[i]
            for k in range(K):
                Yrest[k] += d * XT[i, k]
            nb -= 1
            bp[q] = bp[nb]
            bp_i[q] = bp_i[nb]
        if leave_col < 0 and leave_row < 0:
            return FAILED, t, value, it
        if alpha * -slope <= 1e-12 * scale and alpha <= 1e-13:
            stalled += 1
        else:
            stalled = 0
        for i in range(n):
            g[i] += alpha * dg[i]
        for p in range(t):
            lam[p] += alpha * dlam[p]
        if leave_col >= 0:
            # g is held at zero there from now on; its weight leaves the bound.
            i = leave_col
            si = side[i]
            for k in range(K):
                Yrest[k] -= si * XT[i, k]
            g[i] = 0.0
            in_basis_col[i] = True
            for p in range(t):
                v = 0.0
                for q in range(t):
                    v += Binv[p, q] * s[rows[q]] * X[rows[q], i]
                gamma[p] = v
        if ent_col >= 0:
            i = cols[ent_col]
            in_basis_col[i] = False
            side[i] = P if wN[ent_col] > 0 else -P
            for k in range(K):
                Yrest[k] += side[i] * XT[i, k]
        # Basis change.
        if ent_row >= 0 and leave_col >= 0:
            if t + 1 > cap:
                return FAILED, t, value, it
            piv = s[ent_row] * X[ent_row, leave_col]
            for q in range(t):
                piv -= beta[q] * s[rows[q]] * X[rows[q], leave_col]
            if abs(piv) < 1e-11:
                return FAILED, t, value, it
            for p in range(t):
                f = gamma[p] / piv
                for q in range(t):
                    Binv[p, q] += f * beta[q]
                Binv[p, t] = -f
            for q in range(t):
                Binv[t, q] = -beta[q] / piv
            Binv[t, t] = 1.0 / piv
            rows[t] = ent_row
            lam[t] = alpha
            cols[t - 1] = leave_col
            in_basis_row[ent_row] = True
            t += 1
        elif ent_row >= 0:
            r = leave_row
            piv = beta[r]
            if abs(piv) < 1e-12:
                return FAILED, t, value, it
            for p in range(t):
                f = Binv[p, r] / piv
                for q in range(t):
                    if q != r:
                        Binv[p, q] -= f * beta[q]
                Binv[p, r] = f
            in_basis_row[rows[r]] = False
            in_basis_row[ent_row] = True
            rows[r] = ent_row
            lam[r] = alpha
        elif leave_col >= 0:
            c1 = ent_col + 1
            piv = gamma[c1]
            if abs(piv) < 1e-12:
                return FAILED, t, value, it
            for q in range(t):
                Binv[c1, q] /= piv
            for p in range(t):
                if p != c1:
                    f = gamma[p]
                    for q in range(t):
                        Binv[p, q] -= f * Binv[c1, q]
            cols[ent_col] = leave_col
        else:
            c1 = ent_col + 1
            r = leave_row
            piv = Binv[c1, r]
            if abs(piv) < 1e-13:
                return FAILED, t, value, it
            for p in range(t):
                if p != c1:
                    f = Binv[p, r] / piv
                    for q in range(t):
                        if q != r:
                            Binv[p, q] -= f * Binv[c1, q]
            in_basis_row[rows[r]] = False
            last = t - 1
            # Move the last row and column into the gaps.
            if c1 != last:
                for q in range(t):
                    Binv[c1, q] = Binv[last, q]
                cols[ent_col] = cols[last - 1]
            if r != last:
                for p in range(t):
                    Binv[p, r] = Binv[p, last]
                rows[r] = rows[last]
                lam[r] = lam[last]
            t -= 1
    # Without the perturbation the vertex is exact, unless it was feasible only thanks to it.
    exact = True
    for p in range(t):
        exact = exact and Binv[0, p] > -1e-12
    for p in range(t):
        lam_out[p] = Binv[0, p] if exact else lam[p]
    for i in range(n):
        w_out[i] = 0.0 if in_basis_col[i] else side[i]
    for c in range(t - 1):
        w_out[cols[c]] = min(max(wN[c], -P), P)
    for k in range(K):
        y_out[k] = y[k]
    return status, t, value, it


@njit(cache=True, fastmath=True)  # sums may be reordered: every cap that is used is recomputed exactly
def line_searches(X, starts, inputs, g, which, sign, P, enough, out):
    """Line search on lam: out[q] bounds the margin once point which[q] also has sign[q].

    A share t of lam moves from the present rows to the new one, f(t) = ||(1 - t) g + t s x||_1.  That is convex and
    piecewise linear, so two tangents that fall and rise meet near its minimum; a few such steps are enough.  Only
    inputs where x is not zero are looked at: ``inputs[starts[k]:starts[k + 1]]``.  The best t is in ``out[:, 1]``.

    What cannot get below ``enough`` is not searched; its value is then where the first two tangents meet, an estimate.
    """
    norm = 0.0
    for i in range(g.shape[0]):
        norm += abs(g[i])
    last = -1
    for q in range(which.shape[0]):
        k = which[q]
        sk = sign[q]
        begin, end = starts[k], starts[k + 1]
        if k != last:
            # Sums that both signs of a row share.
            last = k
            size, along, still, across, inside = 0.0, 0.0, 0.0, 0.0, 0.0
            for a in range(begin, end):
                gi = g[inputs[a]]
                x = X[k, inputs[a]]
                size += abs(x)
                inside += abs(gi)
                across += gi if x > 0 else -gi
                if abs(gi) <= 1e-9:
                    still += abs(x)
                else:
                    along += x if gi > 0 else -x
        # At t = 0 and at t = 1; elsewhere is the part of g where x is zero.
        elsewhere = norm - inside
        slope_0 = sk * along + still - norm
        f_1, slope_1 = size, size - sk * across - elsewhere
        best, best_t = norm, 0.0
        if slope_0 < 0.0:
            if f_1 < best:
                best, best_t = f_1, 1.0
            if slope_1 > 0.0:
                lo, f_lo, d_lo = 0.0, norm, slope_0
                hi, f_hi, d_hi = 1.0, f_1, slope_1
                for _ in range(8):
                    t = (f_hi - d_hi * hi - f_lo + d_lo * lo) / (d_lo - d_hi)
                    t = min(max(t, lo), hi)
                    floor = f_lo + d_lo * (t - lo)
                    if P * floor >= enough:
                        best, best_t = min(best, floor), t
                        break
                    f, d = (1.0 - t) * elsewhere, -elsewhere
                    for a in range(begin, end):
                        gi = g[inputs[a]]
                        x = sk * X[k, inputs[a]] - gi
                        v = gi + t * x
                        f += abs(v)
                        d += x if v >= 0 else -x
                    if f < best:
                        best, best_t = f, t
                    if f - floor <= 1e-4 * f:
                        break
                    if d > 0:
                        hi, f_hi, d_hi = t, f, d
                    else:
                        lo, f_lo, d_lo = t, f, d
        out[q, 0] = P * best
        out[q, 1] = best_t
