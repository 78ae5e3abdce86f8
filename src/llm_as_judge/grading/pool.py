"""Worker processes for hostile expressions: they hang sympy, and threads cannot be stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from llm_as_judge.processes import ProcessPool, WorkerEnded

Result = TypeVar("Result")


class KillablePool:
    """Runs pure functions of this package in processes, each within a time.

    Args:
        workers: processes at once.
        cpu_s: processor seconds a task may use; tasks enforce it by themselves. On a busy
            machine they take longer by the clock, and five times as long is the end of it.
        prepare: run once before workers are made, e.g. to bound their memory and load libraries.
    """

    def __init__(
        self, workers: int, cpu_s: float, prepare: Callable[[], None] | None = None
    ) -> None:
        self.cpu_s = cpu_s
        self._pool = ProcessPool(workers, prepare)

    async def run(self, function: Callable[..., Result], *args: Any) -> Result | None:
        """``function(*args)`` from a worker; None if it overran, ran out of memory or died.

        Raises:
            ProcessError: no worker could be started.
        """
        try:
            return await self._pool.run(function, *args, wall_s=5 * self.cpu_s)
        except (WorkerEnded, MemoryError, RecursionError):
            return None

    async def aclose(self) -> None:
        """Ends all workers; a later :meth:`run` starts new ones."""
        await self._pool.aclose()
