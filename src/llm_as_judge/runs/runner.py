"""The one runner: what a table lacks is run, and what it holds is never paid for again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

from llm_as_judge.runs.record import RunKey, RunRecord
from llm_as_judge.runs.table import Runs

W = TypeVar("W")
Keep = Callable[[RunRecord], None]
"""Called with each run as it ends."""
Environment = Callable[[Mapping[RunKey, W], Keep], Awaitable[None]]
"""Makes these runs. One that is not given to ``Keep`` failed, and is asked for again next time."""


async def fill(
    table: Runs,
    wanted: Mapping[RunKey, W],
    env: Environment[W],
    on_run: Keep | None = None,
    *,
    settled: Callable[[RunRecord], bool] = lambda record: record.finished,
) -> None:
    """Run what the table lacks of ``wanted``; each run is on disk before ``on_run`` hears of it.

    Args:
        wanted: by key, what the environment needs to make the run.
        settled: whether a run that the table has stays; else it is made again.
    Raises:
        UserError: from the environment; what has ended is kept.
        OutputError: the table cannot be written.
    """

    def keep(record: RunRecord) -> None:
        table.add(record)
        if on_run is not None:
            on_run(record)

    def is_missing(key: RunKey) -> bool:
        return (found := table.runs.get(key)) is None or not settled(found)

    missing = {key: one for key, one in wanted.items() if is_missing(key)}
    if missing:
        await env(missing, keep)


async def at_most(count: int, wanted: Iterable[W], run: Callable[[W], Awaitable[None]]) -> None:
    """``run`` of each of ``wanted``, in their order, ``count`` at a time; where one raises, the others
    are cancelled and have ended before it raises here."""
    todo = iter(wanted)

    async def worker() -> None:
        for one in todo:
            await run(one)

    workers = [asyncio.ensure_future(worker()) for _ in range(count)]
    try:
        await asyncio.gather(*workers)
    finally:  # none goes on asking servers that are being closed
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
