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
    """Shift every row sideways, in sixteenths of a pixel; pixels outside the image are 0.

    ``line`` holds a row between zeros, a row of them and one more on each side: who moves further has left the image.
    """
    channels, height, width = image.shape
    for r in range(height):
        sixteenths = (slant * (2 * r - centre_y) + 4) >> 3
        if sixteenths == 0:
            continue
        part = np.int32(sixteenths & 15)
        start = width + 1 + min(max(sixteenths >> 4, -width - 1), width)
        for channel in range(channels):
            row = image[channel, r]
            for c in range(width):
                line[width + 1 + c] = row[c]
            for c in range(width):
                row[c] = ((16 - part) * line[start + c] + part * line[start + c + 1] + 8) >> 4


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
def _gradients(blurred: NDArray[np.int32], r: int, across: NDArray[np.int32], along: NDArray[np.int32]) -> None:
    """Gradients of one row; of several channels the largest, by about its length."""
    channels, width = blurred.shape[0], blurred.shape[2] - 2
    above, here, below = blurred[0, r], blurred[0, r + 1], blurred[0, r + 2]
    for c in range(width):
        across[c] = here[c + 2] - here[c]
    for c in range(width):
        along[c] = below[c + 1] - above[c + 1]
    for channel in range(1, channels):
        above, here, below = blurred[channel, r], blurred[channel, r + 1], blurred[channel, r + 2]
        for c in range(width):
            x, y, h, v = here[c + 2] - here[c], below[c + 1] - above[c + 1], abs(across[c]), abs(along[c])
            if max(abs(x), abs(y)) * 2 + min(abs(x), abs(y)) > max(h, v) * 2 + min(h, v):
                across[c], along[c] = x, y


@_part
def _pool(
    blurred: NDArray[np.int32],
    directions: NDArray[np.int32],
    gradients: NDArray[np.int32],
    row_size: int,
    bins: int,
    sums: NDArray[np.int32],
) -> None:
    """Distribute every gradient over two orientations and up to four regions.

    ``sums`` has a row and a column of regions more on each side, so that every pixel has four, and an orientation more,
    so that every one has a next one: it is the first.  It is flat, since views of arrays take time.
    """
    height, width = blurred.shape[1] - 2, blurred.shape[2] - 2
    sectors = len(directions) - 1
    across, along = gradients[0], gradients[1]
    for r in range(height):
        down = 2 * ((r + 2) & 3) + 1
        up = 8 - down
        _gradients(blurred, r, across, along)
        for c in range(width):
            gx, gy = across[c], along[c]
            if gx == 0 and gy == 0:
                continue
            # Turn into the quadrant from right to down.
            at = row_size * ((r + 2) >> 2) + bins * ((c + 2) >> 2)
            if gx <= 0 and gy > 0:
                gx, gy = gy, -gx
                at += sectors
            elif gx < 0:
                gx, gy = -gx, -gy
                at += 2 * sectors
            elif gy < 0:
                gx, gy = -gy, gx
                at += 3 * sectors
            # A direction gets how far the gradient is from the next one, which gets how far it is from this one.
            second = gy * directions[0, 0]
            first = gx * directions[1, 1] - gy * directions[1, 0]
            sector = 1
            while first <= 0:
                second = -first
                sector += 1
                first = gx * directions[sector, 1] - gy * directions[sector, 0]
            at += sector - 1
            right = 2 * ((c + 2) & 3) + 1
            left = 8 - right
            sums[at] += left * up * first
            sums[at + 1] += left * up * second
            sums[at + bins] += right * up * first
            sums[at + bins + 1] += right * up * second
            at += row_size
            sums[at] += left * down * first
            sums[at + 1] += left * down * second
            sums[at + bins] += right * down * first
            sums[at + bins + 1] += right * down * second


@njit(cache=True)
def histograms(
    images: NDArray[np.uint16],
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
    line = np.zeros(3 * width + 2, dtype=np.int32)
    column = np.zeros(width + 2, dtype=np.int32)
    blurred = np.zeros((channels, height + 2, width + 2), dtype=np.int32)
    gradients = np.empty((2, width), dtype=np.int32)
    bins, row_size = orientations + 1, (columns + 2) * (orientations + 1)
    sums = np.empty((rows + 2) * row_size, dtype=np.int32)
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
        for i in range(len(sums)):
            sums[i] = 0
        _pool(blurred, directions, gradients, row_size, bins, sums)
        position = 0
        for row in range(1, rows + 1):
            for place in range(1, columns + 1):
                at = row_size * row + bins * place
                sums[at] += sums[at + orientations]
                for orientation in range(orientations):
                    out[k, position] = roots[sums[at + orientation] >> output_shift]
                    position += 1
