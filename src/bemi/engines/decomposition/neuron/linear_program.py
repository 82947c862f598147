"""One first-layer neuron: the largest margin under given signs, and an exact bound on it.

::

    U(s) = max m   subject to   s_k w x^k >= m  for every k with s_k != 0,   |w_i| <= P

Any lam >= 0 on the rows with signs, not all zero, proves ``U(s) <= P ||sum_k lam_k s_k x^k||_1 / sum_k lam_k``;
integer data have integer margins, so the bound may be rounded down.  The dual is solved in floating point, but
nothing depends on that: lam is rounded to integers and its bound recomputed in integers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import highspy
import numpy as np
from numpy.typing import NDArray

from bemi.engines.decomposition.neuron.kernel import BELOW, FAILED, OPTIMAL, line_searches, walk
from bemi.exact import Integers

Signs = NDArray[np.int8]
Floats = NDArray[np.float64]
Multipliers = tuple[tuple[int, int], ...]
"""Pairs of a row and its positive integer weight: a proof of a bound."""


def plain(multipliers: Multipliers) -> list[list[int]]:
    """Multipliers in the certificate's format."""
    return [[int(k), int(v)] for k, v in multipliers]


_LARGEST_CACHE = 200_000
_LARGEST_BASIS = 150  # the walk's basis is dense; beyond this, HiGHS is faster


@dataclass(frozen=True, eq=False)
class NeuronBound:
    """What is known about one neuron under one partial assignment of signs.

    Attributes
    ----------
    value
        Value of the linear program, in floating point.
    bound
        Upper bound on the margin of integer weights, proved by ``multipliers``.
    exact
        Whether the program was solved to optimality.  Otherwise the walk stopped because the bound had fallen to the
        threshold, and ``weights`` and ``sums`` are meaningless.
    weights, sums
        Optimal weights of the live inputs, and the pre-activation of every row under them.
    basis_rows, basis_signs, basis_inputs, sides
        The final basis: rows with multipliers and their signs, inputs with weights between the bounds, and the bound
        at which each other weight is.
    """

    value: float
    bound: int
    multipliers: Multipliers
    exact: bool
    weights: Floats
    sums: Floats
    basis_rows: Integers
    basis_signs: Signs
    basis_inputs: Integers
    sides: Floats

    def flipped(self) -> NeuronBound:
        """The same for the opposite signs."""
        return replace(self, weights=-self.weights, sums=-self.sums, basis_signs=-self.basis_signs, sides=-self.sides)


class NeuronLP:
    """The linear program of one neuron over fixed rows, warm-started and cached (also under a flip of all signs).

    Parameters
    ----------
    data
        Integer rows.
    weight_bound
        The paper's P.
    """

    def __init__(self, data: Integers, weight_bound: int) -> None:
        self.weight_bound = weight_bound
        self.inputs = data.shape[1]
        self.live = np.flatnonzero((data != 0).any(axis=0))
        if not len(self.live):
            self.live = np.arange(1)
        self.data = np.ascontiguousarray(data[:, self.live], dtype=np.int64)
        self.norms = np.abs(self.data).sum(axis=1)
        self._rows = np.ascontiguousarray(self.data, dtype=np.float64)
        self._columns = np.ascontiguousarray(self._rows.T)
        self._gram = self._rows @ self._columns
        row, column = np.nonzero(self.data)
        # Contiguous, whatever the number of them: loops are compiled for each layout of their arrays.
        self.live_of = (np.searchsorted(row, np.arange(len(self.data) + 1)), np.ascontiguousarray(column))
        # Images have many zeros, and one row of small norm often carries all of lam: without a perturbation the dual is
        # degenerate.  It does not affect the weights and the margin.
        rng = np.random.default_rng(0)
        size = 1e-7 * max(1.0, float(np.abs(self._rows).mean()))
        shape = self._rows.shape[1]
        self._perturbation = size * rng.uniform(0.5, 1.0, shape) * rng.choice([-1.0, 1.0], shape)
        # Multipliers sum to about this, as large as 64-bit sums of multiples of the rows allow.
        largest = max(1, int(self.norms.max(initial=0)) * weight_bound)
        self.denominator = 1 << max(8, min(30, 60 - largest.bit_length()))
        self._cache: dict[bytes, NeuronBound] = {}

    @property
    def tables(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Data for the compiled walk: rows, columns, Gram matrix and perturbation."""
        return self._rows, self._columns, self._gram, self._perturbation

    @staticmethod
    def basis_room(rows: int) -> int:
        """How many rows a basis may need if ``rows`` rows have signs."""
        return min(rows + 2, _LARGEST_BASIS)

    def exact_bound(self, signs: Signs, multipliers: Multipliers) -> int:
        """floor(P ||sum lam s x||_1 / sum lam) in integers."""
        rows = np.array([k for k, _ in multipliers])
        weights = np.array([v for _, v in multipliers], dtype=np.int64)
        g = (weights * signs[rows].astype(np.int64)) @ self.data[rows]
        return self.weight_bound * int(np.abs(g).sum()) // int(weights.sum())

    def solve(self, signs: Signs, start: NeuronBound | None = None, stop: int = 0) -> NeuronBound:
        """Bound for the given signs (0: free; at least one must be set).

        Parameters
        ----------
        signs
            One of -1, 0, 1 per row.
        start
            Bound of a related assignment.
        stop
            Stop before optimality once the bound is at most this; a pruned child needs no more.  A margin below 1 is
            useless on integers, so 0 is the natural default.
        """
        signs = np.ascontiguousarray(signs, dtype=np.int8)
        flip = bool(signs[np.argmax(signs != 0)] < 0)
        canonical = -signs if flip else signs
        key = canonical.tobytes()
        known = self._cache.get(key)
        if known is None or not (known.exact or known.bound <= stop):
            if known is None and start is not None:
                known = start.flipped() if flip else start
            known = self._solve(canonical, known, stop)
            if len(self._cache) >= _LARGEST_CACHE:
                self._cache.clear()
            self._cache[key] = known
        return known.flipped() if flip else known

    def _solve(self, signs: Signs, start: NeuronBound | None, stop: int) -> NeuronBound:
        s = signs.astype(np.float64)
        assigned = np.flatnonzero(signs)
        room = self.basis_room(assigned.size)
        rows, cols = np.zeros((2, room), dtype=np.int64)
        lam = np.zeros(room)
        weights, sums = np.zeros(self._rows.shape[1]), np.zeros(len(self._rows))
        # From the given basis if its rows still have the same signs, then from just the row of smallest norm.
        attempts = []
        if start is not None and len(start.basis_rows) and (signs[start.basis_rows] == start.basis_signs).all():
            attempts.append((start.basis_rows, start.basis_inputs, start.sides.copy()))
        smallest = assigned[np.argmin(self.norms[assigned])]
        toward = np.where(s[smallest] * self._rows[smallest] >= 0, 1.0, -1.0) * self.weight_bound
        attempts.append((np.array([smallest]), np.zeros(0, dtype=np.int64), toward))
        for basis_rows, basis_inputs, sides in attempts:
            size = len(basis_rows)
            rows[:size], cols[: size - 1] = basis_rows, basis_inputs
            status, size, value, _ = walk(
                *self.tables,
                s,
                float(self.weight_bound),
                stop + 0.99,
                rows,
                cols,
                size,
                sides,
                lam,
                weights,
                sums,
                2000 + 40 * assigned.size,
            )
            positive = np.maximum(lam[:size], 0.0)
            if status == FAILED or positive.sum() <= 0.5:
                continue
            multipliers, bound = self._rounded(rows[:size].copy(), positive, signs)
            if status == BELOW and bound > stop:
                # The threshold was met only up to rounding: go on to the optimum.
                return self._solve(signs, start, 0) if stop > 0 else self._solve_with_highs(signs, assigned)
            # The exact bound must agree with the floating-point one, or the basis went bad.
            if bound <= value + 1e-4 * max(1.0, abs(value)) + 1:
                return NeuronBound(
                    value,
                    bound,
                    multipliers,
                    status == OPTIMAL,
                    weights,
                    sums,
                    rows[:size].copy(),
                    signs[rows[:size]],
                    cols[: size - 1].copy(),
                    sides,
                )
        return self._solve_with_highs(signs, assigned)

    def _rounded(self, rows: Integers, weights: Floats, signs: Signs) -> tuple[Multipliers, int]:
        whole = np.rint(weights * (self.denominator / weights.sum())).astype(np.int64)
        order = np.argsort(rows, kind="stable")
        pairs = zip(rows[order].tolist(), whole[order].tolist(), strict=True)
        multipliers = tuple((k, v) for k, v in pairs if v > 0)
        return multipliers, self.exact_bound(signs, multipliers)

    def _solve_with_highs(self, signs: Signs, assigned: Integers) -> NeuronBound:
        """Safety net for a walk that stalls or loses accuracy: the primal program, solved by HiGHS."""
        inputs = self._rows.shape[1]
        A = np.column_stack([signs[assigned, None] * self._rows[assigned], -np.ones(assigned.size)])
        row, col = np.nonzero(A)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = inputs + 1, assigned.size
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.col_cost_ = np.append(np.zeros(inputs), 1.0)
        limit = np.append(np.full(inputs, float(self.weight_bound)), highspy.kHighsInf)
        lp.col_lower_, lp.col_upper_ = -limit, limit
        lp.row_lower_, lp.row_upper_ = np.zeros(assigned.size), np.full(assigned.size, highspy.kHighsInf)
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.searchsorted(row, np.arange(assigned.size + 1))
        lp.a_matrix_.index_, lp.a_matrix_.value_ = col, A[row, col]
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.passModel(lp)
        highs.run()
        solution = highs.getSolution()
        multipliers = np.abs(np.array(solution.row_dual))
        if multipliers.sum() <= 0:
            multipliers = (self.norms[assigned] == self.norms[assigned].min()).astype(np.float64)
        weights = np.clip(np.array(solution.col_value[:inputs]), -self.weight_bound, self.weight_bound)
        proof, bound = self._rounded(assigned.copy(), multipliers, signs)
        none = np.zeros(0, dtype=np.int64)
        sides = np.where(weights >= 0, float(self.weight_bound), -float(self.weight_bound))
        value = float(highs.getInfo().objective_function_value)
        no_signs = np.zeros(0, dtype=np.int8)
        return NeuronBound(value, bound, proof, True, weights, self._rows @ weights, none, no_signs, none, sides)

    def caps(self, signs: Signs, known: NeuronBound, rows: Integers, row_signs: Integers) -> Floats:
        """Bounds if one more row gets a sign, for each (row, sign) alone: columns bound and step, by line search."""
        multipliers = np.array(known.multipliers, dtype=np.float64)
        chosen = multipliers[:, 0].astype(np.int64)
        g = (multipliers[:, 1] * signs[chosen]) @ self._rows[chosen] / multipliers[:, 1].sum()
        out = np.empty((rows.size, 2))
        toward = row_signs.astype(np.float64)
        line_searches(self._rows, *self.live_of, g, rows, toward, float(self.weight_bound), np.inf, out)
        return out

    def cap_multipliers(self, known: NeuronBound, row: int, step: float) -> Multipliers:
        """The integer multipliers that belong to one line-search step."""
        total = sum(v for _, v in known.multipliers)
        new = max(1, round(total * step / max(1e-9, 1.0 - step)))
        # The sum must not exceed the common denominator, or 64 bits would not suffice.
        shift = max(0, (total + new).bit_length() - self.denominator.bit_length())
        moved = {k: v >> shift for k, v in known.multipliers}
        moved[row] = moved.get(row, 0) + (new >> shift)
        return tuple(sorted((k, v) for k, v in moved.items() if v > 0))

    def all_inputs(self, weights: NDArray) -> NDArray:
        """Weights of the live inputs spread over all inputs; the others get 0."""
        spread = np.zeros(self.inputs, dtype=weights.dtype)
        spread[self.live] = weights
        return spread
