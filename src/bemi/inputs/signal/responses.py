"""What is computed at each position of a window, and how often it exceeds thresholds.

Docs/transforms.md has the definitions.  Samples here are integers in ``-limit..limit``, see
:class:`bemi.inputs.signal.samples.Samples`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import gcd

import numpy as np
from numpy.typing import NDArray

from bemi.exact import Integers

LARGEST = 127
"""Outputs lie in ``-LARGEST..LARGEST``."""

THRESHOLDS = 8
"""Thresholds of a level or a difference."""

COUNTS_PER_BATCH, CONSTANTS_PER_BATCH = 128, 8
"""There are ``CONSTANTS_PER_BATCH`` constant outputs for every ``COUNTS_PER_BATCH`` counts, also for the last, even if
these are fewer."""

TAPS = 9
CENTRE = TAPS // 2
"""Positions that a kernel looks at, and the one in the middle."""

KERNELS = tuple(combinations(range(TAPS), 3))
"""The three taps of each kernel that count, as in MiniRocket."""

LARGEST_RESPONSES = (1, 2, 4)
LARGEST_RESPONSE = max(LARGEST_RESPONSES)
"""Largest level, difference and curvature in units of the largest sample; of a kernel as of a curvature."""

MOST_PER_KERNEL = 10
"""Of a kernel's outputs, in the shortest windows."""

STEPS = 5
"""Dilations from 1 to the largest are the powers ``0..STEPS`` of its root of this order."""


@dataclass(frozen=True)
class Difference:
    """The signal of one channel (order 0), or its first or second difference over a distance."""

    channel: int
    order: int
    distance: int

    def positions(self, time: int) -> int:
        """Number of positions that have one in a window of this many samples."""
        return time - self.order * self.distance

    def of(self, samples: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
        """Responses, shape (positions, windows), to samples of the channel, shape (time, windows)."""
        d, end = self.distance, self.positions(len(samples))
        if self.order == 0:
            return samples
        if self.order == 1:
            return samples[d:] - samples[:end]
        return samples[:end] - 2 * samples[d : d + end] + samples[2 * d :]


@dataclass(frozen=True)
class Layout:
    """Which outputs there are.

    Attributes
    ----------
    time, channels
        Samples of a window and its channels.
    rocket
        Outputs of kernels, a multiple of their number.
    """

    time: int
    channels: int
    rocket: int

    @cached_property
    def differences(self) -> tuple[Difference, ...]:
        """Levels and differences, channel by channel; each gives :data:`THRESHOLDS` outputs."""
        orders = [(0, 0)]
        orders += [(1, d) for d in dilations((self.time - 1) // 2)]
        orders += [(2, d) for d in dilations((self.time - 1) // 4)]
        return tuple(Difference(channel, *order) for channel in range(self.channels) for order in orders)

    @cached_property
    def kernel_dilations(self) -> tuple[int, ...]:
        """Dilations of the kernels; short windows have the smallest."""
        return dilations(max(1, (self.time - 1) // 8)) if self.rocket else ()

    @property
    def per_kernel(self) -> int:
        """Outputs of each kernel."""
        return self.rocket // len(KERNELS)

    @property
    def first_rocket(self) -> int:
        """Position of the first output of a kernel; they are the last counts."""
        return THRESHOLDS * len(self.differences)

    @property
    def counts(self) -> int:
        """Number of outputs that are counts; constants follow them."""
        return self.first_rocket + self.rocket

    @property
    def constants(self) -> int:
        """Number of constant outputs."""
        return -(-self.counts // COUNTS_PER_BATCH) * CONSTANTS_PER_BATCH

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.counts + self.constants

    @cached_property
    def reaches(self) -> Integers:
        """Largest response of each count, in units of the largest sample.

        With the six other taps O, a kernel's ``S - N / 3 = (2 S - O) / 3`` is at most ``(6 + 6) / 3``.
        """
        orders = [LARGEST_RESPONSES[d.order] for d in self.differences for _ in range(THRESHOLDS)]
        return np.array([*orders, *[LARGEST_RESPONSE] * self.rocket], dtype=np.int64)

    @property
    def ways(self) -> int:
        """Pairs of a dilation and a channel, numbered channel by channel within a dilation."""
        return len(self.kernel_dilations) * self.channels

    @cached_property
    def step(self) -> int:
        """Output r of the kernels has way ``r step mod ways``: the golden section spreads them evenly."""
        ways = self.ways
        step = max(1, round(0.618 * ways))
        while gcd(step, ways) > 1:
            step += 1
        return step

    @property
    def inverse(self) -> int:
        """Way w belongs to the outputs ``w inverse mod ways``, and every ``ways`` further."""
        return pow(self.step, -1, self.ways)

    def rocket_of(self, way: int) -> range:
        """The outputs of kernels that have a way, counted from the first kernel's."""
        return range(way * self.inverse % self.ways, self.rocket, self.ways)

    def kernel(self, output: int) -> tuple[int, int, tuple[int, ...]]:
        """Channel, dilation and taps of an output of the kernels, counted from the first kernel's."""
        dilation, channel = divmod(output * self.step % self.ways, self.channels)
        return channel, self.kernel_dilations[dilation], KERNELS[output // self.per_kernel]

    def names(self) -> list[str]:
        """A name for each output."""
        words = ("level", "difference", "curvature")
        names = [
            f"channel{d.channel}_{words[d.order]}{d.distance or ''}_{place}"
            for d in self.differences
            for place in range(THRESHOLDS)
        ]
        for output in range(self.rocket):
            channel, dilation, taps = self.kernel(output)
            names.append(f"channel{channel}_kernel{''.join(map(str, taps))}_{dilation}_{output % self.per_kernel}")
        return names + [f"constant_{place}" for place in range(self.constants)]


def usual_rocket(time: int) -> int:
    """Outputs of kernels for windows of this many samples.

    Two of each kernel for 128 samples, and in shorter windows as many as cost the same, at most
    :data:`MOST_PER_KERNEL` of each.
    """
    return len(KERNELS) * max(2, min((512 + time) // (2 * time), MOST_PER_KERNEL))


def dilations(largest: int) -> tuple[int, ...]:
    """The different ``floor(largest^(i / STEPS))``, i = 0..STEPS; none if the largest is 0."""
    roots = []
    for power in range(STEPS + 1 if largest > 0 else 0):
        root = 1
        # In integers: the power of a float may fall just below a whole number.
        while (root + 1) ** STEPS <= largest**power:
            root += 1
        roots.append(root)
    return tuple(dict.fromkeys(roots))


def responses(
    samples: NDArray[np.signedinteger], layout: Layout
) -> Iterator[tuple[Sequence[int], NDArray[np.signedinteger]]]:
    """Each response, shape (positions, windows), and the outputs that are made of it.

    Samples have the shape (channels, time, windows), and a type in which nine of them can be added.  With a
    kernel's three taps S and all nine taps N, the samples outside the window being 0, its response is
    ``S - floor(N / 3)``.
    """
    for place, difference in enumerate(layout.differences):
        own = range(THRESHOLDS * place, THRESHOLDS * (place + 1))
        yield own, difference.of(samples[difference.channel])
    for way in range(layout.ways):
        outputs = layout.rocket_of(way)
        if not outputs:
            continue
        channel, dilation, _ = layout.kernel(outputs[0])
        taps = _taps(samples[channel], dilation)
        share = sum(taps[1:], start=taps[0]) // 3
        for output in outputs:
            _, _, (a, b, c) = layout.kernel(output)
            yield (layout.first_rocket + output,), taps[a] + taps[b] + taps[c] - share


def _taps(samples: NDArray[np.signedinteger], dilation: int) -> list[NDArray[np.signedinteger]]:
    """What each tap sees at each position."""
    time, margin = len(samples), CENTRE * dilation
    padded = np.pad(samples, ((margin, margin), (0, 0)))
    return [padded[tap * dilation : tap * dilation + time] for tap in range(TAPS)]


def counts(samples: NDArray[np.signedinteger], layout: Layout, thresholds: Integers) -> Integers:
    """How often each response exceeds the threshold of each of its outputs, shape (counts, windows)."""
    numbers = np.empty((layout.counts, samples.shape[2]), dtype=np.int64)
    for outputs, response in responses(samples, layout):
        for output in outputs:
            above = response > thresholds[output]
            numbers[output] = above.view(np.uint8).sum(axis=0, dtype=np.uint16)
    return numbers
