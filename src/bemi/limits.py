"""When a search must stop: limits set by the caller, and their clock.

The clock is wall time unless :data:`clock` is replaced, except that it stands still while loops are compiled or loaded.
Compiling happens once and takes longer than many networks: otherwise the first training of an installation would spend
its limits on it and find other networks than the next.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

_of_thread = threading.local()

clock: Callable[[], float] = time.perf_counter
"""Which time counts; measurements on a busy machine replace it by that of the processor."""


def now() -> float:
    """Seconds since some moment, without those that this thread has stood still."""
    return clock() - getattr(_of_thread, "still", 0.0)


def stand_still(seconds: float) -> None:
    """Take back seconds that have just passed in this thread."""
    _of_thread.still = getattr(_of_thread, "still", 0.0) + seconds


@dataclass(frozen=True)
class Limits:
    """When a solver may stop.

    Parameters
    ----------
    seconds, nodes
        Time and branch-and-bound nodes; None is no limit.
    gap
        Stop once ``|bound - objective| / max(1, |objective|)`` is proven to be at most this.
    threads, seed
        Threads to use, and the seed of the solver's random choices.
    """

    seconds: float | None = None
    nodes: int | None = None
    gap: float = 0.0
    threads: int = 1
    seed: int = 0

    def deadline(self) -> Deadline:
        """The deadline if the seconds start now."""
        return Deadline.after(self.seconds)

    def until(self, deadline: Deadline) -> Limits:
        """The same limits with the time left until a deadline."""
        return replace(self, seconds=deadline.left)


@dataclass(frozen=True)
class Deadline:
    """A time at which work must end, and a clock that runs until then.

    Attributes
    ----------
    moment
        Value of ``now`` at the deadline; None if there is none.
    began
        Value of ``now`` when the clock was started.
    """

    moment: float | None = None
    began: float = field(default_factory=now)

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """A deadline this many seconds from now; None means never."""
        began = now()
        return cls(None if seconds is None else began + seconds, began)

    @property
    def elapsed(self) -> float:
        """Seconds since the clock was started."""
        return now() - self.began

    @property
    def left(self) -> float | None:
        """Seconds until the deadline, at least 0; None if there is no deadline."""
        return None if self.moment is None else max(0.0, self.moment - now())

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self.moment is not None and now() >= self.moment

    def share(self, fraction: float, at_least: float = 0.0) -> Deadline:
        """A new clock for a fraction of the time left, or for ``at_least`` seconds of it if that is more."""
        left = self.left
        return Deadline.after(None if left is None else min(left, max(fraction * left, at_least)))

    def later(self, seconds: float | None) -> Deadline:
        """The same clock with the deadline moved by some seconds; None removes the deadline."""
        moment = None if self.moment is None or seconds is None else self.moment + seconds
        return replace(self, moment=moment)

    @property
    def progress(self) -> float:
        """Share of the time that has gone by since the clock was started; 0 if there is no deadline."""
        return 0.0 if self.moment is None else self.elapsed / max(1e-9, self.length)

    @property
    def length(self) -> float:
        """Seconds from the start of the clock to the deadline; infinite if there is none."""
        return math.inf if self.moment is None else self.moment - self.began

    def at_least(self, seconds: float) -> Deadline:
        """The same clock with the deadline moved, if necessary, so that this many seconds are left."""
        if self.moment is None:
            return self
        return replace(self, moment=max(self.moment, now() + seconds))


FOREVER = Deadline()
"""No deadline."""
