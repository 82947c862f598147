"""Few-bit neural networks from few examples, trained by mixed-integer programming, with certified bounds."""

from importlib import import_module
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
    "BeMiClassifier": "bemi.estimators",
    "ConstantInput": "bemi.inputs.constant",
    "FewBitClassifier": "bemi.estimators",
    "FrontierDisplay": "bemi.report.displays",
    "ImageDeformations": "bemi.augment.images",
    "ImageScenarios": "bemi.augment.images",
    "IntegerHog": "bemi.inputs.hog",
    "MarginsDisplay": "bemi.report.displays",
    "Network": "bemi.network",
    "NoiseScenarios": "bemi.augment.scenarios",
    "ScorecardClassifier": "bemi.estimators",
    "SignalCounts": "bemi.inputs.signal",
    "SignalScenarios": "bemi.augment.scenarios",
    "Smoothing": "bemi.ensemble.smoothing",
    "TableBits": "bemi.inputs.table",
    "VotesDisplay": "bemi.report.displays",
    "WeightsDisplay": "bemi.report.displays",
    "load": "bemi.estimators",
    "save": "bemi.estimators",
    "verify": "bemi.certificate",
    "windows": "bemi.io.windowing",
}
__all__ = list(_HOMES)


if not TYPE_CHECKING:  # a type checker would take any name for one of this module

    def __getattr__(name: str) -> Any:
        # Names are imported on first use, so that the certificate checker needs only the standard library and the
        # command line starts quickly.
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        if name == "__version__":
            return import_module("importlib.metadata").version("bemi")
        raise AttributeError(f"module 'bemi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__, "__version__"]
