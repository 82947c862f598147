"""When a search may stop."""

from __future__ import annotations

from dataclasses import dataclass


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
