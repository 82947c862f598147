"""The start of the soft-margin stage: the continuous SVM, and the resolution that fits it into few bits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from bemi.network import Network
from bemi.problem.problem import Problem
from bemi.problem.soft_margin import SoftMargin, normalised_rows

STEP = Fraction(1, 2**10)
"""Resolutions are multiples of this, so that they are short numbers."""

STRETCH = {1: 0.6, 2: 0.8}
"""Fraction kappa of the largest continuous weight that becomes P; 1 for larger P.

With three values per weight it pays to clip the largest weights."""

TARGETS = {1: (1.0,), 2: (2.0, 0.0)}
"""Targets of a row's margin in the continuous machine, by the number of hinges, the largest first."""

_SWEEPS = 5_000
_TOLERANCE = 1e-7
_SMALLEST = 1e-6


def choose_resolution(
    problem: Problem, price: float, hinges: int = 1, max_links: int | None = None
) -> tuple[SoftMargin, Network]:
    """The soft-margin objective for a problem, and the rounded continuous solution ``t v``.

    ``t = P / (kappa max_i |v_i|)``, rounded to a multiple of :data:`STEP`, where v is the continuous SVM of the output.
    """
    # Imported here because Numba is slow to import.
    from bemi.stages.resolution_kernel import multipliers

    bound = problem.weight_bound
    resolutions, columns = [], []
    for output in range(problem.codes.shape[1]):
        rows, _ = normalised_rows(problem.data, problem.codes[:, output])
        v = rows.T @ multipliers(np.ascontiguousarray(rows @ rows.T), float(price), _SWEEPS, _TOLERANCE)
        largest = STRETCH.get(bound, 1.0) * float(np.abs(v).max(initial=0.0))
        # Contradictory rows give weights that are zero up to rounding; no resolution fits these.
        t = max(1, round(bound / largest / float(STEP))) * STEP if largest > _SMALLEST else Fraction(bound)
        resolutions.append(t)
        columns.append(np.rint(float(t) * v).astype(np.int64))
    weights = np.clip(np.stack(columns, axis=1), *problem.weight_range())
    if max_links is not None:
        surplus = np.argsort(-np.abs(weights[problem.counted]), axis=0, kind="stable")[max_links:]
        np.put_along_axis(weights, problem.counted[surplus], 0, axis=0)
    return SoftMargin(Fraction(price), tuple(resolutions), hinges, max_links), Network((weights,), bound)
