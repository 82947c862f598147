"""The interface of a pool of workers that runs calls, and how it reports workers that die."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

ATTEMPTS = 3
"""Maximum attempts per task, including the first, if its worker dies."""

CHECK_SECONDS = 1.0
"""If no result arrives for this long, the pool is asked whether any ever will."""


CONNECTION_LOST = "the connection to the cluster was lost"


class ClusterLost(RuntimeError):
    """The cluster is gone; results returned earlier are safe."""


class Lost:
    """Stands for a missing result: every worker that had the task died."""


class Pool(Protocol):
    """Takes calls one by one, and returns futures."""

    attempts: int
    """Maximum attempts for a call whose worker dies."""

    queued: int
    """Number of calls queued at each worker, so that it stays busy while its results travel."""

    loss_counts_against_queued: bool
    """Whether a death may count against calls that were only queued at the worker."""

    @property
    def size(self) -> int:
        """How many calls run at the same time."""

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a call."""

    def is_loss(self, error: BaseException) -> bool:
        """Whether an error means that the worker died."""

    def check(self) -> None:
        """Raise if no result will ever arrive."""

    def abandon(self) -> None:
        """Stop all running calls."""
