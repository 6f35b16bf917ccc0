"""Runs the parts of a job: in this process, in several of this machine, or by a Dask scheduler."""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import multiprocessing
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from minilite.batch.job import Done, Job, Part, run_part
from minilite.errors import InputError, KernelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_PATIENCE = 10
"""Seconds to wait until a scheduler answers and has a worker."""
_LOOK_UP = 1.0
"""Seconds after which waiting for processes is interrupted, so that Ctrl-C is seen."""
_GO_ON = "the parts that are written stay, and the same command goes on with the others"
_JOB_OF_WORKER: list[Job] = []
"""The job of a worker process, kept from part to part; empty in all other processes."""


def run_here(job: Job, parts: Sequence[Part], follow: Callable[[int], None] | None = None) -> Iterator[Done]:
    """Runs parts one after the other in this process; `follow` is as for `run_part`. Raises: InputError, OSError."""
    for part in parts:
        yield run_part(job, part, follow)


def run_in_processes(job: Job, parts: Sequence[Part], workers: int) -> Iterator[Done]:
    """Runs parts in `workers` processes. On Linux they are forks, which share the model's weights, packed ones
    included, with this process.

    Raises: InputError, OSError; KernelError if a process was killed."""
    forks = sys.platform == "linux"
    if forks:
        job.predictor._pack()
    context = multiprocessing.get_context("fork" if forks else "spawn")
    pool = concurrent.futures.ProcessPoolExecutor(workers, context, initializer=_begin_worker, initargs=(job,))
    return _found(pool, [pool.submit(_run_own, part) for part in parts])


def _found(pool: concurrent.futures.Executor, futures: Sequence[concurrent.futures.Future[Done]]) -> Iterator[Done]:
    try:
        for future in _as_they_end(futures):
            yield future.result()
    except concurrent.futures.BrokenExecutor:
        message = f"a worker process was killed, by a person or because memory was short: {_GO_ON}"
        raise KernelError(message) from None
    except BaseException:
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _as_they_end(futures: Sequence[concurrent.futures.Future[Done]]) -> Iterator[concurrent.futures.Future[Done]]:
    """Yields futures as they end, and wakes up every second: without a global lock, Python 3.13 may go on waiting after
    Ctrl-C."""
    waiting = set(futures)
    while waiting:
        with contextlib.suppress(concurrent.futures.TimeoutError):
            for future in concurrent.futures.as_completed(waiting, _LOOK_UP):
                waiting.remove(future)
                yield future


def _begin_worker(job: Job) -> None:
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # the process that started it reports Ctrl-C
    _JOB_OF_WORKER[:] = [job]


def _run_own(part: Part) -> Done:
    return run_part(_JOB_OF_WORKER[0], part)


def run_on_dask(job: Job, parts: Sequence[Part], address: str) -> Iterator[Done]:
    """Runs parts on the workers of a scheduler, which must see the same files at the same paths. Other workers repeat
    the parts of a lost one.

    Raises: InputError if there is no scheduler, or no worker; OSError."""
    client = _client(address)
    from distributed import CancelledError, as_completed
    from distributed.comm.core import CommClosedError

    with _silence("distributed.client"), client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
            (carried,) = client.scatter([job], broadcast=True)
            futures = client.map(_run_carried, [carried] * len(parts), parts, pure=False)
            for _, done in as_completed(futures, with_results=True, loop=client.loop):
                if isinstance(done, CancelledError):  # Dask gives it as a result when the client has lost its scheduler
                    raise done
                yield done
        except TimeoutError:
            message = f"the Dask scheduler at {address} has no workers after {_PATIENCE} s"
            raise InputError(message) from None
        except (CommClosedError, CancelledError):
            message = f"the Dask scheduler at {address} is gone: {_GO_ON}"
            raise InputError(message) from None


@contextlib.contextmanager
def _silence(name: str) -> Iterator[None]:
    """Mutes a logger whose errors are raised as well."""
    logger = logging.getLogger(name)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _run_carried(job: Job, part: Part) -> Done:
    return run_part(job, part)


def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError:
        message = f"the scheduler {address} needs Dask, which is not installed: pip install 'minilite-runtime[dask]'"
        raise InputError(message) from None
    try:
        return Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        message = f"no Dask scheduler answers at {address} within {_PATIENCE} s: {reason}"
        raise InputError(message) from None
