"""Which rows to train on: variants of the given ones, and a few that stand for many."""

from bemi.augment.images import ImageDeformations, ImageScenarios
from bemi.augment.medoids import k_medoids, select_rows
from bemi.augment.scenarios import (
    SCENARIOS,
    NoiseScenarios,
    Scenarios,
    SignalScenarios,
    from_parameters,
    parameters,
)

__all__ = [
    "SCENARIOS",
    "ImageDeformations",
    "ImageScenarios",
    "NoiseScenarios",
    "Scenarios",
    "SignalScenarios",
    "from_parameters",
    "k_medoids",
    "parameters",
    "select_rows",
]
