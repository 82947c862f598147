"""Variants of training rows that should keep their label: rotated, sheared, resized, shifted or noisy.

The few rows that a network is trained on are samples of what it will see.  A scenario object makes *variants* of them.
Training adds only those variants that the network gets wrong or not clearly right, see :mod:`bemi.training.pipeline`;
docs/scenarios-and-selection.md explains the rules and measures their effect.

Variants are made from the integers that ``input_scaling`` gives, before any transform, and are integers in the same
range.  Those of windows of a signal are made from its readings.  Your own scenario object must offer what
:class:`Scenarios` lists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from bemi.augment.images import ImageDeformations, ImageScenarios
from bemi.checks import check_choice, check_integer, check_number, numbers_in
from bemi.exact import Integers


class Scenarios(Protocol):
    """What a scenario object must offer, in addition to scikit-learn's ``get_params`` and ``set_params``."""

    def variants(self, X: ArrayLike) -> Integers:
        """Variants of integer rows, shape (rows, variants, features); the same rows give the same variants.

        Windows of a signal are given as (windows, time, channels), and their variants have one dimension more, too.  An
        object that also has ``pieces`` makes them of some rows at a time: the same variants, as an iterator of arrays.
        """


class NoiseScenarios(BaseEstimator):
    """Noisy copies of rows, feature by feature; for measurements in a table.

    Parameters
    ----------
    scale
        Standard deviation of the noise of a feature, as a fraction of its standard deviation over the rows.
    copies
        Noisy copies of each row.
    random_state
        Seed.

    Examples
    --------
    >>> import numpy as np
    >>> from bemi import NoiseScenarios
    >>> X = np.array([[10, 20], [30, 60]])
    >>> noise = NoiseScenarios(scale=0.1, copies=3)
    >>> noise.variants(X).shape
    (2, 3, 2)
    """

    def __init__(self, scale: float = 0.1, copies: int = 4, random_state: int = 0) -> None:
        self.scale = scale
        self.copies = copies
        self.random_state = random_state

    def check(self) -> None:
        """Raise ValueError for the first invalid parameter.

        Examples
        --------
        >>> noise.check()
        """
        check_number("scale", self.scale)
        check_integer("copies", self.copies, 1)
        check_integer("random_state of scenarios", self.random_state, 0)

    def variants(self, X: ArrayLike) -> Integers:
        """Noisy copies, each feature within its own range over the rows.

        Examples
        --------
        >>> noise.variants(X[:1]).shape
        (1, 3, 2)
        """
        self.check()
        X = np.asarray(X, dtype=np.int64)
        rng = np.random.default_rng(int(self.random_state))
        noise = rng.normal(0.0, 1.0, (len(X), int(self.copies), X.shape[1])) * (self.scale * X.std(axis=0))
        return np.clip(X[:, None] + np.rint(noise).astype(np.int64), X.min(axis=0), X.max(axis=0))


class SignalScenarios(BaseEstimator):
    """Windows at another gain, shifted in time, or noisy.

    Every number gives one variant of each window, all else unchanged.  Variants are made of readings, the integers that
    a device is given.

    Parameters
    ----------
    gains
        Factors of all samples, as of another sensor or a weaker movement.
    shifts
        By how much a window moves, as fractions of its length: what happened appears later if positive.  The first or
        last sample is repeated where the window has none.
    noise
        Standard deviations of normal noise on each sample, as fractions of the channel's standard deviation.
    random_state
        Seed of the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from bemi import SignalScenarios
    >>> X = np.arange(60).reshape(2, 10, 3)  # two windows of 10 samples of 3 channels
    >>> scenarios = SignalScenarios(gains=(0.5, 2.0), shifts=(0.25,))
    >>> scenarios.variants(X).shape
    (2, 3, 10, 3)
    """

    def __init__(
        self,
        gains: Sequence[float] = (0.625, 1.5),
        shifts: Sequence[float] = (),
        noise: Sequence[float] = (),
        random_state: int = 0,
    ) -> None:
        self.gains = gains
        self.shifts = shifts
        self.noise = noise
        self.random_state = random_state

    def check(self) -> None:
        """Raise ValueError for the first invalid parameter.

        Examples
        --------
        >>> scenarios.check()
        """
        numbers_in("gains", self.gains, at_least=0)
        if any(abs(shift) >= 1 for shift in numbers_in("shifts", self.shifts)):
            raise ValueError(f"shifts must be fractions of a window, between -1 and 1, got {self.shifts!r}")
        numbers_in("noise", self.noise, at_least=0)
        check_integer("random_state of scenarios", self.random_state, 0)

    def variants(self, X: ArrayLike) -> Integers:
        """Variants of readings of shape (windows, time, channels), shape (windows, variants, time, channels).

        Examples
        --------
        >>> scenarios.variants(X[:1]).shape
        (1, 3, 10, 3)
        """
        self.check()
        X = np.asarray(X, dtype=np.int64)
        if X.ndim != 3:
            raise ValueError(
                f"SignalScenarios are for windows of a signal, shape (windows, time, channels), got {X.shape}; use "
                "inputs=SignalCounts()"
            )
        found = [np.rint(X * gain).astype(np.int64) for gain in numbers_in("gains", self.gains)]
        time = np.arange(X.shape[1])
        for shift in numbers_in("shifts", self.shifts):
            found.append(X[:, np.clip(time - round(shift * len(time)), 0, len(time) - 1)])
        rng = np.random.default_rng(int(self.random_state))
        spread = X.std(axis=(0, 1)) if len(X) else 0.0
        for deviation in numbers_in("noise", self.noise):
            found.append(X + np.rint(rng.normal(0.0, 1.0, X.shape) * deviation * spread).astype(np.int64))
        return np.stack(found, axis=1) if found else np.empty((len(X), 0, *X.shape[1:]), dtype=np.int64)


SCENARIOS: dict[str, type[Any]] = {
    "images": ImageScenarios,
    "deformations": ImageDeformations,
    "noise": NoiseScenarios,
    "signals": SignalScenarios,
}
"""Scenario classes by their name in model files."""


def parameters(scenarios: Any) -> dict[str, Any] | None:
    """Name and parameters of a scenario object, for model files; None if it is not in :data:`SCENARIOS`."""
    for name, kind in SCENARIOS.items():
        if type(scenarios) is kind:
            return {"name": name} | scenarios.get_params()
    return None


def from_parameters(given: Mapping[str, Any]) -> Any:
    """The scenario object that :func:`parameters` describes; raises ValueError if it describes none."""
    check_choice("scenarios", given["name"], SCENARIOS)
    kind = SCENARIOS[given["name"]]
    if given.keys() != {"name", *kind().get_params()}:
        raise ValueError(f"scenarios {given['name']} have other parameters than {', '.join(given)}")
    made = kind(**{key: tuple(v) if isinstance(v, list) else v for key, v in given.items() if key != "name"})
    made.check()
    return made
