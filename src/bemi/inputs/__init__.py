"""From features to the integers that networks see: scaling, and one folder per transform."""

from typing import TYPE_CHECKING

from bemi import lazily

if TYPE_CHECKING:
    from bemi.inputs.export_hooks import CTransform, CWindow, PageScript
    from bemi.inputs.fixed_point import FixedPoint
    from bemi.inputs.inputs import Inputs
    from bemi.inputs.scaling import InputScaling
    from bemi.inputs.transform import Reader, Takes, Transform

INPUT_SCALINGS = ("auto", "centred", "common", "per-feature", None)
"""Values of the parameter ``input_scaling``."""

_HOMES = {
    "export_hooks": ("CTransform", "CWindow", "PageScript"),
    "fixed_point": ("FixedPoint",),
    "inputs": ("Inputs",),
    "scaling": ("InputScaling",),
    "transform": ("Reader", "Takes", "Transform"),
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

# The command line lists scalings and transforms at its start, without NumPy.
__getattr__ = lazily(__name__, _HOMES)
