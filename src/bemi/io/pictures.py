"""Images in a folder, one sub-folder per class, whose name is the label; read by Pillow, an optional package."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bemi.io.sources import DataFileError

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".pgm", ".ppm", ".webp")

MOST_PIXELS = 320 * 240
"""Larger images are refused unless a size is given: every pixel is a feature."""


@dataclass(frozen=True, eq=False)
class Pictures:
    """Images as rows.

    Attributes
    ----------
    X
        Pixels from 0 to 255, line by line, channels together.
    files
        Path of every image within the folder.
    labels
        Name of the sub-folder of every image: integers if all of them are, else text.
    shape
        Height, width and channels.
    """

    X: pd.DataFrame
    files: list[str]
    labels: NDArray
    shape: tuple[int, int, int]


def has_pictures(folder: Path) -> bool:
    """Whether this is a folder with images in it or in its sub-folders."""
    return folder.is_dir() and next(_files(folder), None) is not None


def read_pictures(folder: Path, shape: Sequence[int] | None = None) -> Pictures:
    """All images of a folder, in the order of their names.

    Parameters
    ----------
    folder
        The folder.
    shape
        Height and width, and perhaps channels, that images are resized and converted to.  None if all have the same
        size, which is kept; they have one channel if all of them are grey, else three.
    """
    files = sorted(_files(folder))
    images = [_opened(file) for file in files]
    channels = shape[2] if shape is not None and len(shape) == 3 else 1 if all(map(_is_grey, images)) else 3
    if channels not in (1, 3):
        raise DataFileError(f"images have 1 or 3 channels, not {channels}")
    if shape is None:
        height, width = _common_size(folder, files, images)
    else:
        height, width = shape[0], shape[1]
    pixels = np.stack([_pixels(image, height, width, channels) for image in images])
    names = [str(file.relative_to(folder)) for file in files]
    X = pd.DataFrame(pixels.reshape(len(files), -1))
    return Pictures(X, names, _labels([file.parent.name for file in files]), (height, width, channels))


def check_labelled(folder: Path, found: Pictures) -> None:
    """Raise DataFileError unless images are in sub-folders, at least two."""
    outside = [name for name in found.files if len(Path(name).parts) < 2]
    if outside:
        raise DataFileError(f"{folder / outside[0]} has no label: put images into one sub-folder per class")
    if len(set(found.labels.tolist())) < 2:
        raise DataFileError(f"{folder} has images of one class only, {found.labels[0]}; it takes two sub-folders")


def _files(folder: Path) -> Any:
    return (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())


def _opened(file: Path) -> Any:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise DataFileError("reading images needs Pillow: pip install pillow") from None
    try:
        with Image.open(file) as image:
            image.load()
            return image
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise DataFileError(f"{file} cannot be read as an image: {error}") from None


def _is_grey(image: Any) -> bool:
    return image.mode in ("1", "L", "LA") or image.mode.startswith("I")


def _common_size(folder: Path, files: Sequence[Path], images: Sequence[Any]) -> tuple[int, int]:
    """Height and width of all images."""
    sizes = [(image.height, image.width) for image in images]
    for file, size in zip(files, sizes, strict=True):
        if size != sizes[0]:
            raise DataFileError(
                f"{files[0].relative_to(folder)} is {sizes[0][0]}x{sizes[0][1]} and {file.relative_to(folder)} "
                f"{size[0]}x{size[1]} pixels; --image-shape 32x32 resizes all images"
            )
    if sizes[0][0] * sizes[0][1] > MOST_PIXELS:
        raise DataFileError(
            f"images of {sizes[0][0]}x{sizes[0][1]} pixels have too many features; --image-shape 32x32 resizes them"
        )
    return sizes[0]


def _pixels(image: Any, height: int, width: int, channels: int) -> NDArray[np.uint8]:
    if image.mode.startswith("I"):  # 16 bits, of which the upper ones count
        from PIL import Image

        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    image = image.convert("L" if channels == 1 else "RGB")
    if (image.height, image.width) != (height, width):
        image = image.resize((width, height))
    return np.asarray(image)


def _labels(names: list[str]) -> NDArray:
    """Integers if every name is written as an integer would be printed, otherwise text."""
    if all(name.isascii() and name.removeprefix("-").isdigit() and str(int(name)) == name for name in names):
        return np.array([int(name) for name in names])
    return np.array(names, dtype=object)
