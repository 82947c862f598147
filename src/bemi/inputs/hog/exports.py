"""Gradient histograms in C, in an ONNX graph and in a page; docs/transforms.md describes the steps."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.inputs.export_hooks import SIGNED, CTable, CTransform, PageScript, bits_of, file_of, smallest_type
from bemi.inputs.hog import colours
from bemi.inputs.hog.constants import WINDOW
from bemi.inputs.images import pixel_order

if TYPE_CHECKING:
    from bemi.export.onnx.graph import Tensor
    from bemi.inputs.hog import IntegerHog

PIXEL = 280
CHANNEL = 170
"""Instructions for one pixel that has a gradient, and for each further channel of it."""

COLOUR, COLOUR_BYTES = 60, 200
"""Instructions for the colour of a pixel, and bytes of the code that counts colours."""

BOXED, BOXES_BYTES = 12, 130
"""Instructions for a value of a box, and bytes of the code that shrinks an image."""

ROOT_BITS = (128, 64, 32, 16, 8, 4, 2, 1)

ROOTS = [isqrt(255 * i) for i in range(256)]
"""Nearly 16 times the root of a byte, rounded down."""


def c_code(hog: IntegerHog, low: int, high: int) -> CTransform:
    """The transform in C, for inputs of a type that holds ``low..high``."""
    fixed, (height, width, channels) = hog.constants, hog.shrunk_shape
    column = smallest_type(0, width, ("uint8_t", "uint16_t"))
    macros: dict[str, object] = {
        "BEMI_GIVEN_HEIGHT": height,
        "BEMI_GIVEN_WIDTH": width,
        "bemi_column_t": column,
        "BEMI_CHANNELS": channels,
        "BEMI_HEIGHT": fixed.height,
        "BEMI_WIDTH": fixed.width,
        "BEMI_DOUBLED": int(fixed.doubled),
        "BEMI_ROWS": fixed.rows,
        "BEMI_COLUMNS": fixed.columns,
        "BEMI_MAXIMUM": hog.maximum_,
        "BEMI_SATURATE": int(high > hog.maximum_),
        "BEMI_SIGNED": int(low < 0),
        "BEMI_LEVEL_SHIFT": fixed.level_shift,
        "BEMI_STRAIGHTEN": int(hog.straighten),
        "BEMI_MASS_SHIFT": fixed.mass_shift or 0,
        "BEMI_ORIENTATIONS": hog.orientations,
        "BEMI_SECTORS": hog.orientations // 4,
        "BEMI_OUTPUT_SHIFT": fixed.output_shift,
    }
    # Each block of 4 x 4 pixels, complete or not, has its own region.
    pixels = 16 * fixed.rows * fixed.columns
    tables = [
        CTable("bemi_levels", "uint8_t", fixed.levels_by_shifted_value),
        CTable("bemi_directions", "uint8_t", fixed.directions.reshape(-1).tolist()),
    ]
    # The brightness of images that are not doubled is such a root.
    if fixed.levels_by_shifted_value == ROOTS:
        macros["bemi_roots"] = "bemi_levels"
    else:
        tables.append(CTable("bemi_roots", "uint8_t", ROOTS))
    source, function, pixels_given = file_of(__package__, "integer_hog.c"), "bemi_transform", height * width
    if hog.colours:
        source, function = f"{source}\n{file_of(__package__, 'colours.c')}", "bemi_shapes_and_colours"
        shift, most = colours.counted(pixels_given)
        macros |= {"BEMI_PIXELS": f"{pixels_given}UL", "BEMI_COLOUR_SHIFT": shift, "BEMI_MOST_COLOUR": f"{most}UL"}
        macros["BEMI_WHOLE"] = f"{fixed.highest**2}UL"
    boxed, pixel = 0, bits_of(smallest_type(low, high, ("uint8_t", "int8_t", "uint16_t", *SIGNED))) // 8
    if hog.shrink > 1:
        macros |= {"BEMI_BOX": f"{hog.shrink}U", "BEMI_FRAME_WIDTH": f"{hog.shape_[1]}UL", "BEMI_OUTPUTS": function}
        source, function = f"{source}\n{file_of(__package__, 'boxes.c')}", "bemi_of_boxes"
        boxed = height * width * channels
    return CTransform(
        source=source,
        macros=macros,
        tables=tuple(tables),
        code_bytes=(1760 if channels == 1 else 1960)
        + (COLOUR_BYTES if hog.colours else 0)
        + (BOXES_BYTES if boxed else 0),
        # Three lines of bytes and three of 16 bits, the ends of all lines, and the 32-bit sums of two rows of regions.
        stack_bytes=boxed * pixel
        + 9 * channels * (fixed.width + 2)
        + 2 * bits_of(column) // 8 * height
        + 4 * (2 * fixed.columns + 3) * (hog.orientations + 1)
        + 80,
        instructions=pixels * (PIXEL + CHANNEL * (channels - 1))
        + (COLOUR * pixels_given if hog.colours else 0)
        + BOXED * boxed * hog.shrink**2,
        function=function,
        about_inputs=pixel_order(hog.shape_, f", in 0..{hog.maximum_}"),
    )


def onnx(hog: IntegerHog, x: Tensor) -> Tensor:
    """Every step for all images at once; channels come before lines, orientations after columns."""
    given_height, given_width, channels = hog.shrunk_shape
    fixed = hog.constants
    within = x.at_least(0).at_most(hog.maximum_)
    if hog.shrink > 1:
        box = int(hog.shrink)
        frames = within.reshape(-1, *hog.shape_).slice(0, given_height * box, 1).slice(0, given_width * box, 2)
        sums = frames.reshape(-1, given_height, box, given_width, box, channels).sum(2, 4)
        within = ((sums + box * box // 2) // (box * box)).reshape(0, -1)
    image = x.graph.constant(fixed.levels, np.int32).gather(within, axis=0)
    image = image.reshape(-1, given_height, given_width, channels).transpose(0, 3, 1, 2)
    if fixed.doubled:
        image = image.gather(np.arange(fixed.height) // 2, axis=2).gather(np.arange(fixed.width) // 2, axis=3)
    if fixed.mass_shift is not None:
        image = _straightened(image, fixed.height, fixed.width, fixed.mass_shift)
    across, down = _gradients(_blurred(image))
    across, down = _strongest(across, down, channels)
    shares = _shares(across, down, fixed.directions)
    # Both products have the constant on the left: region rows first, then region columns.
    rows, columns = _pooling(fixed.height), _pooling(fixed.width)
    sums = rows @ shares.reshape(0, fixed.height, -1)
    sums = columns @ sums.reshape(-1, fixed.width, hog.orientations)
    squares = sums.reshape(-1, fixed.rows * fixed.columns * hog.orientations) // (1 << fixed.output_shift)
    if hog.colours:
        shares = colours.onnx(within, given_height * given_width, hog.maximum_, fixed.highest)
        squares = squares.concatenated(shares, axis=1)
    return _root(squares)


def _straightened(image: Tensor, height: int, width: int, mass_shift: int) -> Tensor:
    """Lines shifted sideways until the image stands upright.

    With ``P_r`` and ``Q_r`` the sums of mass and of mass times column over line r:
    ``a = sum_r (2r - C_y) (2 Q_r - C_x P_r)`` and ``b = sum_r (2r - C_y)^2 P_r``.
    """
    mass = image.sum(1) // (1 << mass_shift)
    # Sums over a whole image would fit 32 bits too, but there are few of them.
    of_line = (mass @ np.stack([np.ones(width), np.arange(width)], axis=1)).cast(np.int64)
    lines, moments = of_line.gather(0, axis=2), of_line.gather(1, axis=2)
    total = lines.sum(1, keep=True)
    divisor = _not_zero(total) * 2
    centre_x = (moments.sum(1, keep=True) * 4 + total) // divisor
    centre_y = ((lines * np.arange(height)).sum(1, keep=True) * 4 + total) // divisor
    distance = 2 * np.arange(height) - centre_y
    mixed = (distance * (moments * 2 - centre_x * lines)).sum(1, keep=True)
    vertical = (distance * distance * lines).sum(1, keep=True)
    size = mixed.magnitude()
    slant = (size >= vertical - size).choose(32, size * 64 // _not_zero(vertical), np.int64)
    slant = (mixed >= 0).choose(slant, -slant, np.int64)
    slant = total.equals(0).choose(0, slant, np.int64)
    # A line moves by less than ``height`` pixels; adding that many makes all numbers positive, so ``//`` is a floor.
    sixteenths = ((slant * distance + (4 + 128 * height)) // 8).cast(np.int32).unsqueeze(1, 3)
    moved = sixteenths // 16
    part = sixteenths - moved * 16
    # Between two columns of zeros, which stand for everything outside, column c of the image is column c + 1.
    left = moved + (np.arange(width) + 1 - height)
    framed = image.pad((0, 0, 0, 1), (0, 0, 0, 1))
    shape = image.sizes(0, 4)
    first, second = (
        framed.gather_elements(column.at_least(0).at_most(width + 1).expand(shape), axis=3)
        for column in (left, left + 1)
    )
    # (16 - t) v + t v'
    return (first * 16 + part * (second - first) + 8) // 16


def _not_zero(number: Tensor) -> Tensor:
    """The divisor, with 1 in place of 0, where the quotient does not matter."""
    return number.equals(0).choose(1, number, np.int64)


def _blurred(image: Tensor) -> Tensor:
    """Weights 1, 2, 1 down and across; outside the image is 0."""
    for axis in (2, 3):
        before, after = _neighbours(image, axis)
        image = before + image * 2 + after
    return image


def _gradients(blurred: Tensor) -> tuple[Tensor, Tensor]:
    """Increase in brightness to the right, and downwards."""
    left, right = _neighbours(blurred, 3)
    above, below = _neighbours(blurred, 2)
    return right - left, below - above


def _neighbours(image: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """The pixels before and after each one along an axis."""
    border = [int(axis == a) for a in range(4)]
    framed = image.pad(border, border)
    return framed.slice(0, -2, axis), framed.slice(2, np.iinfo(np.int64).max, axis)


def _strongest(across: Tensor, down: Tensor, channels: int) -> tuple[Tensor, Tensor]:
    """Gradients of the first channel with the largest ``2 max(|gx|, |gy|) + min(|gx|, |gy|)``, without its axis."""
    if channels > 1:
        x, y = across.magnitude(), down.magnitude()
        size = x.at_least(y) * 2 + x.at_most(y)
        strongest = size.equals(size.max(1, keep=True)).first(axis=-3, length=channels).unsqueeze(1)
        across, down = (g.gather_elements(strongest, axis=1) for g in (across, down))
    return across.gather(0, axis=1), down.gather(0, axis=1)


def _shares(across: Tensor, down: Tensor, quadrant: NDArray[np.integer]) -> Tensor:
    """What each pixel's gradient g gives to each orientation, with ``cross(d, g) = d_x g_y - d_y g_x``.

    Between ``d_i`` and ``d_{i+1}``, orientation i receives ``cross(g, d_{i+1})`` and i + 1 receives ``cross(d_i, g)``.
    From the view of orientation i: ``max(0, cross(d_i, g) >= 0 ? cross(g, d_{i+1}) : cross(d_{i-1}, g))``.  If g
    does not lie between ``d_{i-1}`` and ``d_{i+1}``, the selected product is not positive.
    """
    circle = _circle(quadrant)
    gradient = across.unsqueeze(3).concatenated(down.unsqueeze(3), axis=3)
    this, before, after = (
        # cross(d, g) is a product with (-d_y, d_x).
        gradient @ np.stack([-directions[:, 1], directions[:, 0]])
        for directions in (circle, np.roll(circle, 1, axis=0), -np.roll(circle, -1, axis=0))
    )
    return (this >= 0).choose(after, before).at_least(0)


def _circle(quadrant: NDArray[np.integer]) -> Integers:
    """All directions, from those between right and down: a rotation by 90 degrees is (x, y) -> (-y, x)."""
    turns = [quadrant[:-1]]
    for _ in range(3):
        turns.append(np.stack([-turns[-1][:, 1], turns[-1][:, 0]], axis=1))
    return np.concatenate(turns)


def _pooling(length: int) -> Integers:
    """Weight of each line in each region, shape (regions, lines)."""
    # Region i spans eight lines, starting at 4i - 2.
    place = np.arange(length) - 4 * np.arange(-(-length // 4))[:, None] + 2
    return np.where((place >= 0) & (place < len(WINDOW)), np.take(WINDOW, place, mode="clip"), 0)


def _root(value: Tensor) -> Tensor:
    """Largest r with ``r^2 <= value``, for values below 2^16; bit by bit."""
    root = value * 0
    for bit in ROOT_BITS:
        larger = root + bit
        root = (larger * larger <= value).choose(larger, root)
    return root


def page_script(hog: IntegerHog) -> PageScript:
    """The transform in a page."""
    fixed = hog.constants
    shift, most = colours.counted(hog.shrunk_shape[0] * hog.shrunk_shape[1])
    data = {
        "shape": hog.shrunk_shape,
        "box": None if hog.shrink == 1 else {"side": int(hog.shrink), "width": hog.shape_[1]},
        "maximum": hog.maximum_,
        "levels": fixed.levels_by_shifted_value,
        "levelShift": fixed.level_shift,
        "doubled": fixed.doubled,
        "height": fixed.height,
        "width": fixed.width,
        "rows": fixed.rows,
        "columns": fixed.columns,
        "massShift": fixed.mass_shift,
        "orientations": int(hog.orientations),
        "directions": fixed.directions.tolist(),
        "outputShift": fixed.output_shift,
        "colours": {"whole": fixed.highest**2, "shift": shift, "most": most} if hog.colours else None,
    }
    return PageScript(file_of(__package__, "integer_hog.js"), data)
