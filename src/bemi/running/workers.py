"""Who trains: processes of this machine, a Dask cluster, or any other backend of joblib.

All of them take tasks one by one and hand back results as they come.  A worker that dies costs the task that it was at
and no other: every process of this machine has an executor of its own, and Dask reschedules by itself.
"""

from __future__ import annotations

import atexit
import gc
import os
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Protocol

from joblib import effective_n_jobs
from joblib._parallel_backends import LokyBackend, MultiprocessingBackend
from joblib.externals.loky.backend.utils import kill_process_tree
from joblib.externals.loky.process_executor import BrokenProcessPool, ProcessPoolExecutor, ShutdownExecutorError
from joblib.parallel import get_active_backend

ATTEMPTS = 3
"""A task whose worker dies is tried so often in all."""

MOST_STARTS = 20
"""So often a process that dies while it starts is replaced."""

IDLE_SECONDS = 300
"""A process that has had nothing to do for so long ends."""

GARBAGE_THRESHOLD = 100_000
"""So many new objects make a process look for garbage."""

CHECK_SECONDS = 1.0
"""Where nothing comes back for so long, it is asked whether anything ever will."""

NO_WORKERS_SECONDS = 120
"""A cluster without any worker for so long counts as lost."""

CONNECTION_LOST = "the connection to the cluster was lost"

# A process that has grown ends after its call, and the executor starts another: nothing that a user could act on.
warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given to the executor")

_ONE_THREAD = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMBA", "NUMEXPR")
}


class ClusterLost(RuntimeError):
    """The cluster is gone; what came back before is not."""


class Lost:
    """In place of a result: every worker that had the task died."""


class Pool(Protocol):
    """Takes calls one by one, and gives futures of their results."""

    attempts: int
    """How often a call is tried whose worker dies."""

    queued: int
    """How many calls wait at each worker, so that it has something to do while its results travel."""

    blames_others: bool
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


class Processes:
    """Processes of this machine, each with an executor of its own, so that the death of one concerns no other.

    A call is handed to a process that has said that it is ready: one that dies while it starts costs no call.
    """

    attempts = ATTEMPTS
    queued = 0
    blames_others = False
    #: Shared by all: starting a process takes a second or two.
    _idle: ClassVar[list[ProcessPoolExecutor]] = []

    def __init__(self, size: int) -> None:
        self._size = size
        self._busy: set[ProcessPoolExecutor] = set()
        self._abandoned = False

    @property
    def size(self) -> int:
        return self._size

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._begin(future, call, arguments, starts=0)
        return future

    def _begin(self, future: Future[Any], call: Callable[..., Any], arguments: tuple[Any, ...], starts: int) -> None:
        """Get a process, wait until it is ready, and hand over the call; a process that dies before is replaced."""
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
            # It died while it was idle.
            self._drop(executor)
            self._begin(future, call, arguments, starts)

    def _is_released(self, executor: ProcessPoolExecutor) -> bool:
        """Take an executor from the busy ones; False if it was abandoned, which another thread may do at any time."""
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
                # Asked to kill its workers, an executor stumbles over a call that it has not handed to them yet.
                for process in list(executor._processes.values()):
                    kill_process_tree(process)
                executor.shutdown(wait=False)

    @classmethod
    def close(cls) -> None:
        """End the processes that wait for work."""
        while cls._idle:
            cls._idle.pop().shutdown(wait=False, kill_workers=True)


def _ready() -> None:
    """A process that has run this takes calls; from now on it ends when its parent does."""
    # What the first call loads stays for good; to look through it for garbage again and again makes the start longer.
    gc.set_threshold(GARBAGE_THRESHOLD)
    if not any(thread.name == _end_with_parent.__name__ for thread in threading.enumerate()):
        threading.Thread(
            target=_end_with_parent, args=(os.getppid(),), name=_end_with_parent.__name__, daemon=True
        ).start()


def _end_with_parent(parent: int) -> None:
    # A parent that is killed cannot tell its children; where there is no such thing as another parent, none is seen.
    while os.getppid() == parent:
        time.sleep(CHECK_SECONDS)
    os._exit(1)


atexit.register(Processes.close)
if hasattr(os, "register_at_fork"):
    # The processes are the parent's, and so are the threads that talk to them.
    os.register_at_fork(after_in_child=Processes._idle.clear)


class Cluster:
    """A Dask cluster.

    Its scheduler moves a task whose worker died to another worker, and gives up after as many deaths as its
    ``allowed-failures`` says (three, unless it was set).  It counts a death against all tasks that were at the worker,
    so whatever it gives up is tried once more, with nothing else on the cluster.
    """

    attempts = 2
    queued = 1
    blames_others = True

    def __init__(self, client: Any) -> None:
        self._client = client
        self._remote: set[Any] = set()
        self._had_workers = time.monotonic()

    @property
    def size(self) -> int:
        return max(1, self._threads())  # workers come and go

    def _threads(self) -> int:
        with self._connected():
            return sum(self._client.nthreads().values())

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Talk to the scheduler, which may be gone at any time."""
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

        Dask's own executor loses a call whose worker dies after it finished and before its result was fetched, if all
        further tries fail: its future then never ends.
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
            # Dask would wait for a new one for ever.
            raise ClusterLost(f"the cluster has had no worker for {NO_WORKERS_SECONDS} seconds")

    def abandon(self) -> None:
        with suppress(ClusterLost), self._connected():
            self._client.cancel(list(self._remote))


def results(
    call: Callable[..., Any],
    arguments: Callable[[int, int, int], tuple[Any, ...]],
    order: Sequence[int],
    n_jobs: int | None,
) -> Iterator[tuple[int, Any]]:
    """Results of many calls as they come, each with its number; a :class:`Lost` where its worker died every time.

    Parameters
    ----------
    call
        What to run.
    arguments
        Its arguments, made when they are needed, from the number of the call, how many are still to come with it, and
        how many run at the same time.
    order
        Numbers of the calls.
    n_jobs
        How many to run at the same time, as in scikit-learn; ``joblib.parallel_config`` has its say too.
    """
    pool = _pool(n_jobs)
    if pool is None:
        yield from _by_joblib(call, arguments, order, n_jobs)
        return
    waiting, running = deque(order), dict[Future[Any], int]()
    losses: Counter[int] = Counter()
    finished: list[tuple[int, Any]] = []
    failure: BaseException | None = None
    try:
        while waiting or running:
            try:
                size = pool.size if failure is None else 0
                while waiting and len(running) < size * (1 + pool.queued):
                    suspect = pool.blames_others and losses[waiting[0]] > 0
                    if suspect and running:
                        break
                    number = waiting.popleft()
                    running[pool.submit(call, *arguments(number, len(waiting) + 1, size))] = number
            except ClusterLost as error:
                failure = error
            # Handed out only now, so that no worker waits while the caller is busy with a result.
            yield from finished
            if failure is not None:
                raise failure
            done, _ = wait(running, timeout=CHECK_SECONDS, return_when=FIRST_COMPLETED)
            if not done:
                pool.check()
            finished = []
            for future in done:
                number = running.pop(future)
                try:
                    finished.append((number, future.result()))
                except CancelledError:
                    failure = ClusterLost(CONNECTION_LOST)
                except Exception as error:
                    losses[number] += 1
                    if not pool.is_loss(error):
                        failure = error
                    elif losses[number] < pool.attempts:
                        # Suspects wait until all others are done.
                        (waiting.append if pool.blames_others else waiting.appendleft)(number)
                    else:
                        finished.append((number, Lost()))
        yield from finished
        if failure is not None:
            raise failure
    finally:
        if running:
            pool.abandon()


def _pool(n_jobs: int | None) -> Pool | None:
    """Processes of this machine where joblib would use its own, a cluster where its backend is Dask's."""
    backend, _ = get_active_backend()
    size = effective_n_jobs(n_jobs)
    if type(backend).__name__ == "DaskDistributedBackend":
        return Cluster(backend.client)
    if isinstance(backend, LokyBackend | MultiprocessingBackend) and size > 1:
        return Processes(size)
    return None


def _by_joblib(
    call: Callable[..., Any],
    arguments: Callable[[int, int, int], tuple[Any, ...]],
    order: Sequence[int],
    n_jobs: int | None,
) -> Iterator[tuple[int, Any]]:
    # Here, since a worker needs none of what comes with it and would take a second longer to start.
    from sklearn.utils.parallel import Parallel, delayed

    size = effective_n_jobs(n_jobs)
    parts = (
        delayed(_numbered)(number, call, arguments(number, len(order) - position, size))
        for position, number in enumerate(order)
    )
    yield from Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch=size, batch_size=1)(parts)


def _numbered(number: int, call: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[int, Any]:
    return number, call(*arguments)
