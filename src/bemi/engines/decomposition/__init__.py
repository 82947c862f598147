"""Exact decomposition: a search over the first layer's dichotomies, one small linear program per neuron.

For fixed first-layer signs the first layer falls apart into independent neurons, and the rest is a tiny network on
few distinct codes.  Each stage is solved that way, with a bound that can be checked without a solver; what stays open
goes to the monolithic model with the network found so far.
"""

from bemi.engines.decomposition.engine import RUNNERS, prepare, run

__all__ = ["RUNNERS", "prepare", "run"]
