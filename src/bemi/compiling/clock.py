"""The clock of all time limits: wall time, except that it stands still while loops are compiled or loaded.

Compiling is done once, and takes longer than many a network: without this, the first training of an installation would
spend its limits on it and find other networks than the next.
"""

from __future__ import annotations

import threading
import time

_of_thread = threading.local()


def now() -> float:
    """Seconds since some moment, without those that this thread has stood still."""
    return time.perf_counter() - getattr(_of_thread, "still", 0.0)


def stand_still(seconds: float) -> None:
    """Take back seconds that have just passed in this thread."""
    _of_thread.still = getattr(_of_thread, "still", 0.0) + seconds
