"""All transforms, by the names under which model files, experiment files and the command line know them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bemi.inputs.constant.transform import ConstantInput
from bemi.inputs.hog.transform import IntegerHog
from bemi.inputs.transform import Transform

TRANSFORMS: dict[str, type[Transform]] = {kind.NAME: kind for kind in (IntegerHog, ConstantInput)}
"""Transforms by their name in model files."""

NO_TRANSFORM = "none"
"""Short name for no transform at all."""


def short_names() -> tuple[str, ...]:
    """The short names of all transforms, and the one for none."""
    return (*(kind.SHORT_NAME for kind in TRANSFORMS.values()), NO_TRANSFORM)


def by_short_name(name: str) -> type[Transform] | None:
    """The transform with this short name; None for :data:`NO_TRANSFORM`."""
    if name == NO_TRANSFORM:
        return None
    for kind in TRANSFORMS.values():
        if name == kind.SHORT_NAME:
            return kind
    raise ValueError(f"transform must be one of {', '.join(short_names())}, got {name!r}")


def make(name: str, image_shape: Sequence[int] | None = None) -> Transform | None:
    """An unfitted transform by its short name; ``image_shape`` goes to those that take images."""
    kind = by_short_name(name)
    if kind is None:
        return None
    return kind(shape=image_shape) if takes_images(kind) else kind()  # type: ignore[call-arg]


def takes_images(transform: Any) -> bool:
    """Whether a transform, or a class of transforms, takes images; None is no transform."""
    return getattr(transform, "takes_images", False)


def describe(transform: Transform | None) -> str:
    """What networks behind this transform see, in a few words."""
    return "features as they are" if transform is None else transform.describe()


def from_parameters(parameters: Mapping[str, Any]) -> Transform:
    """The fitted transform that :meth:`Transform.parameters` describes."""
    name = parameters.get("name")
    if name not in TRANSFORMS:
        raise ValueError(f"transform must be one of {', '.join(TRANSFORMS)}, got {name!r}")
    return TRANSFORMS[name].from_parameters(parameters)
