"""One time limit for several steps."""

from __future__ import annotations

import time
from dataclasses import replace

from bemi.programs.limits import Limits


class Clock:
    """What is left of the time of some limits; it runs from the start."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._began = time.perf_counter()

    def share(self, parts: int = 1, at_least: float = 0.0) -> Limits:
        """One of so many equal parts of the time that is left, or so many seconds of it if that is more."""
        if self._limits.seconds is None:
            return self._limits
        left = max(0.0, self._limits.seconds - (time.perf_counter() - self._began))
        return replace(self._limits, seconds=min(left, max(left / parts, at_least)))
