"""Worker processes for hostile formulas: they hang sympy, and threads cannot be stopped.

sympy takes a second to load, so it is loaded here, in the workers alone.
"""

from __future__ import annotations

import logging
import resource
import signal
import sys
from fractions import Fraction

from llm_as_judge.grading.shape import Item, Relation
from llm_as_judge.processes import ProcessPool, WorkerEnded

_MEMORY_BYTES = 3 * 2**30
_IDLE_S = 30.0
"""A worker that used no processor for so long waits for something: there is nothing to wait for."""


class AlgebraPool:
    """Compares formulas in processes, each pair within a time of the processor.

    The clock ends none: a relation must not depend on what else the machine does.

    Args:
        workers: processes at once.
        cpu_s: processor seconds a comparison may use.
    """

    def __init__(self, workers: int, cpu_s: float) -> None:
        self._cpu_s = cpu_s
        self._pool = ProcessPool(workers, _limit_worker)

    async def compare(
        self,
        gold: Item,
        candidate: Item,
        step: Fraction | None = None,
        positive: frozenset[str] = frozenset(),
    ) -> Relation | None:
        """Relation of two shapes that are not spelled the same; None if it overran, ran out of memory or died.

        Args:
            step: what one unit of the last digit of a rounded gold is worth; a closed form that is
                written like this when rounded or cut then equals it. None: exact.
            positive: variables that the question calls positive; ``*`` = all.
        Raises:
            ProcessError: no worker could be started.
        """
        task = (gold, candidate, step, positive, self._cpu_s)
        try:
            return await self._pool.run(_compare, *task, idle_s=_IDLE_S)
        except (WorkerEnded, MemoryError, RecursionError):
            return None

    async def aclose(self) -> None:
        """Ends all workers; a later comparison starts new ones."""
        await self._pool.aclose()


def _limit_worker() -> None:
    """Bounds the workers' memory and loads the algebra, so that no pair pays for it."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(hard, _MEMORY_BYTES)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    sys.set_int_max_str_digits(0)  # the processor's time is the bound on long numbers
    logging.disable(logging.CRITICAL)
    from llm_as_judge.grading.expressions import parse

    parse(r"\frac{1}{2}")


def _compare(
    gold: Item, candidate: Item, step: Fraction | None, positive: frozenset[str], cpu_s: float
) -> Relation:
    """In a worker. The kernel ends this process after ``cpu_s``: Python code could not be trusted to stop, a
    power of big integers never returns to the interpreter."""
    from llm_as_judge.grading.expressions import Given
    from llm_as_judge.grading.symbolic import compare_shapes

    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        return compare_shapes(gold, candidate, Given(step, positive))
    except RecursionError:  # nested too deep
        return "unknown"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
