"""The driver's side of one worker: jobs go out, questions and results come back."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

from llm_as_judge.errors import (
    ENDPOINT_ERRORS,
    EndpointError,
    GraderError,
    LlmAsJudgeError,
    SandboxError,
)
from llm_as_judge.llm.billing import billed_to
from llm_as_judge.types import ChatModel
from llm_as_judge.workers.messages import (
    Ask,
    Asked,
    Broke,
    Cancel,
    Facts,
    Graded,
    Message,
    Ran,
    Refused,
    Replied,
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


async def done_on(link: Link, job: Ask, calls: JobCalls) -> Ran | Graded:
    """The result of a job on one worker.

    Raises:
        WorkerLostError: the worker is gone.
        EndpointError, GraderError, SandboxError: as the worker says.
        BudgetError and others: from the executor, which the driver asks.
    """
    inbox: Inbox = asyncio.Queue()
    finished = False
    link.begin(job, inbox)
    try:
        while True:
            said = await calls.next_of(inbox)
            if isinstance(said, Asked):
                calls.begin(said, link)
                continue
            finished = True
            return _result(said)
    finally:
        link.end(job.job, cancel=not finished)


class JobCalls:
    """Executor calls of one job, made here. They outlive the worker that wanted them."""

    def __init__(self, executor: ChatModel | None) -> None:
        self._executor = executor
        self._asking: set[asyncio.Future[None]] = set()
        self._fault: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def begin(self, asked: Asked, link: Link) -> None:
        """Ask the model; the reply goes to the worker."""
        task = asyncio.ensure_future(self._ask(asked, link))
        self._asking.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Future[None]) -> None:
        self._asking.discard(task)
        if not task.cancelled() and (error := task.exception()) and not self._fault.done():
            self._fault.set_exception(error)

    async def _ask(self, asked: Asked, link: Link) -> None:
        assert self._executor is not None, "a grading asks nobody"
        try:
            with billed_to(operator=asked.operator):
                reply = await self._executor.chat(asked.request)
        except EndpointError as error:
            link.send(Refused(asked.job, asked.call, type(error).__name__, str(error)))
        else:
            link.send(Replied(asked.job, asked.call, reply))

    async def next_of(self, inbox: Inbox) -> Asked | Ran | Graded | Broke | WorkerLostError:
        """What the worker says next.

        Raises:
            BudgetError and others: what a call came to that ends the job.
        """
        said = asyncio.ensure_future(inbox.get())
        try:
            watched: set[asyncio.Future[Any]] = {said, self._fault}
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            if self._fault.done():
                self._fault.result()
            return said.result()
        finally:
            said.cancel()

    async def aclose(self) -> None:
        asking = list(self._asking)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        if self._fault.done():
            self._fault.exception()  # seen
        self._fault.cancel()


def _result(said: Ran | Graded | Broke | WorkerLostError) -> Ran | Graded:
    if isinstance(said, WorkerLostError):
        raise said
    if not isinstance(said, Broke):
        return said
    if said.kind == "bug":
        raise RuntimeError(f"a bug, seen by a worker:\n{said.message}")
    raise _ERRORS.get(said.kind, SandboxError)(said.message)


_ERRORS: dict[str, type[LlmAsJudgeError]] = {**ENDPOINT_ERRORS, GraderError.__name__: GraderError}
