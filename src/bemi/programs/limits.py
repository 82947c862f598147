"""When a search must stop: limits set by the caller, and a clock."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from bemi.compiling import clock


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
        Value of ``clock.now`` at the deadline; None if there is none.
    began
        Value of ``clock.now`` when the clock was started.
    """

    moment: float | None = None
    began: float = field(default_factory=clock.now)

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """A deadline this many seconds from now; None means never."""
        began = clock.now()
        return cls(None if seconds is None else began + seconds, began)

    @property
    def elapsed(self) -> float:
        """Seconds since the clock was started."""
        return clock.now() - self.began

    @property
    def left(self) -> float | None:
        """Seconds until the deadline, at least 0; None if there is no deadline."""
        return None if self.moment is None else max(0.0, self.moment - clock.now())

    @property
    def passed(self) -> bool:
        """Whether the time is up."""
        return self.moment is not None and clock.now() >= self.moment

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
        return 0.0 if self.moment is None else self.elapsed / max(1e-9, self.moment - self.began)

    def at_least(self, seconds: float) -> Deadline:
        """The same clock with the deadline moved, if necessary, so that this many seconds are left."""
        if self.moment is None:
            return self
        return replace(self, moment=max(self.moment, clock.now() + seconds))


FOREVER = Deadline()
"""No deadline."""
