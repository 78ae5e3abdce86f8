"""Workers of this process: the same rooms and the same bytes as on a cluster, and they can die."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from llm_as_judge.llm.billing import billed_to
from llm_as_judge.types import (
    ChatModel,
    ChatRequest,
    Execution,
    IsolationReport,
    Message,
    OperatorCall,
    Problem,
    Program,
    RunLimits,
    Verdict,
)
from llm_as_judge.workers import RunSettings
from llm_as_judge.workers.link import WorkerLostError
from llm_as_judge.workers.messages import Options
from llm_as_judge.workers.pool import WorkerPool
from llm_as_judge.workers.work import Work
from llm_as_judge.workers.worker_side import WorkerSide

T = TypeVar("T")
OPTIONS = Options("jail", 2, RunLimits())
SUM = Problem("gsm8k/train/1", "gsm8k", "math", "2 + 2?", ("4",))
DOUBLE = Problem(
    "mbpp/train/1", "mbpp", "code", "Double x.", entry_point="f", hidden_tests=("assert f(2) == 4",)
)


def program(*questions: str) -> Program:
    """A program that asks these one after the other and answers with the last reply."""
    text = "|".join(questions)
    return Program(text, text, hash=text)


class AskingWork:
    """Runs :func:`program`: what a sandbox would do, without one. ``held``: waits for ``go`` once it
    has asked."""

    def __init__(self, *, held: bool = False) -> None:
        self.isolation = IsolationReport("jail", {"no_network": True})
        self.ran: list[Problem] = []
        self.now = self.most = 0
        self.cancelled = 0
        self.held, self.go = held, asyncio.Event()

    @property
    def rules(self) -> AskingWork:
        return self

    def metrics(self) -> Mapping[str, float]:
        return {}

    async def run(
        self, program: Program, problem: Problem, executor: ChatModel, settings: RunSettings
    ) -> Execution:
        self.ran.append(problem)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            answer, calls = "", []
            for question in program.source.split("|"):
                if question == "bug":
                    raise ZeroDivisionError("of ours")
                with billed_to(operator="Custom"):
                    reply = await executor.chat(ChatRequest((Message("user", question),), 8))
                answer = reply.text
                calls.append(OperatorCall("Custom", reply.usage.prompt_tokens, llm_calls=1))
            if self.held:
                await self.go.wait()
            return Execution("ok", answer, tuple(calls))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.now -= 1

    async def verdict(self, problem: Problem, answer: str) -> Verdict:
        if answer == "bug":
            raise ZeroDivisionError("of ours")
        return Verdict(answer in problem.answers, "exact", "equal")

    async def aclose(self) -> None:
        """Nothing to close."""


class RoomWorker:
    """A worker whose room is in this process."""

    def __init__(self, open_work: Callable[[Options], Awaitable[Work]], **options: Any) -> None:
        self.room = WorkerSide(open_work, **options)
        self._dead = asyncio.Event()
        self._closing: asyncio.Future[None] | None = None

    async def open(self, options: bytes) -> bytes:
        return await self._alive(self.room.open(options))

    async def give(self, data: bytes) -> None:
        await self._alive(self.room.give(data))

    async def fetch(self) -> bytes:
        return await self._alive(self.room.fetch())

    def kill(self) -> None:
        self._dead.set()
        if self._closing is None:
            self._closing = asyncio.ensure_future(self.room.aclose())

    async def _alive(self, work: Awaitable[T]) -> T:
        task, died = asyncio.ensure_future(work), asyncio.ensure_future(self._dead.wait())
        try:
            await asyncio.wait({task, died}, return_when=asyncio.FIRST_COMPLETED)
            if self._dead.is_set():
                raise WorkerLostError("killed")
            return task.result()
        finally:
            task.cancel()
            died.cancel()


class Fleet:
    """Starts workers on the given places of work, in turn; the last one again and again."""

    def __init__(self, *works: Work, beat_s: float = 15.0) -> None:
        self._works, self._beat_s = list(works), beat_s
        self.workers: list[RoomWorker] = []

    def __call__(self) -> RoomWorker:
        work = self._works[min(len(self.workers), len(self._works) - 1)]

        async def opened(options: Options) -> Work:
            return work

        self.workers.append(RoomWorker(opened, beat_s=self._beat_s))
        return self.workers[-1]


@asynccontextmanager
async def opened_pool(
    fleet: Callable[[], Any], count: int = 1, **options: Any
) -> AsyncIterator[WorkerPool]:
    pool = WorkerPool(fleet, count, OPTIONS, **{"again_s": 0.001, **options})
    await pool.open(10.0)
    try:
        await until(lambda: pool.ready == count)  # the others join as they come
        yield pool
    finally:
        await pool.aclose()


async def until(holds: Callable[[], bool]) -> None:
    """Lets others run until the condition holds."""
    while not holds():  # noqa: ASYNC110 - of what no event tells
        await asyncio.sleep(0.001)
