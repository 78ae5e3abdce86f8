"""A stream of samples that one task fills and a caller iterates over meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Sequence

from llm_as_judge.types import Completion, Sample


class Stream:
    def __init__(self) -> None:
        self._queue: asyncio.Queue[Sample | None] = asyncio.Queue()
        self._writing: asyncio.Future[object] | None = None

    def put(self, sample: Sample) -> None:
        self._queue.put_nowait(sample)

    def follow(self, writing: Awaitable[object]) -> None:
        """The stream ends with ``writing`` and raises what it raises."""
        self._writing = asyncio.ensure_future(writing)
        # by way of the queue: what was put before is given before
        self._writing.add_done_callback(lambda _: self._queue.put_nowait(None))

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Sample:
        sample = await self._queue.get()
        if sample is not None:
            return sample
        self._queue.put_nowait(None)  # for whoever asks again
        assert self._writing is not None
        await self._writing
        raise StopAsyncIteration

    async def aclose(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait({self._writing})
            if not self._writing.cancelled():
                self._writing.exception()  # seen: nobody iterates any more


async def ready(completions_P_K: Sequence[Sequence[Completion]]) -> AsyncGenerator[Sample, None]:
    """A ``SampleStream`` of programs that are there already."""
    for p, completions_K in enumerate(completions_P_K):
        for k, completion in enumerate(completions_K):
            yield Sample(p, k, completion)
