"""The compiled part of :class:`bemi.IntegerHog`: slant, blur, pooled gradients and roots of one image.

docs/transforms.md describes the algorithm step by step; it uses only additions, shifts, comparisons and small products.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from bemi.products import Integers


@njit(cache=True)
def integer_root(value: int) -> int:
    """Largest r with r * r <= value, for values below 2^16; bit by bit."""
    root = 0
    bit = 128
    while bit > 0:
        larger = root + bit
        if larger * larger <= value:
            root = larger
        bit >>= 1
    return root


@njit(cache=True)
def _slant(image: NDArray[np.int32], mass_shift: int) -> tuple[int, int]:
    """Shear in 1/64 pixel per row, at most 1/2 pixel either way, and the row of the centre in half pixels."""
    channels, height, width = image.shape
    mass, moment_x, moment_y = 0, 0, 0
    for r in range(height):
        for c in range(width):
            weight = 0
            for channel in range(channels):
                weight += image[channel, r, c]
            weight >>= mass_shift
            mass += weight
            moment_x += weight * c
            moment_y += weight * r
    if mass == 0:
        return 0, 0
    centre_x = (4 * moment_x + mass) // (2 * mass)
    centre_y = (4 * moment_y + mass) // (2 * mass)
    mixed, vertical = 0, 0
    for r in range(height):
        y = 2 * r - centre_y
        for c in range(width):
            weight = 0
            for channel in range(channels):
                weight += image[channel, r, c]
            weight >>= mass_shift
            mixed += weight * y * (2 * c - centre_x)
            vertical += weight * y * y
    size = abs(mixed)
    slant = 32 if size >= vertical - size else 64 * size // vertical
    return (slant if mixed >= 0 else -slant), centre_y


@njit(cache=True)
def _shear(image: NDArray[np.int32], slant: int, centre_y: int, line: NDArray[np.int32]) -> None:
    """Shift every row sideways, in sixteenths of a pixel; pixels outside the image are 0."""
    channels, height, width = image.shape
    for r in range(height):
        sixteenths = (slant * (2 * r - centre_y) + 4) >> 3
        whole, part = sixteenths >> 4, sixteenths & 15
        if sixteenths == 0:
            continue
        for channel in range(channels):
            for c in range(width):
                left, right = c + whole, c + whole + 1
                total = 8
                if 0 <= left < width:
                    total += (16 - part) * image[channel, r, left]
                if 0 <= right < width:
                    total += part * image[channel, r, right]
                line[c] = total >> 4
            image[channel, r, :] = line


@njit(cache=True)
def _blur(image: NDArray[np.int32], blurred: NDArray[np.int32]) -> None:
    """Binomial blur, times 16, into an array with a zero border of one pixel."""
    channels, height, width = image.shape
    for channel in range(channels):
        for r in range(height):
            above, below = r > 0, r < height - 1
            for c in range(width):
                total = 0
                for step in range(-1, 2):
                    if 0 <= c + step < width:
                        column = 2 * image[channel, r, c + step]
                        if above:
                            column += image[channel, r - 1, c + step]
                        if below:
                            column += image[channel, r + 1, c + step]
                        total += column * (2 - abs(step))
                blurred[channel, r + 1, c + 1] = total


@njit(cache=True)
def _pool(blurred: NDArray[np.int32], directions: NDArray[np.int32], sums: NDArray[np.int32]) -> None:
    """Distribute every gradient over two orientations and up to four regions."""
    channels, height, width = blurred.shape[0], blurred.shape[1] - 2, blurred.shape[2] - 2
    rows, columns, orientations = sums.shape
    sectors = len(directions) - 1
    for r in range(height):
        region_row, place = (r + 2) >> 2, (r + 2) & 3
        for c in range(width):
            gx, gy, largest = 0, 0, 0
            for channel in range(channels):
                x = blurred[channel, r + 1, c + 2] - blurred[channel, r + 1, c]
                y = blurred[channel, r + 2, c + 1] - blurred[channel, r, c + 1]
                size = max(abs(x), abs(y)) * 2 + min(abs(x), abs(y))
                if size > largest:
                    gx, gy, largest = x, y, size
            if largest == 0:
                continue
            # Turn into the quadrant from right to down.
            orientation = 0
            while not (gx > 0 and gy >= 0):
                gx, gy = gy, -gx
                orientation += sectors
            sector = 0
            while directions[sector + 1, 0] * gy - directions[sector + 1, 1] * gx >= 0:
                sector += 1
            first = gx * directions[sector + 1, 1] - gy * directions[sector + 1, 0]
            second = directions[sector, 0] * gy - directions[sector, 1] * gx
            this = orientation + sector
            following = this + 1 if this + 1 < orientations else 0
            region_column, across = (c + 2) >> 2, (c + 2) & 3
            for i in range(2):
                row = region_row - i
                down_weight = 7 - 2 * place if i else 2 * place + 1
                if row < 0 or row >= rows:
                    continue
                for j in range(2):
                    column = region_column - j
                    if column < 0 or column >= columns:
                        continue
                    weight = down_weight * (7 - 2 * across if j else 2 * across + 1)
                    sums[row, column, this] += weight * first
                    sums[row, column, following] += weight * second


@njit(cache=True)
def histograms(
    images: NDArray[np.int32],
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
    image = np.empty((channels, height, width), dtype=np.int32)
    line = np.empty(width, dtype=np.int32)
    blurred = np.zeros((channels, height + 2, width + 2), dtype=np.int32)
    sums = np.empty((rows, columns, orientations), dtype=np.int32)
    for k in range(count):
        for r in range(height):
            for c in range(width):
                for channel in range(channels):
                    image[channel, r, c] = levels[images[k, r >> step, c >> step, channel]]
        if mass_shift >= 0:
            slant, centre_y = _slant(image, mass_shift)
            if slant != 0:
                _shear(image, slant, centre_y, line)
        _blur(image, blurred)
        sums[:] = 0
        _pool(blurred, directions, sums)
        position = 0
        for row in range(rows):
            for column in range(columns):
                for orientation in range(orientations):
                    out[k, position] = integer_root(sums[row, column, orientation] >> output_shift)
                    position += 1
