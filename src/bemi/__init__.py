"""Few-bit neural networks, trained exactly from few examples by mixed-integer programming."""

from importlib import import_module
from typing import Any

_HOMES = {
    "BeMiClassifier": "bemi.classifier",
    "ConstantInput": "bemi.inputs.constant",
    "FrontierDisplay": "bemi.report.displays",
    "ImageDeformations": "bemi.augment.deformations",
    "ImageScenarios": "bemi.augment.scenarios",
    "IntegerHog": "bemi.inputs.hog.transform",
    "MarginsDisplay": "bemi.report.displays",
    "Network": "bemi.network",
    "NoiseScenarios": "bemi.augment.scenarios",
    "SignalCounts": "bemi.inputs.signal.transform",
    "SignalScenarios": "bemi.augment.signal_scenarios",
    "Smoothing": "bemi.ensemble.smoothing",
    "TableBits": "bemi.inputs.table.transform",
    "VotesDisplay": "bemi.report.displays",
    "WeightsDisplay": "bemi.report.displays",
    "load": "bemi.classifier",
    "recommended": "bemi.presets",
    "save": "bemi.classifier",
    "verify": "bemi.certificate",
    "windows": "bemi.io.recordings.windows",
}
__all__ = [
    "BeMiClassifier",
    "ConstantInput",
    "FrontierDisplay",
    "ImageDeformations",
    "ImageScenarios",
    "IntegerHog",
    "MarginsDisplay",
    "Network",
    "NoiseScenarios",
    "SignalCounts",
    "SignalScenarios",
    "Smoothing",
    "TableBits",
    "VotesDisplay",
    "WeightsDisplay",
    "load",
    "recommended",
    "save",
    "verify",
    "windows",
]


def __getattr__(name: str) -> Any:
    # Names are imported on first use, so that the certificate checker needs only the standard library and the command
    # line starts quickly.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "__version__":
        return import_module("importlib.metadata").version("bemi")
    raise AttributeError(f"module 'bemi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__, "__version__"]
