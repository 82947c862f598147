"""The systems that are compared on signals: ours and the others, each one function from training windows to a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from bemi.presets import GAINS, SHIFTS, SMALL_GAINS
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from bemi import SignalCounts, SignalScenarios, recommended
from bemi_lab.experiments.signal import peers
from bemi_lab.experiments.spec import Settings

Make = Callable[[NDArray, int, Settings], BaseEstimator]
"""An unfitted model for training windows and a seed."""


@dataclass(frozen=True)
class System:
    """A system: what to call it, how to make it, and the package that it needs."""

    name: str
    title: str
    make: Make
    needs: str | None = None

    @property
    def lacking(self) -> str | None:
        """What has to be installed before it can run, if anything."""
        return self.needs if self.needs is not None and find_spec(self.needs) is None else None


AS_RECORDED: dict[str, Any] = {"candidates": None}
"""Nothing is chosen by cross-validation: without scenarios, models are trained on the windows alone."""


def _ours(**parameters: Any) -> Make:
    def make(X: NDArray, seed: int, settings: Settings) -> BaseEstimator:
        names = ("engine", "solver", "time_limit", "node_limit", "gap")
        return recommended(X, **parameters, **{name: getattr(settings, name) for name in names})

    return make


def _peer(make: Callable[[int], BaseEstimator]) -> Make:
    return lambda X, seed, settings: make(seed)


def _every() -> Iterable[System]:
    yield System("as-recorded", "ours", _ours(**AS_RECORDED))
    yield System("recommended", "ours, recommended", _ours())
    small, wide = (_ours(scenarios=SignalScenarios(gains, SHIFTS), **AS_RECORDED) for gains in (SMALL_GAINS, GAINS))
    yield System("small-scenarios", "ours, small gains and shifts", small)
    yield System("gain-scenarios", "ours, gains of 5/8 and 3/2, and shifts", wide)
    differences, fifteen = SignalCounts(rocket=0), SignalCounts(bits=15)
    yield System("differences", "ours, levels and differences alone", _ours(transform=differences, **AS_RECORDED))
    yield System("fifteen-bits", "ours, 15 bits", _ours(transform=fifteen, **AS_RECORDED))
    yield System("minirocket", "MiniRocket 10,000, ridge", _peer(peers.minirocket), "aeon")
    yield System("statistics-forest", "statistics, random forest", _peer(peers.statistics_forest))
    yield System("warping", "1-NN with time warping", _peer(peers.nearest_warped), "aeon")


SYSTEMS = {system.name: system for system in _every()}
"""All systems by name."""
