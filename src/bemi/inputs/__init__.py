"""From features to the integers that networks see: scaling, and one folder per transform."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bemi.inputs.export_hooks import CTransform, CWindow, PageScript
    from bemi.inputs.fixed_point import FixedPoint
    from bemi.inputs.inputs import Inputs
    from bemi.inputs.scaling import InputScaling
    from bemi.inputs.transform import Reader, Takes, Transform

INPUT_SCALINGS = ("auto", "centred", "common", "per-feature", None)
"""Values of the parameter ``input_scaling``."""

_HOMES = {
    "CTransform": "export_hooks",
    "CWindow": "export_hooks",
    "FixedPoint": "fixed_point",
    "InputScaling": "scaling",
    "Inputs": "inputs",
    "PageScript": "export_hooks",
    "Reader": "transform",
    "Takes": "transform",
    "Transform": "transform",
}

__all__ = [
    "INPUT_SCALINGS",
    "CTransform",
    "CWindow",
    "FixedPoint",
    "InputScaling",
    "Inputs",
    "PageScript",
    "Reader",
    "Takes",
    "Transform",
]


def __getattr__(name: str) -> Any:
    # On first use, since the command line lists scalings and transforms without NumPy.
    if name in _HOMES:
        return getattr(import_module(f"bemi.inputs.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'bemi.inputs' has no attribute {name!r}")
