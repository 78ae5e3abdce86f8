"""The worker's side: runs programs in the jail of its machine, grades by rules, asks for replies."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import os
import platform
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from llm_as_judge.errors import (
    ENDPOINT_ERRORS,
    EndpointError,
    GraderError,
    SandboxError,
    UserError,
)
from llm_as_judge.grading.fingerprint import rules_fingerprint
from llm_as_judge.grading.graders import shipped_grading
from llm_as_judge.llm.billing import current_scope
from llm_as_judge.plugins import load_plugins
from llm_as_judge.types import ChatReply, ChatRequest
from llm_as_judge.workers.messages import (
    Ask,
    Asked,
    Broke,
    Cancel,
    Facts,
    Grade,
    Graded,
    Message,
    Options,
    Ran,
    Refused,
    Replied,
    Run,
    decode,
    encode,
)
from llm_as_judge.workers.work import Work

BEAT_S = 15.0
"""A worker with nothing to say says so this often."""

OpenWork = Callable[[Options], Awaitable[Work]]


@dataclass(slots=True)
class _Running:
    task: asyncio.Task[None]
    calls: int = 0
    waiting: dict[int, asyncio.Future[ChatReply]] = field(default_factory=dict)


class WorkerSide:
    """Jobs of one worker.

    Args:
        open_work: starts sandbox and rules.
        node: where it is, for messages; default this machine's name.
        beat_s: longest silence of :meth:`fetch`.
    """

    def __init__(self, open_work: OpenWork, *, node: str = "", beat_s: float = BEAT_S) -> None:
        self._open_work = open_work
        self._node = node or platform.node()
        self._beat_s = beat_s
        self._work: Work | None = None
        self._jobs: dict[int, _Running] = {}
        self._said: list[Message] = []
        self._news = asyncio.Event()

    async def open(self, options: bytes) -> bytes:
        """Start sandbox and rules; the facts of this worker, or what was wrong."""
        (wanted,) = decode(options, Options)
        try:
            load_plugins(wanted.plugins)
            self._work = await self._open_work(wanted)
        except (SandboxError, UserError) as error:
            return encode([Broke(0, type(error).__name__, str(error))])
        return encode(
            [
                Facts(
                    self._node,
                    os.getpid(),
                    importlib.metadata.version("llm-as-judge"),
                    rules_fingerprint(),
                    self._work.isolation,
                )
            ]
        )

    async def give(self, data: bytes) -> None:
        """Take in messages of the driver.

        Raises:
            SandboxError: they cannot be read.
        """
        for message in decode(data):
            if isinstance(message, Ask):
                task = asyncio.ensure_future(self._do(message))
                self._jobs[message.job] = _Running(task)
            elif isinstance(message, Cancel) and message.job in self._jobs:
                self._jobs[message.job].task.cancel()
            elif isinstance(message, Replied | Refused):
                self._answered(message)

    async def fetch(self) -> bytes:
        """What there is to say, as soon as there is something; an empty list after a while."""
        if not self._said:
            self._news.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._news.wait(), self._beat_s)
        said, self._said = self._said, []
        return encode(said)

    async def aclose(self) -> None:
        tasks = [running.task for running in self._jobs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._work is not None:
            await self._work.aclose()

    # --------------------------------------------------------------------------------------- jobs
    def _say(self, message: Message) -> None:
        self._said.append(message)
        self._news.set()

    async def _do(self, job: Ask) -> None:
        try:
            self._say(await self._result(job))
        except asyncio.CancelledError:
            raise
        except (EndpointError, GraderError, SandboxError) as error:
            self._say(Broke(job.job, type(error).__name__, str(error)))
        except Exception:  # noqa: BLE001 - a bug is told to the driver, who raises it
            self._say(Broke(job.job, "bug", traceback.format_exc()))
        finally:
            del self._jobs[job.job]

    async def _result(self, job: Ask) -> Message:
        if self._work is None:
            raise SandboxError("the worker has not been opened")
        if isinstance(job, Grade):
            with shipped_grading(job.problem):
                verdict = await self._work.rules.verdict(job.problem, job.answer)
            return Graded(job.job, verdict)
        executor = _AskingChat(job, self)
        return Ran(job.job, await self._work.run(job.program, job.problem, executor, job.settings))

    # -------------------------------------------------------------------------------------- calls
    async def ask(self, job: int, request: ChatRequest) -> ChatReply:
        """The driver's reply to a request of this job."""
        running = self._jobs[job]
        running.calls += 1
        number = running.calls
        running.waiting[number] = asyncio.get_running_loop().create_future()
        self._say(Asked(job, number, current_scope().operator, request))
        try:
            return await running.waiting[number]
        finally:
            del running.waiting[number]

    def _answered(self, message: Replied | Refused) -> None:
        running = self._jobs.get(message.job)
        waiting = running.waiting.get(message.call) if running else None
        if waiting is None or waiting.done():
            return  # the job was cut off meanwhile
        if isinstance(message, Replied):
            waiting.set_result(message.reply)
        else:
            waiting.set_exception(ENDPOINT_ERRORS[message.kind](message.error))


class _AskingChat:
    """ChatModel of a job: the driver asks the model."""

    def __init__(self, job: Run, room: WorkerSide) -> None:
        self._job, self._room = job, room

    @property
    def name(self) -> str:
        return self._job.executor

    async def chat(self, request: ChatRequest) -> ChatReply:
        """The driver's reply.

        Raises:
            EndpointError: the driver had none.
        """
        return await self._room.ask(self._job.job, request)
