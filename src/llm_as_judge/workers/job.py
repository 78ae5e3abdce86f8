"""One job on a worker, seen from the driver: the calls it wants are made here, its result is read here."""

from __future__ import annotations

import asyncio
from typing import Any

from llm_as_judge.errors import ContextError, EndpointError, LlmAsJudgeError, SandboxError
from llm_as_judge.llm.billing import billed_to
from llm_as_judge.types import ChatModel
from llm_as_judge.workers.link import Inbox, Link, WorkerLostError
from llm_as_judge.workers.messages import Ask, Asked, Broke, Graded, Ran, Refused, Replied


async def done_on(link: Link, job: Ask, calls: JobCalls) -> Ran | Graded:
    """The result of a job on one worker.

    Raises:
        WorkerLostError: the worker is gone.
        EndpointError, SandboxError: as the worker says.
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
            too_long = isinstance(error, ContextError)
            link.send(Refused(asked.job, asked.call, str(error), too_long))
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
        """End what is still asked."""
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


_ERRORS: dict[str, type[LlmAsJudgeError]] = {
    kind.__name__: kind for kind in (EndpointError, ContextError, SandboxError)
}
