"""The compiled part of :class:`bemi.IntegerHog`: slant, blur, pooled gradients and roots of one image.

docs/transforms.md describes the algorithm step by step; it uses only additions, shifts, comparisons and small products.

An image is a line of pixels, row by row, with a border of zeros: one row above and below, a column on the left and at
least one on the right.  Most steps are one loop over the line, without branches and in 32 bits, so that a processor
takes several pixels at a time; what they make of the border is never read.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers
from bemi.jit import njit

Line = NDArray[np.int32]
"""One number per pixel; an image of several channels is an array of lines."""

# Called by compiled code only.  Arrays are filled in loops: an assignment of arrays takes a second to compile.
_part = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)


@_part
def _slant(image: Line, height: int, stride: int, mass_shift: int, weights: Line) -> tuple[int, int]:
    """Shear in 1/64 pixel per row, at most 1/2 pixel either way, and the row of the centre in half pixels.

    Moments about the centre follow from those about the corner.  ``weights`` is for the pixels of a row.
    """
    mass, across, down, both, square = 0, 0, 0, 0, 0
    for r in range(height):
        line, moment = np.int32(0), np.int32(0)
        first = image[0, stride * (r + 1) + 1 : stride * (r + 2) + 1]
        for c in range(stride):
            weights[c] = first[c]
        for channel in range(1, len(image)):
            other = image[channel, stride * (r + 1) + 1 : stride * (r + 2) + 1]
            for c in range(stride):
                weights[c] += other[c]
        for c in range(stride):
            weight = np.int32(weights[c] >> mass_shift)
            line = np.int32(line + weight)
            moment = np.int32(moment + np.int32(weight * c))
        in_row, turning = int(line), int(moment)
        mass += in_row
        across += turning
        down += in_row * r
        both += turning * r
        square += in_row * r * r
    if mass == 0:
        return 0, 0
    centre_x = (4 * across + mass) // (2 * mass)
    centre_y = (4 * down + mass) // (2 * mass)
    mixed = 4 * both - 2 * centre_x * down - 2 * centre_y * across + centre_x * centre_y * mass
    vertical = 4 * square - 4 * centre_y * down + centre_y * centre_y * mass
    size = abs(mixed)
    slant = 32 if size >= vertical - size else 64 * size // vertical
    return (slant if mixed >= 0 else -slant), centre_y


@_part
def _shear(image: Line, height: int, width: int, stride: int, slant: int, centre_y: int, line: Line) -> None:
    """Shift every row sideways, in sixteenths of a pixel; pixels outside the image are 0.

    ``line`` holds a row between two of zeros: who moves further has left the image.
    """
    for r in range(height):
        sixteenths = (slant * (2 * r - centre_y) + 4) >> 3
        if sixteenths == 0:
            continue
        here, there = np.int32(16 - (sixteenths & 15)), np.int32(sixteenths & 15)
        start = stride + min(max(sixteenths >> 4, -stride), stride)
        middle, part = line[stride:], line[start:]
        for channel in range(len(image)):
            row = image[channel, stride * (r + 1) + 1 : stride * (r + 2) + 1]
            for c in range(stride):
                middle[c] = row[c]
            for c in range(stride):
                row[c] = np.int32(np.int32(here * part[c]) + np.int32(there * part[c + 1]) + np.int32(8)) >> 4
            for c in range(width, stride):
                row[c] = 0


@_part
def _blur(image: Line, height: int, width: int, stride: int, column: Line, blurred: Line) -> None:
    """Binomial blur, times 16; its border is 0."""
    for channel in range(len(image)):
        above, here, below = image[channel], image[channel, stride:], image[channel, 2 * stride :]
        for i in range(stride * height):
            column[i + 1] = above[i] + 2 * here[i] + below[i]
        to = blurred[channel, stride:]
        for i in range(stride * height):
            to[i] = column[i] + 2 * column[i + 1] + column[i + 2]
        for r in range(height):
            to[stride * r] = 0
            to[stride * r + width + 1] = 0


@_part
def _gradients(blurred: Line, height: int, stride: int, across: Line, along: Line) -> None:
    """Gradients; of several channels the largest, by about its length."""
    above, before, below = blurred[0], blurred[0, stride - 1 :], blurred[0, 2 * stride :]
    for i in range(stride * height):
        across[i] = before[i + 2] - before[i]
        along[i] = below[i] - above[i]
    for channel in range(1, len(blurred)):
        above, before, below = blurred[channel], blurred[channel, stride - 1 :], blurred[channel, 2 * stride :]
        for i in range(stride * height):
            x, y, h, v = before[i + 2] - before[i], below[i] - above[i], abs(across[i]), abs(along[i])
            if max(abs(x), abs(y)) * 2 + min(abs(x), abs(y)) > max(h, v) * 2 + min(h, v):
                across[i], along[i] = x, y


@_part
def _shares(directions: NDArray[np.int32], across: Line, along: Line, bins: Line) -> None:
    """Divide gradients between two orientations, ``bins`` and the next one; the shares replace the gradients.

    A direction gets how far the gradient is from the next one, which gets how far it is from this one.
    """
    last = len(directions) - 1
    quadrant, none, one = np.int32(last), np.int32(0), np.int32(1)
    d0, d1 = directions[0, 0], (directions[1, 0], directions[1, 1])
    # Sixteen orientations have all of these; with fewer the last one, which no gradient is beyond, is repeated.
    d2 = (directions[min(2, last), 0], directions[min(2, last), 1])
    d3 = (directions[min(3, last), 0], directions[min(3, last), 1])
    d4 = (directions[last, 0], directions[last, 1])
    for i in range(len(bins)):
        # Turn into the quadrant from right to down: by half, then by a quarter.
        x, y = across[i], along[i]
        half = (y < 0) | ((y == 0) & (x < 0))
        x, y = np.int32(-x) if half else x, np.int32(-y) if half else y
        quarter = (x <= 0) & (y > 0)
        x, y = y if quarter else x, np.int32(-x) if quarter else y
        at = (np.int32(2 * quadrant) if half else none) + (quadrant if quarter else none)
        first, second = np.int32(np.int32(x * d1[1]) - np.int32(y * d1[0])), np.int32(y * d0)
        for direction in (d2, d3, d4):
            beyond = first <= 0
            at += one if beyond else none
            second = np.int32(-first) if beyond else second
            first = np.int32(np.int32(x * direction[1]) - np.int32(y * direction[0])) if beyond else first
        across[i], along[i], bins[i] = first, second, at


@_part
def _pool(
    firsts: Line,
    seconds: Line,
    bins: Line,
    height: int,
    width: int,
    stride: int,
    row_size: int,
    orientations: int,
    sums: NDArray[np.int64],
) -> None:
    """Distribute the shares of every pixel over up to four regions; pixels without a gradient are skipped.

    ``sums`` has a row and a column of regions more on each side, so that every pixel has four.  Each of its numbers is
    two sums, neither negative nor beyond 31 bits: an orientation's own below, what it adds to the next one above.
    """
    for i in range(len(sums)):
        sums[i] = 0
    for r in range(height):
        down = 2 * ((r + 2) & 3) + 1
        up = 8 - down
        base = row_size * ((r + 2) >> 2)
        upper, upper_right = sums[base:], sums[base + orientations :]
        lower, lower_right = sums[base + row_size :], sums[base + row_size + orientations :]
        first, second, own = firsts[stride * r + 1 :], seconds[stride * r + 1 :], bins[stride * r + 1 :]
        for c in range(width):
            both = np.int64(first[c]) + (np.int64(second[c]) << 32)
            if both == 0:
                continue
            at = np.uint64(orientations * ((c + 2) >> 2) + own[c])
            right = 2 * ((c + 2) & 3) + 1
            left = 8 - right
            upper[at] += left * up * both
            upper_right[at] += right * up * both
            lower[at] += left * down * both
            lower_right[at] += right * down * both


@_part
def _roots(
    sums: NDArray[np.int64],
    rows: int,
    columns: int,
    row_size: int,
    orientations: int,
    shift: int,
    line: Line,
    out: Integers,
) -> None:
    """Roots of all sums, shifted to below 2^16, rounded down; single precision is exact there.

    ``line`` is for the sums of a row of regions.
    """
    size = columns * orientations
    for row in range(rows):
        region = sums[row_size * (row + 1) + orientations - 1 : row_size * (row + 1) + orientations + size]
        for i in range(size):
            line[i] = np.int32(region[i + 1]) + np.int32(region[i] >> 32)
        for i in range(0, size, orientations):
            # What comes before the first orientation is the last.
            line[i] = np.int32(region[i + 1]) + np.int32(region[i + orientations] >> 32)
        to = out[row * size : (row + 1) * size]
        for i in range(size):
            to[i] = np.int32(math.sqrt(np.float32(line[i] >> shift)))


@njit(cache=True)
def histograms(
    images: NDArray[np.uint16],
    levels: NDArray[np.int32],
    doubled: bool,
    mass_shift: int,
    directions: NDArray[np.int32],
    output_shift: int,
    out: Integers,
) -> None:
    """The whole transform, image by image; a negative ``mass_shift`` skips slant removal."""
    count, given_height, given_width, channels = images.shape
    step = 1 if doubled else 0
    height, width = given_height << step, given_width << step
    rows, columns, orientations = (height + 3) // 4, (width + 3) // 4, 4 * (len(directions) - 1)
    # Whole vectors: what is left over would be done pixel by pixel.
    stride = (width + 17) // 16 * 16
    size = stride * height
    image = np.zeros((channels, size + 2 * stride + 1), dtype=np.int32)
    line = np.zeros(3 * stride + 1, dtype=np.int32)
    blurred = np.zeros((channels, size + 2 * stride + 1), dtype=np.int32)
    column = np.zeros(size + 2, dtype=np.int32)
    across, along = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
    bins = np.empty(size, dtype=np.int32)
    row_size = (columns + 2) * orientations
    sums = np.empty((rows + 2) * row_size, dtype=np.int64)
    numbers = np.empty(columns * orientations, dtype=np.int32)
    for k in range(count):
        for channel in range(channels):
            for r in range(height):
                start = stride * (r + 1) + 1
                for c in range(width):
                    image[channel, start + c] = levels[images[k, r >> step, c >> step, channel]]
        if mass_shift >= 0:
            slant, centre_y = _slant(image, height, stride, mass_shift, column[1:])
            if slant != 0:
                _shear(image, height, width, stride, slant, centre_y, line)
        _blur(image, height, width, stride, column, blurred)
        _gradients(blurred, height, stride, across, along)
        _shares(directions, across, along, bins)
        _pool(across, along, bins, height, width, stride, row_size, orientations, sums)
        _roots(sums, rows, columns, row_size, orientations, output_shift, numbers, out[k])
