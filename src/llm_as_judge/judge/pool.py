"""Worker processes that may be killed: hostile expressions hang sympy, threads cannot be stopped.

The pool starts with its first task, so importing and building a Judge cost nothing. A worker that
overruns is killed alone; its neighbours go on and the pool starts another.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeVar

from pebble import ProcessExpired, ProcessPool

__all__ = ["KillablePool"]

Result = TypeVar("Result")


class KillablePool:
    """Runs pure functions of this package in processes, each within a time.

    Args:
        workers: processes at once.
        cpu_s: processor seconds a task may use; tasks enforce it by themselves. On a busy
            machine they take longer by the clock, and five times as long is the end of it.
        initializer: run once in every worker, e.g. to bound its memory and load libraries.
        preload: module imported by the fork server, so that a killed worker's heir starts fast.
    """

    def __init__(
        self,
        workers: int,
        cpu_s: float,
        initializer: Callable[[], None] | None = None,
        preload: str = "",
    ) -> None:
        self._workers = workers
        self.cpu_s = cpu_s
        self._initializer = initializer
        self._preload = preload
        self._pool: ProcessPool | None = None

    def _started(self) -> ProcessPool:
        if self._pool is None:
            # Not fork: a thread of torch or of an HTTP client may hold a lock at that moment.
            context: Any = multiprocessing.get_context("spawn")
            if "forkserver" in multiprocessing.get_all_start_methods():
                context = multiprocessing.get_context("forkserver")
                if self._preload:
                    context.set_forkserver_preload([self._preload])
            self._pool = ProcessPool(
                max_workers=self._workers,
                context=context,
                initializer=self._initializer,
            )
        return self._pool

    async def run(self, function: Callable[..., Result], *args: Any) -> Result | None:
        """``function(*args)`` from a worker; None if it overran, ran out of memory or died."""
        future = self._started().schedule(function, args=args, timeout=5 * self.cpu_s)
        try:
            result: Result = await asyncio.wrap_future(future)
        except (FutureTimeoutError, asyncio.TimeoutError, ProcessExpired, MemoryError):
            return None
        except RecursionError:
            return None
        return result

    async def aclose(self) -> None:
        """Ends all workers; a later :meth:`run` starts new ones."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.stop()
            await asyncio.to_thread(pool.join)
