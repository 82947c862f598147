"""The compiled part of the one-neuron linear program: a simplex walk on its dual, and line searches.

The dual of ``max m, s_k w x^k >= m, |w_i| <= P`` is ``min P ||sum_k lam_k s_k x^k||_1`` over the simplex, a convex
piecewise-linear function of at most K numbers.  The walk visits vertices of that dual: rows R carry lam, and |R| - 1
coordinates are held at g_i = 0 (their weights are the ones strictly between -P and P), so the basis is as large as the
number of tight rows, not as the number of inputs.  A step passes all breakpoints (signs of g_i that change) until the
slope is used up.

The parts of the walk are compiled functions of their own.  They change the arrays they are given; the size of the
basis is a plain number and passed separately.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bemi.jit import njit

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

OPTIMAL, BELOW, FAILED = 0, 1, 2
"""How a walk ended: at the optimum, at or below the threshold, or without an answer."""

TOP = 8
"""How many of the most violated rows, and of the most violated weights, have their steepest-edge length measured."""

_STEPS_BETWEEN_INVERSIONS = 40
_STALLED = 30  # steps without progress after which the entering row or weight is drawn at random

# What the walk is made of.  Called by compiled code only, so without wrappers for Python.  Inlined: calls with these
# many arrays make a walk over 20 rows 14 % slower.  No divisor is ever 0; the error model only spares the checks.  They
# allocate nothing, so they count no references (``_nrt``), which makes them faster to compile.
_called = njit(_nrt=False, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
_part = njit(_nrt=False, forceinline=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)


class _Program(NamedTuple):
    """Rows, columns and Gram matrix of the data, the perturbation, the rows' signs (0: free), and P."""

    X: Floats
    XT: Floats
    gram: Floats
    eps: Floats
    s: Floats
    P: float


class _Basis(NamedTuple):
    """Rows with multipliers lam, inputs whose weights are between the bounds, and the inverse of the basis matrix.

    The matrix has a row (1, s_k x^k_i for the inputs i of the basis) for every row k of the basis; it is inverted in
    ``scratch``.
    """

    rows: Indices
    cols: Indices
    has_row: Flags
    has_col: Flags
    inverse: Floats
    lam: Floats
    scratch: Floats


class _Point(NamedTuple):
    """The vertex: g, and the bound at which each weight outside of the basis sits (``side``).

    ``rest`` is X @ (weights at a bound): small integers, hence exact in floats.  ``w`` holds the weights of the basis
    and ``y`` the pre-activations, X @ (all weights).
    """

    g: Floats
    side: Floats
    rest: Floats
    w: Floats
    y: Floats


class _Step(NamedTuple):
    """A direction in lam and in g; the entering row and the leaving input in terms of the basis; breakpoints of g."""

    dlam: Floats
    dg: Floats
    row_in_basis: Floats
    col_in_basis: Floats
    breaks_at: Floats
    breaks: Indices


class _Pricing(NamedTuple):
    """The most violated candidates with their violations, coordinates of one of them, and the random state."""

    violation: Floats
    candidate: Indices
    coordinates: Floats
    random: Indices


@_called
def _invert_basis(program, basis, size):
    # Gauss-Jordan with row pivoting: a singular basis is an answer here, not an exception.
    inverse = basis.inverse
    B = basis.scratch
    for p in range(size):
        k = basis.rows[p]
        B[p, 0] = 1.0
        for c in range(size - 1):
            B[p, c + 1] = program.s[k] * program.X[k, basis.cols[c]]
        for c in range(size):
            inverse[p, c] = 0.0
        inverse[p, p] = 1.0
    for c in range(size):
        best = c
        for p in range(c + 1, size):
            if abs(B[p, c]) > abs(B[best, c]):
                best = p
        if abs(B[best, c]) < 1e-10:
            return False
        if best != c:
            for q in range(size):
                B[c, q], B[best, q] = B[best, q], B[c, q]
                inverse[c, q], inverse[best, q] = inverse[best, q], inverse[c, q]
        d = 1.0 / B[c, c]
        for q in range(size):
            B[c, q] *= d
            inverse[c, q] *= d
        for p in range(size):
            if p != c and B[p, c] != 0.0:
                f = B[p, c]
                for q in range(size):
                    B[p, q] -= f * B[c, q]
                    inverse[p, q] -= f * inverse[c, q]
    return True


@_part
def _compute_vertex(program, basis, size, g):
    """Set lam and g from the basis."""
    lam, inverse = basis.lam, basis.inverse
    for p in range(size):
        lam[p] = inverse[0, p]
    for c in range(size - 1):
        f = program.eps[basis.cols[c]]
        for p in range(size):
            lam[p] -= f * inverse[c + 1, p]
    for i in range(g.size):
        g[i] = program.eps[i]
    for p in range(size):
        k = basis.rows[p]
        f = lam[p] * program.s[k]
        for i in range(g.size):
            g[i] += f * program.X[k, i]
    for c in range(size - 1):
        g[basis.cols[c]] = 0.0


@_part
def _add_column(XT, rest, i, factor):
    """Add a multiple of an input's column."""
    for k in range(rest.size):
        rest[k] += factor * XT[i, k]


@_part
def _enter_start(program, basis, size, point):
    """Compute the vertex of a basis; returns whether it is one."""
    if not _invert_basis(program, basis, size):
        return False
    for p in range(size):
        basis.has_row[basis.rows[p]] = True
    for c in range(size - 1):
        basis.has_col[basis.cols[c]] = True
    _compute_vertex(program, basis, size, point.g)
    for p in range(size):
        if basis.lam[p] < -1e-9:
            return False
    for i in range(point.g.size):
        if not basis.has_col[i]:
            if point.g[i] * point.side[i] < 0.0:
                point.side[i] = -point.side[i]
            _add_column(program.XT, point.rest, i, point.side[i])
    return True


@_part
def _margin(program, basis, size, point):
    m = 0.0
    for p in range(size):
        k = basis.rows[p]
        m += basis.inverse[0, p] * program.s[k] * point.rest[k]
    return m


@_part
def _compute_weights(program, basis, size, point):
    """Set the weights of the basis and the pre-activations."""
    for c in range(size - 1):
        v = 0.0
        for p in range(size):
            k = basis.rows[p]
            v -= basis.inverse[c + 1, p] * program.s[k] * point.rest[k]
        point.w[c] = v
    for k in range(point.y.size):
        point.y[k] = point.rest[k]
    for c in range(size - 1):
        _add_column(program.XT, point.y, basis.cols[c], point.w[c])


@_part
def _express_row(X, s, cols, inverse, size, k, out):
    """The row k as a combination of the basis's rows."""
    for q in range(size):
        out[q] = inverse[0, q]
    for c in range(size - 1):
        f = s[k] * X[k, cols[c]]
        for q in range(size):
            out[q] += f * inverse[c + 1, q]


@_part
def _excess(w, P, inverse, size, c, tolerance):
    """How far a weight of the basis is out of bounds, relative to its row of the inverse; 0 if it counts as inside."""
    excess = abs(w[c]) - P
    if not excess > 1e-9 * P + 1e-10:
        return 0.0
    length = 0.0
    for p in range(size):
        length += abs(inverse[c + 1, p])
    return 0.0 if excess <= tolerance * length else excess / length


@_part
def _shortlist(values, candidates, count, violation, candidate):
    """Sort a candidate in if it is among the most violated ones; returns how many there are."""
    if count == TOP and not violation > values[TOP - 1]:
        return count
    q = min(count, TOP - 1)
    while q > 0 and values[q - 1] < violation:
        values[q] = values[q - 1]
        candidates[q] = candidates[q - 1]
        q -= 1
    values[q] = violation
    candidates[q] = candidate
    return min(count + 1, TOP)


@_part
def _squared_length(gram, rows, size, coordinates, length):
    """``length`` plus the squared length of the combination of the basis's rows with these coordinates."""
    for q in range(size):
        v = 0.0
        for p in range(size):
            v += coordinates[p] * gram[rows[p], rows[q]]
        length += v * coordinates[q]
    return length


@_part
def _price_rows(program, basis, size, point, margin, tolerance, pricing):
    """The row of steepest descent among the most violated ones, and its score."""
    s, gram, beta = program.s, program.gram, pricing.coordinates
    count = np.int64(0)  # typed, like below: a literal would have the part compiled twice
    for k in range(s.size):
        if s[k] != 0 and not basis.has_row[k]:
            violation = margin - s[k] * point.y[k]
            if violation > tolerance:
                count = _shortlist(pricing.violation, pricing.candidate, count, violation, k)
    best, row = 0.0, -1
    for o in range(count):
        k = pricing.candidate[o]
        length = gram[k, k]
        _express_row(program.X, program.s, basis.cols, basis.inverse, size, k, beta)
        for q in range(size):
            beta[q] *= s[basis.rows[q]]
            length -= 2.0 * s[k] * beta[q] * gram[k, basis.rows[q]]
        length = _squared_length(program.gram, basis.rows, size, pricing.coordinates, length)
        score = pricing.violation[o] * pricing.violation[o] / max(length, 1e-9)
        if score > best:
            best, row = score, k
    return row, best


@_part
def _price_weights(program, basis, size, point, tolerance, pricing):
    """The weight of the basis whose way back to its bound descends most steeply, and its score."""
    count = np.int64(0)
    for c in range(size - 1):
        violation = _excess(point.w, program.P, basis.inverse, size, c, tolerance)
        if violation != 0.0:
            count = _shortlist(pricing.violation, pricing.candidate, count, violation, c)
    best, col = 0.0, -1
    for o in range(count):
        c = pricing.candidate[o]
        excess = abs(point.w[c]) - program.P
        for p in range(size):
            pricing.coordinates[p] = basis.inverse[c + 1, p] * program.s[basis.rows[p]]
        length = _squared_length(program.gram, basis.rows, size, pricing.coordinates, 0.0)
        score = excess * excess / max(length, 1e-9)
        if score > best:
            best, col = score, c
    return col, best


@_part
def _drawn(random, seen):
    """True with probability 1 / seen."""
    random[0] = (random[0] * 1103515245 + 12345) % 2147483648
    return (random[0] >> 8) % seen == 0


@_part
def _draw_entering(program, basis, size, point, margin, tolerance, random):
    """A violated row or weight, drawn at random: without this, a walk that has stalled might cycle."""
    row, col, seen = -1, -1, 0
    for k in range(program.s.size):
        if program.s[k] != 0 and not basis.has_row[k] and margin - program.s[k] * point.y[k] > tolerance:
            seen += 1
            if _drawn(random, seen):
                row = k
    for c in range(size - 1):
        if _excess(point.w, program.P, basis.inverse, size, c, tolerance) != 0.0:
            seen += 1
            if _drawn(random, seen):
                row, col = -1, c
    return row, col


@_part
def _find_entering(program, basis, size, point, margin, tolerance, pricing):
    """The row, or else the weight of the basis, that enters; -1 for both at the optimum.

    By steepest edge in the space of g: the squared length of each candidate direction comes from the Gram matrix.
    """
    row, row_score = _price_rows(program, basis, size, point, margin, tolerance, pricing)
    col, col_score = _price_weights(program, basis, size, point, tolerance, pricing)
    if col_score > row_score:
        return -1, col
    return row, -1


@_part
def _set_direction(program, basis, size, point, step, row, col, margin):
    """Set the direction in lam and in g along which the row or weight enters; returns the slope."""
    if row >= 0:
        sign = program.s[row]
        _express_row(program.X, program.s, basis.cols, basis.inverse, size, row, step.row_in_basis)
        for q in range(size):
            step.dlam[q] = -step.row_in_basis[q]
        for i in range(step.dg.size):
            step.dg[i] = sign * program.X[row, i]
        slope = -(margin - sign * point.y[row])
    else:
        sign = 1.0 if point.w[col] > 0 else -1.0
        for q in range(size):
            step.dlam[q] = sign * basis.inverse[col + 1, q]
        for i in range(step.dg.size):
            step.dg[i] = 0.0
        slope = program.P - abs(point.w[col])
    for p in range(size):
        k = basis.rows[p]
        f = step.dlam[p] * program.s[k]
        if f != 0.0:
            for i in range(step.dg.size):
                step.dg[i] += f * program.X[k, i]
    return slope


@_part
def _ratio_test(lam, dlam, size):
    """The position in the basis whose lam reaches zero first, and the step at which it does."""
    limit, leaving = np.inf, -1
    for p in range(size):
        if dlam[p] < -1e-11:
            a = max(lam[p], 0.0) / -dlam[p]
            if a < limit - 1e-15 or (a <= limit and (leaving < 0 or dlam[p] < dlam[leaving])):
                limit, leaving = a, p
    return leaving, limit


@_part
def _collect_breakpoints(basis, point, step, limit):
    """Find where along the step some g_i reaches zero; returns how many such places there are up to ``limit``."""
    g, side, dg = point.g, point.side, step.dg
    largest = 0.0
    for i in range(dg.size):
        if abs(dg[i]) > largest:
            largest = abs(dg[i])
    count = 0
    for i in range(dg.size):
        if not basis.has_col[i] and side[i] * dg[i] < 0.0 and abs(dg[i]) > 1e-10 * largest:
            a = max(g[i] * side[i], 0.0) / abs(dg[i] * side[i])
            if a <= limit:
                step.breaks_at[count] = a
                step.breaks[count] = i
                count += 1
    return count


@_part
def _pass_breakpoints(program, basis, point, step, slope, limit):
    """Go on while the slope is negative, turning sides; returns the input that ends the step or -1, step and slope."""
    at, inputs, dg = step.breaks_at, step.breaks, step.dg
    count = _collect_breakpoints(basis, point, step, limit)
    while count > 0:
        # Few breakpoints are passed, so the next one is searched for rather than all of them sorted.
        q = 0
        for o in range(1, count):
            if at[o] < at[q]:
                q = o
        i = inputs[q]
        bend = 2.0 * program.P * abs(dg[i])
        if slope + bend >= 0.0:
            # Among breakpoints at the same place prefer the largest pivot.
            leaving, alpha = i, at[q]
            for o in range(count):
                if at[o] <= alpha + 1e-12 and abs(dg[inputs[o]]) > abs(dg[leaving]):
                    leaving = inputs[o]
            return leaving, alpha, slope
        slope += bend
        point.side[i] = -point.side[i]
        _add_column(program.XT, point.rest, i, 2.0 * point.side[i])
        count -= 1
        at[q], inputs[q] = at[count], inputs[count]
    return -1, limit, slope


@_part
def _take_step(program, basis, size, point, step, alpha, leave_col, enter_col):
    """Move to the next vertex: all but the change of the basis."""
    for i in range(point.g.size):
        point.g[i] += alpha * step.dg[i]
    for p in range(size):
        basis.lam[p] += alpha * step.dlam[p]
    if leave_col >= 0:
        # g is held at zero there from now on; its weight leaves the bound.
        _add_column(program.XT, point.rest, leave_col, -point.side[leave_col])
        point.g[leave_col] = 0.0
        basis.has_col[leave_col] = True
        for p in range(size):
            v = 0.0
            for q in range(size):
                k = basis.rows[q]
                v += basis.inverse[p, q] * program.s[k] * program.X[k, leave_col]
            step.col_in_basis[p] = v
    if enter_col >= 0:
        i = basis.cols[enter_col]
        basis.has_col[i] = False
        point.side[i] = program.P if point.w[enter_col] > 0 else -program.P
        _add_column(program.XT, point.rest, i, point.side[i])


@_part
def _grow(program, basis, size, step, row, col, alpha):
    """A row and an input enter the basis; returns False on a bad pivot, as do the other changes."""
    inverse, beta, gamma = basis.inverse, step.row_in_basis, step.col_in_basis
    if size + 1 > basis.rows.size:
        return False
    pivot = program.s[row] * program.X[row, col]
    for q in range(size):
        k = basis.rows[q]
        pivot -= beta[q] * program.s[k] * program.X[k, col]
    if abs(pivot) < 1e-11:
        return False
    for p in range(size):
        f = gamma[p] / pivot
        for q in range(size):
            inverse[p, q] += f * beta[q]
        inverse[p, size] = -f
    for q in range(size):
        inverse[size, q] = -beta[q] / pivot
    inverse[size, size] = 1.0 / pivot
    basis.rows[size] = row
    basis.lam[size] = alpha
    basis.cols[size - 1] = col
    basis.has_row[row] = True
    return True


@_part
def _replace_row(basis, size, step, row, leaving, alpha):
    inverse, beta = basis.inverse, step.row_in_basis
    pivot = beta[leaving]
    if abs(pivot) < 1e-12:
        return False
    for p in range(size):
        f = inverse[p, leaving] / pivot
        for q in range(size):
            if q != leaving:
                inverse[p, q] -= f * beta[q]
        inverse[p, leaving] = f
    basis.has_row[basis.rows[leaving]] = False
    basis.has_row[row] = True
    basis.rows[leaving] = row
    basis.lam[leaving] = alpha
    return True


@_part
def _replace_input(basis, size, step, position, col):
    inverse, gamma = basis.inverse, step.col_in_basis
    line = position + 1
    pivot = gamma[line]
    if abs(pivot) < 1e-12:
        return False
    for q in range(size):
        inverse[line, q] /= pivot
    for p in range(size):
        if p != line:
            f = gamma[p]
            for q in range(size):
                inverse[p, q] -= f * inverse[line, q]
    basis.cols[position] = col
    return True


@_part
def _shrink(basis, size, leaving, position):
    """A row and an input leave the basis; the last ones move into the gaps."""
    inverse, line, last = basis.inverse, position + 1, size - 1
    pivot = inverse[line, leaving]
    if abs(pivot) < 1e-13:
        return False
    for p in range(size):
        if p != line:
            f = inverse[p, leaving] / pivot
            for q in range(size):
                if q != leaving:
                    inverse[p, q] -= f * inverse[line, q]
    basis.has_row[basis.rows[leaving]] = False
    if line != last:
        for q in range(size):
            inverse[line, q] = inverse[last, q]
        basis.cols[position] = basis.cols[last - 1]
    if leaving != last:
        for p in range(size):
            inverse[p, leaving] = inverse[p, last]
        basis.rows[leaving] = basis.rows[last]
        basis.lam[leaving] = basis.lam[last]
    return True


@_part
def _change_basis(program, basis, size, step, enter_row, enter_col, leave_row, leave_col, alpha):
    """Returns the new size, or 0 on a bad pivot or without room."""
    if enter_row >= 0:
        if leave_col >= 0:
            return size + 1 if _grow(program, basis, size, step, enter_row, leave_col, alpha) else 0
        return size if _replace_row(basis, size, step, enter_row, leave_row, alpha) else 0
    if leave_col >= 0:
        return size if _replace_input(basis, size, step, enter_col, leave_col) else 0
    return size - 1 if _shrink(basis, size, leave_row, enter_col) else 0


@_part
def _write_result(program, basis, size, point, lam_out, w_out, y_out):
    # Without the perturbation the vertex is exact, unless it was feasible only thanks to it.
    exact = True
    for p in range(size):
        exact = exact and basis.inverse[0, p] > -1e-12
    for p in range(size):
        lam_out[p] = basis.inverse[0, p] if exact else basis.lam[p]
    for i in range(w_out.size):
        w_out[i] = 0.0 if basis.has_col[i] else point.side[i]
    for c in range(size - 1):
        w_out[basis.cols[c]] = min(max(point.w[c], -program.P), program.P)
    for k in range(y_out.size):
        y_out[k] = point.y[k]


@njit(cache=True, error_model="numpy")
def walk(X, XT, gram, eps, s, P, stop, rows, cols, t, side, lam_out, w_out, y_out, max_iter):
    """Minimise P*||g(lam) + eps||_1 from the vertex (rows, cols); returns (status, t, value, iterations).

    eps is a fixed tiny perturbation: images have many zeros and a row of small L1 norm often carries all of lam, so the
    plain problem is massively degenerate.  The primal side (w, m) does not see it.
    """
    K, n = X.shape
    room = rows.size
    program = _Program(X, XT, gram, eps, s, P)
    square = np.zeros((2, room, room))
    basis = _Basis(rows, cols, np.zeros(K, np.bool_), np.zeros(n, np.bool_), square[0], np.zeros(room), square[1])
    point = _Point(np.zeros(n), side, np.zeros(K), np.zeros(room), np.zeros(K))
    if not _enter_start(program, basis, t, point):
        return FAILED, t, 0.0, 0
    step = _Step(np.zeros(room), np.zeros(n), np.zeros(room), np.zeros(room), np.empty(n), np.empty(n, np.int64))
    pricing = _Pricing(np.empty(TOP), np.empty(TOP, np.int64), np.empty(room), np.array([12345]))
    scale = 0.0
    for i in range(n):
        scale += abs(X[rows[0], i])
    scale = max(scale, 1.0) * P
    tolerance = 1e-9 * scale + 1e-7
    status, value, iterations = FAILED, 0.0, 0
    stalled = since_inversion = 0
    while iterations < max_iter:
        iterations += 1
        if since_inversion >= _STEPS_BETWEEN_INVERSIONS:
            if not _invert_basis(program, basis, t):
                return FAILED, t, value, iterations
            since_inversion = 0
            _compute_vertex(program, basis, t, point.g)
        since_inversion += 1
        value = _margin(program, basis, t, point)
        if value <= stop:
            status = BELOW
            break
        _compute_weights(program, basis, t, point)
        if stalled > _STALLED:
            enter_row, enter_col = _draw_entering(program, basis, t, point, value, tolerance, pricing.random)
        else:
            enter_row, enter_col = _find_entering(program, basis, t, point, value, tolerance, pricing)
        if enter_row < 0 and enter_col < 0:
            status = OPTIMAL
            break
        slope = _set_direction(program, basis, t, point, step, enter_row, enter_col, value)
        # A lam that reaches zero ends the step; a g_i that does so only bends it.
        leave_row, limit = _ratio_test(basis.lam, step.dlam, t)
        leave_col, alpha, slope = _pass_breakpoints(program, basis, point, step, slope, limit)
        if leave_col < 0 and leave_row < 0:
            return FAILED, t, value, iterations
        if alpha * -slope <= 1e-12 * scale and alpha <= 1e-13:
            stalled += 1
        else:
            stalled = 0
        _take_step(program, basis, t, point, step, alpha, leave_col, enter_col)
        size = _change_basis(program, basis, t, step, enter_row, enter_col, leave_row, leave_col, alpha)
        if size == 0:
            return FAILED, t, value, iterations
        t = size
    _write_result(program, basis, t, point, lam_out, w_out, y_out)
    return status, t, value, iterations


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
