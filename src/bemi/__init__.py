"""Few-bit neural networks, trained exactly from few examples by mixed-integer programming."""

from importlib import import_module
from importlib.metadata import version
from typing import Any

__version__ = version("bemi")

_HOMES = {
    "BeMiClassifier": "bemi.classifier",
    "ConstantInput": "bemi.inputs.transforms",
    "ImageScenarios": "bemi.rows.scenarios",
    "IntegerHog": "bemi.inputs.transforms",
    "Network": "bemi.network",
    "NoiseScenarios": "bemi.rows.scenarios",
    "load": "bemi.modelfile.saving",
    "recommended": "bemi.presets",
    "save": "bemi.modelfile.saving",
    "verify": "bemi.certificate",
}
__all__ = [
    "BeMiClassifier",
    "ConstantInput",
    "ImageScenarios",
    "IntegerHog",
    "Network",
    "NoiseScenarios",
    "load",
    "recommended",
    "save",
    "verify",
]


def __getattr__(name: str) -> Any:
    # Names are fetched when they are used, so that the certificate checker runs on the standard library alone.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'bemi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
