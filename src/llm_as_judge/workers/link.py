"""The driver's side of one worker: jobs go out, questions and results come back."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

from llm_as_judge.errors import LlmAsJudgeError, SandboxError
from llm_as_judge.workers.messages import (
    Ask,
    Asked,
    Broke,
    Cancel,
    Facts,
    Graded,
    Message,
    Ran,
    decode,
    encode,
)


class WorkerLostError(LlmAsJudgeError):
    """A worker died, its node was lost, or it fell silent. What it ran is run again elsewhere."""


class Worker(Protocol):
    """One :class:`llm_as_judge.workers.worker_side.WorkerSide`, wherever it is.

    Every method raises ``WorkerLostError`` when the worker is gone.
    """

    async def open(self, options: bytes) -> bytes: ...

    async def give(self, data: bytes) -> None: ...

    async def fetch(self) -> bytes: ...

    def kill(self) -> None:
        """End it at once; a dead one stays dead."""
        ...


Inbox = asyncio.Queue[Asked | Ran | Graded | Broke | WorkerLostError]
"""What a worker says about one job; ``WorkerLostError`` is the last of it."""


class Link:
    """Carries messages of many jobs to a worker and back, those of one moment together.

    Args:
        silence_s: a worker that says nothing for so long is taken for lost.
    """

    def __init__(self, worker: Worker, facts: Facts, *, silence_s: float) -> None:
        self.facts = facts
        self._worker = worker
        self._silence_s = silence_s
        self._inboxes: dict[int, Inbox] = {}
        self._out: list[Message] = []
        self._news = asyncio.Event()
        self.running = {"run": 0, "grade": 0}
        """Jobs that the worker has, by lane."""

    def begin(self, job: Ask, inbox: Inbox) -> None:
        """Send a job; what the worker says about it goes to ``inbox``."""
        self._inboxes[job.job] = inbox
        self.send(job)

    def end(self, job: int, *, cancel: bool) -> None:
        """Nobody waits for this job any more."""
        if self._inboxes.pop(job, None) is not None and cancel:
            self.send(Cancel(job))

    def send(self, message: Message) -> None:
        self._out.append(message)
        self._news.set()

    async def carry(self) -> WorkerLostError:
        """Carry messages until the worker is lost; its jobs are told. Kills it when cancelled."""
        tasks = [_attributed(self._give()), _attributed(self._fetch())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            lost = done.pop().result()
        finally:
            self._worker.kill()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for inbox in self._inboxes.values():
            inbox.put_nowait(lost)
        self._inboxes.clear()
        return lost

    async def _give(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            out, self._out = self._out, []
            await self._worker.give(encode(out))

    async def _fetch(self) -> None:
        while True:
            try:
                data = await asyncio.wait_for(self._worker.fetch(), self._silence_s)
            except asyncio.TimeoutError:
                raise WorkerLostError(f"no word for {self._silence_s:g} s") from None
            for message in decode(data, Asked, Ran, Graded, Broke):
                if inbox := self._inboxes.get(message.job):
                    inbox.put_nowait(message)


def _attributed(work: Coroutine[Any, Any, None]) -> asyncio.Task[WorkerLostError]:
    """How the work ended: a worker that says what cannot be read is as good as lost."""

    async def ended() -> WorkerLostError:
        try:
            await work
        except WorkerLostError as lost:
            return lost
        except SandboxError as error:
            return WorkerLostError(str(error))
        raise AssertionError("carries on until the worker is lost")

    return asyncio.ensure_future(ended())
