"""The tolerances that a solver needs for meaningful answers on programs with large coefficients."""

from __future__ import annotations

import numpy as np

from bemi.programs.program import MILP, big_m

TIGHTEST = 1e-9
"""The smallest tolerance that all backends accept."""

LARGEST_COEFFICIENT = 1e8
"""Beyond this, even the tightest tolerance lets a binary be wrong by a tenth of a unit of pre-activation."""


def largest_coefficient(milp: MILP) -> float:
    """Largest coefficient of the linearized program: what a binary's rounding error is multiplied by."""
    return float(max(np.abs(part).max(initial=0.0) for part in (milp.A.data, *big_m(milp))))


def feasibility_tolerance(milp: MILP) -> float:
    """Tolerance at which the rounding error of a binary moves no row by more than a tenth of a unit."""
    return float(np.clip(0.1 / max(1.0, largest_coefficient(milp)), TIGHTEST, 1e-6))
