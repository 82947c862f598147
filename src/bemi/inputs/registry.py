"""All transforms.  Each is imported on first use, so listing them is cheap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bemi.inputs.transform import Transform

TRANSFORMS: dict[str, str | type[Transform]] = {
    "hog": "bemi.inputs.hog:IntegerHog",
    "constant": "bemi.inputs.constant:ConstantInput",
    "bits": "bemi.inputs.table:TableBits",
    "signal": "bemi.inputs.signal:SignalCounts",
}
"""Transforms by the short names used in experiment files and on the command line: an import path, or the class."""

NO_TRANSFORM = "none"
"""Short name for no transform at all."""


def short_names() -> tuple[str, ...]:
    """The short names of all transforms, and the one for none."""
    return (*TRANSFORMS, NO_TRANSFORM)


def by_short_name(name: str) -> type[Transform] | None:
    """The transform with this short name; None for :data:`NO_TRANSFORM`."""
    if name == NO_TRANSFORM:
        return None
    if name not in TRANSFORMS:
        raise ValueError(f"transform must be one of {', '.join(short_names())}, got {name!r}")
    entry = TRANSFORMS[name]
    return resolve_name(entry) if isinstance(entry, str) else entry


def by_name() -> dict[str, type[Transform]]:
    """All transforms by their name in model files."""
    kinds = filter(None, map(by_short_name, TRANSFORMS))
    return {kind.NAME: kind for kind in kinds}


def make(name: str, image_shape: Sequence[int] | None = None) -> Transform | None:
    """An unfitted transform by its short name; ``image_shape`` is passed to those that take images."""
    kind = by_short_name(name)
    if kind is None:
        return None
    return kind(shape=image_shape) if takes_images(kind) else kind()  # type: ignore[call-arg]


def takes_images(transform: Any) -> bool:
    """Whether a transform, or a class of transforms, takes images; None is no transform."""
    return getattr(transform, "takes_images", False)


def describe(transform: Transform | None) -> str:
    """What the networks see with this transform, in a few words."""
    return "features as they are" if transform is None else transform.describe()


def from_parameters(parameters: Mapping[str, Any]) -> Transform:
    """The fitted transform that :meth:`Transform.parameters` describes."""
    transforms, name = by_name(), parameters.get("name")
    if name not in transforms:
        raise ValueError(f"transform must be one of {', '.join(transforms)}, got {name!r}")
    return transforms[name].from_parameters(parameters)
