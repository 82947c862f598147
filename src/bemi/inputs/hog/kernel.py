"""The compiled part of :class:`bemi.IntegerHog`: slant, blur, pooled gradients and roots of one image.

docs/transforms.md describes the algorithm step by step; it uses only additions, shifts, comparisons and small products.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bemi.compiling.loops import njit
from bemi.products import Integers

# Called by compiled code only.  Arrays are filled in loops: an assignment of arrays takes a second to compile.
_part = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)


@_part
def _slant(image: NDArray[np.int32], mass_shift: int) -> tuple[int, int]:
    """Shear in 1/64 pixel per row, at most 1/2 pixel either way, and the row of the centre in half pixels.

    Moments about the centre follow from those about the corner.
    """
    channels, height, width = image.shape
    mass, across, down, both, square = 0, 0, 0, 0, 0
    for r in range(height):
        line, moment = 0, 0
        for c in range(width):
            weight = image[0, r, c]
            for channel in range(1, channels):
                weight += image[channel, r, c]
            weight >>= mass_shift
            line += weight
            moment += weight * c
        mass += line
        across += moment
        down += line * r
        both += moment * r
        square += line * r * r
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
def _shear(image: NDArray[np.int32], slant: int, centre_y: int, line: NDArray[np.int32]) -> None:
    """Shift every row sideways, in sixteenths of a pixel; pixels outside the image are 0."""
    channels, height, width = image.shape
    for r in range(height):
        sixteenths = (slant * (2 * r - centre_y) + 4) >> 3
        whole, part = sixteenths >> 4, np.int32(sixteenths & 15)
        if sixteenths == 0:
            continue
        for channel in range(channels):
            row = image[channel, r]
            # Places whose two sources are inside the image, from first to end - 1; left and right of them is one more.
            first, end = max(0, -whole), min(width, width - 1 - whole)
            for c in range(width):
                line[c] = 0
            for c in range(first, end):
                line[c] = ((16 - part) * row[c + whole] + part * row[c + whole + 1] + 8) >> 4
            if 0 <= first - 1 < width and whole < 0:
                line[first - 1] = (part * row[0] + 8) >> 4
            if 0 <= end < width and 0 <= end + whole < width:
                line[end] = ((16 - part) * row[end + whole] + 8) >> 4
            for c in range(width):
                row[c] = line[c]


@_part
def _blur(image: NDArray[np.int32], column: NDArray[np.int32], blurred: NDArray[np.int32]) -> None:
    """Binomial blur, times 16, into an array with a zero border of one pixel."""
    channels, height, width = image.shape
    for channel in range(channels):
        for r in range(height):
            here = image[channel, r]
            for c in range(width):
                column[c + 1] = 2 * here[c]
            if r > 0:
                above = image[channel, r - 1]
                for c in range(width):
                    column[c + 1] += above[c]
            if r < height - 1:
                below = image[channel, r + 1]
                for c in range(width):
                    column[c + 1] += below[c]
            to = blurred[channel, r + 1]
            for c in range(width):
                to[c + 1] = column[c] + 2 * column[c + 1] + column[c + 2]


@_part
def _clear(sums: NDArray[np.int32]) -> None:
    for r in range(sums.shape[0]):
        for c in range(sums.shape[1]):
            for o in range(sums.shape[2]):
                sums[r, c, o] = 0


@_part
def _pool(blurred: NDArray[np.int32], directions: NDArray[np.int32], sums: NDArray[np.int32]) -> None:
    """Distribute every gradient over two orientations and up to four regions.

    ``sums`` has a row and a column of regions more on each side, so that every pixel has four.
    """
    channels, height, width = blurred.shape[0], blurred.shape[1] - 2, blurred.shape[2] - 2
    orientations = sums.shape[2]
    sectors = len(directions) - 1
    for r in range(height):
        upper, lower = sums[(r + 2) >> 2], sums[((r + 2) >> 2) + 1]
        down = np.int32(2 * ((r + 2) & 3) + 1)
        up = np.int32(8 - down)
        for c in range(width):
            gx = blurred[0, r + 1, c + 2] - blurred[0, r + 1, c]
            gy = blurred[0, r + 2, c + 1] - blurred[0, r, c + 1]
            if channels > 1:
                largest = 2 * max(abs(gx), abs(gy)) + min(abs(gx), abs(gy))
                for channel in range(1, channels):
                    x = blurred[channel, r + 1, c + 2] - blurred[channel, r + 1, c]
                    y = blurred[channel, r + 2, c + 1] - blurred[channel, r, c + 1]
                    size = max(abs(x), abs(y)) * 2 + min(abs(x), abs(y))
                    if size > largest:
                        gx, gy, largest = x, y, size
            if gx == 0 and gy == 0:
                continue
            # Turn into the quadrant from right to down.
            this = 0
            if gx <= 0 and gy > 0:
                gx, gy = gy, -gx
                this = sectors
            elif gx < 0:
                gx, gy = -gx, -gy
                this = 2 * sectors
            elif gy < 0:
                gx, gy = -gy, gx
                this = 3 * sectors
            sector = 0
            first = gx * directions[1, 1] - gy * directions[1, 0]
            while first <= 0:
                sector += 1
                first = gx * directions[sector + 1, 1] - gy * directions[sector + 1, 0]
            second = directions[sector, 0] * gy - directions[sector, 1] * gx
            this += sector
            following = this + 1 if this + 1 < orientations else 0
            column, right = (c + 2) >> 2, np.int32(2 * ((c + 2) & 3) + 1)
            left = np.int32(8 - right)
            upper[column, this] += left * up * first
            upper[column, following] += left * up * second
            lower[column, this] += left * down * first
            lower[column, following] += left * down * second
            upper[column + 1, this] += right * up * first
            upper[column + 1, following] += right * up * second
            lower[column + 1, this] += right * down * first
            lower[column + 1, following] += right * down * second


@njit(cache=True)
def histograms(
    images: NDArray[np.int32],
    levels: NDArray[np.int32],
    doubled: bool,
    mass_shift: int,
    directions: NDArray[np.int32],
    output_shift: int,
    roots: NDArray[np.uint8],
    out: Integers,
) -> None:
    """The whole transform, image by image; a negative ``mass_shift`` skips slant removal.

    ``roots`` has the root of every value below 2^16, rounded down.
    """
    count, given_height, given_width, channels = images.shape
    step = 1 if doubled else 0
    height, width = given_height << step, given_width << step
    rows, columns, orientations = (height + 3) // 4, (width + 3) // 4, 4 * (len(directions) - 1)
    image = np.empty((channels, height, width), dtype=np.int32)
    line = np.empty(width, dtype=np.int32)
    column = np.zeros(width + 2, dtype=np.int32)
    blurred = np.zeros((channels, height + 2, width + 2), dtype=np.int32)
    sums = np.empty((rows + 2, columns + 2, orientations), dtype=np.int32)
    for k in range(count):
        for channel in range(channels):
            for r in range(height):
                for c in range(width):
                    image[channel, r, c] = levels[images[k, r >> step, c >> step, channel]]
        if mass_shift >= 0:
            slant, centre_y = _slant(image, mass_shift)
            if slant != 0:
                _shear(image, slant, centre_y, line)
        _blur(image, column, blurred)
        _clear(sums)
        _pool(blurred, directions, sums)
        position = 0
        for row in range(rows):
            for place in range(columns):
                for orientation in range(orientations):
                    out[k, position] = roots[sums[row + 1, place + 1, orientation] >> output_shift]
                    position += 1
