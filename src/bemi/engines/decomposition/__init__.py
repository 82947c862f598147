"""Exact decomposition: a search over the first layer's dichotomies, one small linear program per neuron.

For fixed first-layer signs, the first layer decomposes into independent neurons, and the rest is a tiny network on few
distinct codes.  Each stage is solved this way, with a bound that can be checked without a solver.  If a gap remains,
the monolithic model continues from the best network found.
"""

from typing import TYPE_CHECKING

from bemi import lazily

if TYPE_CHECKING:
    from bemi.engines.decomposition.engine import RUNNERS, run

__all__ = ["RUNNERS", "run"]

# Its compiled loops are slow to import.
__getattr__ = lazily(__name__, {"engine": __all__})
