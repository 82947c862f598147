"""What runs calls: the contract of a pool of workers, and what its users must know of deaths."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

ATTEMPTS = 3
"""Maximum attempts per task, including the first, where its worker dies."""

CHECK_SECONDS = 1.0
"""Where nothing comes back for this long, the pool is asked whether anything ever will."""


class ClusterLost(RuntimeError):
    """The cluster is gone; results that came back before are not."""


class Lost:
    """In place of a result: every worker that had the task died."""


class Pool(Protocol):
    """Takes calls one by one, and gives futures of their results."""

    attempts: int
    """Maximum attempts for a call whose worker dies."""

    queued: int
    """How many calls wait at each worker, so that it has something to do while its results travel."""

    loss_counts_against_queued: bool
    """Whether a death may count against calls that only waited at the worker that died."""

    @property
    def size(self) -> int:
        """How many calls run at the same time."""

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a call."""

    def is_loss(self, error: BaseException) -> bool:
        """Whether an error means that the worker died."""

    def check(self) -> None:
        """Raise if nothing will ever come back."""

    def abandon(self) -> None:
        """Stop what is still under way."""
