"""Mathematical programs as sparse arrays, and the programs of the stages."""

from bemi.programs.encoding import Encoding, Goal, StageProgram
from bemi.programs.program import (
    ALWAYS,
    MILP,
    Builder,
    Solution,
    Status,
    big_m,
    feasibility_tolerance,
    integer_bound,
    largest_coefficient,
    linearize,
)
from bemi.programs.stages import max_margin, min_weight, sat_margin, soft_margin

__all__ = [
    "ALWAYS",
    "MILP",
    "Builder",
    "Encoding",
    "Goal",
    "Solution",
    "StageProgram",
    "Status",
    "big_m",
    "feasibility_tolerance",
    "integer_bound",
    "largest_coefficient",
    "linearize",
    "max_margin",
    "min_weight",
    "sat_margin",
    "soft_margin",
]
