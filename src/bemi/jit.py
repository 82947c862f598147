"""``njit``, which compiles loops on first use: the clock stands still meanwhile, and a message says why.

Compiled loops are cached beside their source files or, if that folder cannot be written to, in the user's cache folder.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading

from numba import njit
from numba.core import event

from bemi import limits

__all__ = ["njit"]

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
