"""Fitted models: networks that vote, and everything that can be asked of their votes."""

from itertools import chain

from bemi import lazily
from bemi.ensemble.ties import TIES, TieRule

_HOMES = {
    "ensemble": ("Ensemble", "TrainingRecord", "TrainingRows", "check_open_label", "ensemble_of"),
    "folding": ("FoldedEnsemble", "FoldedNetwork"),
    "learned": ("LearnedClass", "predict_learned"),
    "probabilities": ("Probabilities", "ProbabilityTable", "Sigmoid"),
    "radius": ("Radii", "exact_radius", "network_radius"),
    "smoothing": ("Smoothing",),
    "subsets": ("chosen_subsets", "class_subsets", "components", "fewest", "given_subsets", "memberships"),
    "unknown": ("KnownRanges", "looks_at_columns"),
    "voting": ("LabelStatus", "Votes", "class_decisions", "label_statuses", "pair_decision", "shares", "vote"),
}
__all__ = ["TIES", "TieRule", *chain.from_iterable(_HOMES.values())]

# The command line needs the names of the tie rules at its start, but not NumPy.
__getattr__ = lazily(__name__, _HOMES)
