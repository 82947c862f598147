"""Runs many calls on the backend that joblib is configured for: local processes, a Dask cluster, or another.

Every pool takes calls one by one and returns results as they finish.  If a worker dies, only the call that it was
running is lost: each local process has its own executor, and Dask reschedules by itself.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from typing import Any

from joblib import effective_n_jobs
from joblib.parallel import get_active_backend

from bemi.running.dask import Cluster, Inline
from bemi.running.pools import CHECK_SECONDS, CONNECTION_LOST, ClusterLost, Items, Lost, Pool, Processes

POOLS: tuple[Callable[[Any, int], Pool | None], ...] = (Inline.of, Cluster.of, Processes.of)
"""Functions from joblib's backend and a number of jobs to a pool or None; the first pool is used."""


def results(
    call: Callable[..., Any],
    arguments: Callable[[int, int, int], tuple[Any, ...]],
    order: Sequence[int],
    n_jobs: int | None,
    items: Items | None = None,
) -> Iterator[tuple[int, Any]]:
    """Numbered results of many calls as they finish; :class:`Lost` for a call whose worker died every time.

    Parameters
    ----------
    call
        What to run.
    arguments
        Makes its arguments on demand, from the number of the call, how many calls remain including it, and how many run
        at the same time.
    order
        Numbers of the calls.
    n_jobs
        How many to run at the same time, as in scikit-learn; ``joblib.parallel_config`` is respected.
    items
        Of these, each call gets the one with its number as its first argument.  A cluster is sent all of them once.
    """
    pool = _pool(n_jobs)
    if pool is None:
        yield from _by_joblib(call, arguments, order, n_jobs, items)
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
                    suspect = pool.loss_counts_against_queued and losses[waiting[0]] > 0
                    if suspect and running:
                        break
                    number = waiting.popleft()
                    own = arguments(number, len(waiting) + 1, size)
                    future = pool.submit(call, *own) if items is None else pool.submit_item(call, items, number, *own)
                    running[future] = number
            except ClusterLost as error:
                failure = error
            # Yielded only now, so that no worker waits while the caller processes a result.
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
                        (waiting.append if pool.loss_counts_against_queued else waiting.appendleft)(number)
                    else:
                        finished.append((number, Lost()))
        yield from finished
        if failure is not None:
            raise failure
    finally:
        if running:
            pool.abandon()


def _pool(n_jobs: int | None) -> Pool | None:
    """The pool for joblib's active backend; None if joblib itself runs the calls."""
    backend, _ = get_active_backend()
    pools = (made(backend, effective_n_jobs(n_jobs)) for made in POOLS)
    return next((pool for pool in pools if pool is not None), None)


def _by_joblib(
    call: Callable[..., Any],
    arguments: Callable[[int, int, int], tuple[Any, ...]],
    order: Sequence[int],
    n_jobs: int | None,
    items: Items | None,
) -> Iterator[tuple[int, Any]]:
    # Imported here: workers do not need it, and it would slow their start by a second.
    from sklearn.utils.parallel import Parallel, delayed

    size = effective_n_jobs(n_jobs)
    parts = (
        delayed(_numbered)(
            number, call, *([] if items is None else [items[number]]), *arguments(number, len(order) - position, size)
        )
        for position, number in enumerate(order)
    )
    yield from Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch=size, batch_size=1)(parts)


def _numbered(number: int, call: Callable[..., Any], *arguments: Any) -> tuple[int, Any]:
    return number, call(*arguments)
