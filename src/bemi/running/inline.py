"""Calls that run where they are made, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Inline:
    """This very thread.

    A task on a Dask cluster that submits tasks and waits for them keeps its own worker busy; with all workers waiting,
    nobody would be left to do the work.
    """

    attempts = 1
    queued = 0
    loss_counts_against_queued = False
    size = 1

    @classmethod
    def of(cls, backend: Any, n_jobs: int) -> Inline | None:
        """This thread if it runs a task of a Dask cluster, and joblib would use the cluster."""
        return cls() if type(backend).__name__ == "DaskDistributedBackend" and _in_dask_task() else None

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(call(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def is_loss(self, error: BaseException) -> bool:
        return False

    def check(self) -> None:
        pass

    def abandon(self) -> None:
        pass


def _in_dask_task() -> bool:
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True
