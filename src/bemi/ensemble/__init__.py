"""Fitted models: networks that vote, and everything that can be asked of their votes."""

from importlib import import_module
from typing import Any

from bemi.ensemble.ties import TIES, TieRule

_HOMES = {
    "ensemble": ("Ensemble", "TrainingRecord", "TrainingRows", "check_open_label", "ensemble_of"),
    "folding": ("FoldedEnsemble", "FoldedNetwork"),
    "probabilities": ("Probabilities", "ProbabilityTable", "Sigmoid"),
    "radius": ("Radii", "exact_radius", "network_radius"),
    "smoothing": ("Smoothing",),
    "subsets": ("chosen_subsets", "class_subsets", "components", "fewest", "given_subsets", "memberships"),
    "unknown": ("KnownRanges",),
    "voting": ("LabelStatus", "Votes", "class_decisions", "label_statuses", "pair_decision", "shares", "vote"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = ["TIES", "TieRule", *_HOME_OF]


def __getattr__(name: str) -> Any:
    # Imported on first use: the command line needs the names of the tie rules at its start, but not NumPy.
    if name in _HOME_OF:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
