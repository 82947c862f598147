"""Few-bit neural networks from few examples, trained by mixed-integer programming, with certified bounds."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bemi.augment.images import ImageDeformations as ImageDeformations
    from bemi.augment.images import ImageScenarios as ImageScenarios
    from bemi.augment.scenarios import NoiseScenarios as NoiseScenarios
    from bemi.augment.scenarios import SignalScenarios as SignalScenarios
    from bemi.certificate import verify as verify
    from bemi.ensemble.smoothing import Smoothing as Smoothing
    from bemi.estimators import BeMiClassifier as BeMiClassifier
    from bemi.estimators import FewBitClassifier as FewBitClassifier
    from bemi.estimators import ScorecardClassifier as ScorecardClassifier
    from bemi.estimators import load as load
    from bemi.estimators import save as save
    from bemi.inputs.constant import ConstantInput as ConstantInput
    from bemi.inputs.hog import IntegerHog as IntegerHog
    from bemi.inputs.signal import SignalCounts as SignalCounts
    from bemi.inputs.table import TableBits as TableBits
    from bemi.io.windowing import windows as windows
    from bemi.network import Network as Network
    from bemi.report.displays import FrontierDisplay as FrontierDisplay
    from bemi.report.displays import MarginsDisplay as MarginsDisplay
    from bemi.report.displays import VotesDisplay as VotesDisplay
    from bemi.report.displays import WeightsDisplay as WeightsDisplay

    __version__: str

_HOMES = {
    "augment.images": ("ImageDeformations", "ImageScenarios"),
    "augment.scenarios": ("NoiseScenarios", "SignalScenarios"),
    "certificate": ("verify",),
    "ensemble.smoothing": ("Smoothing",),
    "estimators": ("BeMiClassifier", "FewBitClassifier", "ScorecardClassifier", "load", "save"),
    "inputs.constant": ("ConstantInput",),
    "inputs.hog": ("IntegerHog",),
    "inputs.signal": ("SignalCounts",),
    "inputs.table": ("TableBits",),
    "io.windowing": ("windows",),
    "network": ("Network",),
    "report.displays": ("FrontierDisplay", "MarginsDisplay", "VotesDisplay", "WeightsDisplay"),
}
__all__ = [*chain.from_iterable(_HOMES.values())]


def lazily(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose modules have these public names: it imports them on first use.

    So the certificate checker needs only the standard library, and the command line starts quickly.
    """
    home_of = {name: module for module, names in homes.items() for name in names}

    def attribute(name: str) -> Any:
        if name in home_of:
            return getattr(import_module(f"{package}.{home_of[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return attribute


if not TYPE_CHECKING:  # a type checker would take any name for one of this module
    _public = lazily(__name__, _HOMES)

    def __getattr__(name: str) -> Any:
        return import_module("importlib.metadata").version("bemi") if name == "__version__" else _public(name)


def __dir__() -> list[str]:
    return [*globals(), *__all__, "__version__"]
