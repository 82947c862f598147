"""Exact decomposition: a search over the first layer's dichotomies, one small linear program per neuron.

For fixed first-layer signs, the first layer decomposes into independent neurons, and the rest is a tiny network on few
distinct codes.  Each stage is solved this way, with a bound that can be checked without a solver.  If a gap remains,
the monolithic model continues from the best network found.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bemi.engines.decomposition.engine import RUNNERS, run

__all__ = ["RUNNERS", "run"]


def __getattr__(name: str) -> Any:
    """Import the engine on first use: its compiled loops are slow to import."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from bemi.engines.decomposition import engine

    return getattr(engine, name)
