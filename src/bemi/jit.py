"""``njit``, which compiles loops on first use: the clock stands still meanwhile, and a message says why.

Compiled loops are cached beside their source files or, if that folder cannot be written to, in the user's cache folder.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading

import numpy as np
from numba import njit
from numba.core import event
from numpy.typing import NDArray

from bemi import limits

__all__ = ["fill_with", "njit"]

TOLD = "BEMI_TOLD_OF_COMPILING"
"""Variable that is set once the message was due, so that worker processes, which inherit it, do not repeat it."""

MESSAGE = "bemi: compiling, once: this takes 10 to 20 seconds; later runs load the result from a cache"


class _Pause(event.Listener):
    """Stops the clock while this thread compiles, loads from the cache, or waits for another thread that does."""

    def __init__(self) -> None:
        self._thread = threading.local()

    def on_start(self, event: event.Event) -> None:
        self._thread.depth = getattr(self._thread, "depth", 0) + 1
        if self._thread.depth == 1:
            self._thread.began = limits.clock()

    def on_end(self, event: event.Event) -> None:
        self._thread.depth -= 1
        if self._thread.depth == 0:
            limits.stand_still(limits.clock() - self._thread.began)


class _Announcement(event.Listener):
    """One line on standard error if it will be read: at a terminal or in a notebook."""

    def on_start(self, event: event.Event) -> None:
        if TOLD in os.environ or not _speaks_for_all():
            return
        os.environ[TOLD] = "yes"
        terminal = sys.stderr.isatty()
        if terminal or "ipykernel" in sys.modules:
            # The line may hold a progress bar, which is drawn again below.
            print(("\r\x1b[2K" if terminal else "") + MESSAGE, file=sys.stderr, flush=True)

    def on_end(self, event: event.Event) -> None:
        pass


def _speaks_for_all() -> bool:
    """Whether this is the main process or the first of its workers: all of them compile the same loops at once."""
    return multiprocessing.parent_process() is None or multiprocessing.current_process().name.endswith("-1")


event.register("numba:compiler_lock", _Pause())
event.register("numba:compile", _Announcement())


@njit(cache=True)
def fill_with(floats: NDArray[np.float32], integers: NDArray[np.int64]) -> tuple[np.int64, np.int64]:
    """Copy integers, shape (rows, columns), into an array of floats; returns the extremes of them and 0."""
    low = high = np.int64(0)
    for row in range(integers.shape[0]):
        for column in range(integers.shape[1]):
            value = integers[row, column]
            floats[row, column] = value
            low = min(low, value)
            high = max(high, value)
    return low, high
