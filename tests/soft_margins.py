"""Few-bit classifiers whose choice tests decide."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from typing import Any

from bemi import FewBitClassifier
from bemi.estimators.kinds import Kind
from bemi.training import Candidate


def soft_margins(**parameters: Any) -> FewBitClassifier:
    """Networks with ternary weights on the features as they are, unless parameters say otherwise.

    Settings of training that users of this estimator do not have, such as the engine, can be given, too.
    """
    fixed = {"kind": "table", "inputs": None, "copies": None, "C": 10.0, "weight_bound": 1, "probabilities": False}
    offered = signature(FewBitClassifier).parameters
    further = {name: value for name, value in parameters.items() if name not in offered}

    class SoftMargins(FewBitClassifier):
        def _translated(self, given: dict[str, Any]) -> dict[str, Any]:
            return super()._translated(given) | further

    estimator = SoftMargins if further else FewBitClassifier
    return estimator(**fixed | {name: value for name, value in parameters.items() if name in offered})


def choosing(*candidates: Candidate, **parameters: Any) -> FewBitClassifier:
    """A classifier that chooses among these candidates."""

    class Choosing(FewBitClassifier):
        def _kind(self, X: Any) -> Kind:
            return replace(super()._kind(X), candidates=candidates)

    return Choosing(**{"kind": "table", **parameters})
