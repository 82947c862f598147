"""Dask: a pool that sends calls to a cluster, and one that runs them inside a task of a cluster."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any

from bemi.running.pools import CONNECTION_LOST, ClusterLost, Items

NO_WORKERS_SECONDS = 120
"""A cluster without a worker for this long counts as lost."""


class Cluster:
    """A Dask cluster.

    Its scheduler moves a task whose worker died to another worker, and gives up after ``allowed-failures`` deaths
    (three by default).  It counts a death against all tasks that were at the worker, so a task that it gives up is
    tried once more, with nothing else on the cluster.
    """

    attempts = 2
    queued = 1
    loss_counts_against_queued = True

    def __init__(self, client: Any) -> None:
        self._client = client
        self._remote: set[Any] = set()
        self._items: tuple[Items, Any] | None = None
        self._had_workers = time.monotonic()

    @classmethod
    def of(cls, backend: Any, n_jobs: int) -> Cluster | None:
        """The cluster of joblib's Dask backend; the cluster itself determines how many calls run at the same time."""
        return cls(backend.client) if type(backend).__name__ == "DaskDistributedBackend" else None

    @property
    def size(self) -> int:
        return max(1, self._threads())  # workers come and go

    def _threads(self) -> int:
        with self._connected():
            return sum(self._client.nthreads().values())

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Talk to the scheduler, which may disappear at any time."""
        from distributed.client import ClosedClientError

        if self._client.status != "running":
            # Dask would try to connect again for half a minute.
            raise ClusterLost(CONNECTION_LOST)
        try:
            yield
        except (OSError, ClosedClientError) as error:
            raise ClusterLost(CONNECTION_LOST) from error

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Start a call.

        Dask's own executor loses a call whose worker dies after finishing it but before its result is fetched, if all
        further attempts fail: its future then never completes.
        """
        future: Future[Any] = Future()

        def fetch(remote: Any) -> None:
            try:
                result = remote.result()
            except BaseException as error:
                future.set_exception(ClusterLost(CONNECTION_LOST) if self._is_disconnection(error) else error)
            else:
                future.set_result(result)
            self._remote.discard(remote)

        with self._connected():
            remote = self._client.submit(call, *arguments, pure=False)
            self._remote.add(remote)
            remote.add_done_callback(fetch)
        return future

    def submit_item(self, call: Callable[..., Any], items: Items, number: int, *arguments: Any) -> Future[Any]:
        """Start a call of one of the items, which the workers hold together and each picks its own from.

        They are the result of a task: whenever all workers that hold it die, the scheduler, which keeps what the task
        was made of, runs it again.
        """
        if self._items is None or self._items[0] is not items:
            with self._connected(), warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")
                self._items = items, self._client.submit(_held, items, pure=False)
        return self.submit(_of_item, call, self._items[1], number, *arguments)

    def _is_disconnection(self, error: BaseException) -> bool:
        """Whether a result could not be fetched, as opposed to an error of the call itself."""
        from distributed.comm.core import CommClosedError

        return isinstance(error, CommClosedError) or (isinstance(error, OSError) and self._client.status != "running")

    def is_loss(self, error: BaseException) -> bool:
        return type(error).__name__ == "KilledWorker"

    def check(self) -> None:
        now = time.monotonic()
        if self._threads():
            self._had_workers = now
        elif now - self._had_workers > NO_WORKERS_SECONDS:
            # Dask would wait forever for a new worker.
            raise ClusterLost(f"the cluster has had no worker for {NO_WORKERS_SECONDS} seconds")

    def abandon(self) -> None:
        with suppress(ClusterLost), self._connected():
            self._client.cancel([*self._remote, *(() if self._items is None else self._items[1:])])


class Inline:
    """Runs calls in the current thread.

    A task on a Dask cluster that submits tasks and waits for them keeps its own worker busy; with all workers waiting,
    none would be left to do the work.
    """

    attempts = 1
    queued = 0
    loss_counts_against_queued = False
    size = 1

    @classmethod
    def of(cls, backend: Any, n_jobs: int) -> Inline | None:
        """The current thread if it runs a task of a Dask cluster, and joblib would use the cluster."""
        return cls() if type(backend).__name__ == "DaskDistributedBackend" and _in_dask_task() else None

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(call(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def submit_item(self, call: Callable[..., Any], items: Items, number: int, *arguments: Any) -> Future[Any]:
        return self.submit(call, items[number], *arguments)

    def is_loss(self, error: BaseException) -> bool:
        return False

    def check(self) -> None:
        pass

    def abandon(self) -> None:
        pass


def _held(items: Items) -> Items:
    return items


def _of_item(call: Callable[..., Any], items: Items, number: int, *arguments: Any) -> Any:
    return call(items[number], *arguments)


def _in_dask_task() -> bool:
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True
