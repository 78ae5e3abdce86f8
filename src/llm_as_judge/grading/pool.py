"""Worker processes for hostile expressions: they hang sympy, and threads cannot be stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from llm_as_judge.processes import ProcessPool, WorkerEnded

Result = TypeVar("Result")

_IDLE_S = 30.0
"""A worker that used no processor for so long waits for something: there is nothing to wait for."""


class KillablePool:
    """Runs pure functions of this package in processes, each within a time of the processor.

    The clock ends none: what a task returns must not depend on what else the machine does.

    Args:
        workers: processes at once.
        cpu_s: processor seconds a task may use; tasks enforce it by themselves.
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
            return await self._pool.run(function, *args, idle_s=_IDLE_S)
        except (WorkerEnded, MemoryError, RecursionError):
            return None

    async def aclose(self) -> None:
        """Ends all workers; a later :meth:`run` starts new ones."""
        await self._pool.aclose()
