"""Pools of workers: what a pool offers, how it reports workers that die, and the pool of processes of this machine."""

from __future__ import annotations

import atexit
import gc
import os
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, ClassVar, Protocol

from joblib._parallel_backends import LokyBackend, MultiprocessingBackend
from joblib.externals.loky.backend.utils import kill_process_tree
from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor, ShutdownExecutorError

ATTEMPTS = 3
"""Maximum attempts per task, including the first, if its worker dies."""

CHECK_SECONDS = 1.0
"""If no result arrives for this long, the pool is asked whether any ever will."""


CONNECTION_LOST = "the connection to the cluster was lost"


class ClusterLost(RuntimeError):
    """The cluster is gone; results returned earlier are safe."""


class Lost:
    """Marks a missing result: every worker that had the task died."""


class Items(Protocol):
    """What calls are about, such as tasks, which may be made on access."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...


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

    def submit_item(self, call: Callable[..., Any], items: Items, number: int, *arguments: Any) -> Future[Any]:
        """Start a call of one of the items and these arguments."""

    def is_loss(self, error: BaseException) -> bool:
        """Whether an error means that the worker died."""

    def check(self) -> None:
        """Raise if no result will ever arrive."""

    def abandon(self) -> None:
        """Stop all running calls."""


MOST_STARTS = 20
"""A process that dies during start-up is replaced at most this many times."""

IDLE_SECONDS = 300
"""A process ends after this much time without work."""

GARBAGE_THRESHOLD = 100_000
"""New objects after which a process collects garbage."""

# A process whose memory has grown ends after its call, and the executor starts another: no action is needed.
warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given to the executor")

_ONE_THREAD = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMBA", "NUMEXPR")
}


class Processes:
    """Processes of this machine, each with its own executor, so that the death of one does not affect the others.

    A call goes only to a process that has reported ready: if one dies during start-up, no call is lost.
    """

    attempts = ATTEMPTS
    queued = 0
    loss_counts_against_queued = False
    #: Shared by all instances: starting a process takes a second or two.
    _idle: ClassVar[list[ProcessPoolExecutor]] = []

    def __init__(self, size: int) -> None:
        self._size = size
        self._busy: set[ProcessPoolExecutor] = set()
        self._abandoned = False

    @classmethod
    def of(cls, backend: Any, n_jobs: int) -> Processes | None:
        """A pool of processes if joblib would use its own."""
        usable = isinstance(backend, LokyBackend | MultiprocessingBackend) and n_jobs > 1
        return cls(n_jobs) if usable else None

    @property
    def size(self) -> int:
        return self._size

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._begin(future, call, arguments, starts=0)
        return future

    def submit_item(self, call: Callable[..., Any], items: Items, number: int, *arguments: Any) -> Future[Any]:
        return self.submit(call, items[number], *arguments)

    def _begin(self, future: Future[Any], call: Callable[..., Any], arguments: tuple[Any, ...], starts: int) -> None:
        """Get a process, wait until it is ready, and submit the call; replace a process that dies before that."""
        try:
            executor = self._idle.pop()
        except IndexError:
            executor = ProcessPoolExecutor(max_workers=1, timeout=IDLE_SECONDS, env=_ONE_THREAD)
        self._busy.add(executor)

        def go_on(ready: Future[Any]) -> None:
            error = ready.exception()
            if error is None and not self._abandoned:
                try:
                    executor.submit(call, *arguments).add_done_callback(finish)
                    return
                except (BrokenProcessPool, ShutdownExecutorError) as died:
                    error = died
            self._drop(executor)
            if self._abandoned:
                future.cancel()
            elif isinstance(error, BrokenProcessPool | ShutdownExecutorError) and starts < MOST_STARTS:
                self._begin(future, call, arguments, starts + 1)
            else:
                future.set_exception(RuntimeError(f"no worker process could be started in {MOST_STARTS} tries"))

        def finish(done: Future[Any]) -> None:
            error = done.exception()
            if isinstance(error, BrokenProcessPool):
                self._drop(executor)
            elif self._is_released(executor):
                self._idle.append(executor)
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(done.result())

        try:
            executor.submit(_ready).add_done_callback(go_on)
        except (BrokenProcessPool, ShutdownExecutorError):
            # It died while idle.
            self._drop(executor)
            self._begin(future, call, arguments, starts)

    def _is_released(self, executor: ProcessPoolExecutor) -> bool:
        """Remove an executor from the busy ones; False if another thread has already abandoned it."""
        try:
            self._busy.remove(executor)
        except KeyError:
            return False
        return True

    def _drop(self, executor: ProcessPoolExecutor) -> None:
        self._busy.discard(executor)
        executor.shutdown(wait=False, kill_workers=True)

    def is_loss(self, error: BaseException) -> bool:
        return isinstance(error, BrokenProcessPool)

    def check(self) -> None:
        pass

    def abandon(self) -> None:
        self._abandoned = True
        for executor in list(self._busy):
            if self._is_released(executor):
                # When asked to kill its workers, an executor fails on a call that it has not submitted yet.
                for process in list(executor._processes.values()):
                    kill_process_tree(process)
                executor.shutdown(wait=False)

    @classmethod
    def close(cls) -> None:
        """End the idle processes."""
        while cls._idle:
            cls._idle.pop().shutdown(wait=False, kill_workers=True)


def _ready() -> None:
    """Run by each process before its first call; from now on it ends when its parent does."""
    # What the first call loads stays for good; scanning it for garbage repeatedly would slow the start.
    gc.set_threshold(GARBAGE_THRESHOLD)
    if not any(thread.name == _end_with_parent.__name__ for thread in threading.enumerate()):
        threading.Thread(
            target=_end_with_parent, args=(os.getppid(),), name=_end_with_parent.__name__, daemon=True
        ).start()


def _end_with_parent(parent: int) -> None:
    # A killed parent cannot notify its children; on systems where orphans keep their parent id, none is detected.
    while os.getppid() == parent:
        time.sleep(CHECK_SECONDS)
    os._exit(1)


atexit.register(Processes.close)
if hasattr(os, "register_at_fork"):
    # The processes belong to the parent, and so do the threads that talk to them.
    os.register_at_fork(after_in_child=Processes._idle.clear)
