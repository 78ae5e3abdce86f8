"""The sandbox as the rest of the system sees it, over any way of starting children."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from llm_as_judge.errors import SandboxError
from llm_as_judge.sandbox.channel import (
    ChannelClosedError,
    HostChannel,
    ProtocolError,
    cancelled,
)
from llm_as_judge.sandbox.clock import Deadline, OwnTime
from llm_as_judge.sandbox.grading import SplitGrading, StubTrial
from llm_as_judge.sandbox.inside.frames import MAX_CALL, FrameError
from llm_as_judge.sandbox.interpreter import names_a_package
from llm_as_judge.sandbox.launch import Child, Exit, Launcher, child_kind
from llm_as_judge.sandbox.served import OperatorCalls
from llm_as_judge.types import (
    IsolationReport,
    Json,
    RunLimits,
    SandboxResult,
    ServeOperator,
    StubReport,
    TestReport,
)

MAX_BYTES_FROM_CHILD = 16 * 2**20
ERROR_CHARACTERS = 2000
AnyReport = TypeVar("AnyReport", TestReport, StubReport)


class _OverLimitError(Exception):
    """The program broke a bound that the host counts."""


class ProcessSandbox:
    """Implements :class:`llm_as_judge.types.Sandbox` with one child for each run.

    Args:
        launcher: starts children; closed by :meth:`aclose`.
        isolation: what was observed to hold for this launcher.
        operator_names: attributes that ``operator`` has inside a workflow.
        max_children: workflows at the same time, and as many runs of functions and tests beside
            them; the time a run waits for its turn does not count.
    """

    def __init__(
        self,
        launcher: Launcher,
        isolation: IsolationReport,
        operator_names: Iterable[str] = (),
        max_children: int = 8,
    ) -> None:
        if max_children < 1:
            raise ValueError(f"max_children is {max_children}, wanted at least 1")
        self._launcher = launcher
        self.isolation = isolation
        self._operators = tuple(operator_names)
        # Operators of a workflow (Programmer, Test) run code while it waits for them: with one
        # count for both, as many workflows as there are turns would wait for each other for ever.
        self._workflow_turns = asyncio.Semaphore(max_children)
        # The two halves of a split grader count once: they never run at the same moment.
        self._code_turns = asyncio.Semaphore(max_children)
        self._closed = False

    async def run_workflow(
        self,
        source: str,
        arguments: Mapping[str, Json],
        serve: ServeOperator,
        limits: RunLimits,
    ) -> SandboxResult:
        """See :meth:`llm_as_judge.types.Sandbox.run_workflow`.

        A ``TypeError`` or ``ValueError`` of ``serve`` is raised at the call in the program (its
        arguments were wrong); any other exception of ``serve`` is raised from here, after the
        child has been killed.
        """
        task = {
            "kind": "workflow",
            "source": source,
            "arguments": dict(arguments),
            "operators": list(self._operators),
        }
        return await self._run(task, limits, OperatorCalls(serve, self._operators, limits))

    async def run_function(
        self, source: str, function: str | None, arguments: list[Json], limits: RunLimits
    ) -> SandboxResult:
        task = {
            "kind": "function",
            "source": source,
            "function": function,
            "arguments": arguments,
        }
        return await self._run(task, limits, None, packages=names_a_package(source))

    async def run_tests(
        self,
        solution: str,
        entry_point: str,
        tests: tuple[str, ...],
        limits: RunLimits,
        setup_code: str = "",
    ) -> TestReport:
        grading = SplitGrading(solution, entry_point, tests, setup_code)
        return await self._graded(grading.run, ("the solution", "the tests"), limits)

    async def try_stubs(
        self,
        entry_point: str,
        tests: tuple[str, ...],
        limits: RunLimits,
        setup_code: str = "",
    ) -> StubReport:
        trial = StubTrial(entry_point, tests, setup_code)
        return await self._graded(trial.run, ("the tests",), limits)

    async def _graded(
        self, run: Callable[..., Awaitable[AnyReport]], names: Sequence[str], limits: RunLimits
    ) -> AnyReport:
        """``run(limits.wall_s, *children)`` on a fresh child for each name."""
        async with self._turn(self._code_turns):
            children: list[Child] = []
            report = None
            try:
                for _ in names:
                    children.append(await self._launcher.start(child_kind(limits, loops=False)))
                report = await run(limits.wall_s, *children)
            finally:
                ends = await _ended(children, clean=report is not None and not report.error)
            if report.error and any(child.lost for child in children):
                raise SandboxError("the sandbox server died during this run")
            for name, end in zip(names, ends, strict=True):
                if report.error and end.describe() == _OUT_OF_TIME:  # which the channel cannot tell
                    return replace(report, error=f"{name} {_used_up(limits)}")
            return report

    async def aclose(self) -> None:
        self._closed = True
        await self._launcher.aclose()

    @contextlib.asynccontextmanager
    async def _turn(self, turns: asyncio.Semaphore) -> AsyncIterator[None]:
        if self._closed:
            raise SandboxError("the sandbox is closed")
        async with turns:
            yield

    async def _run(
        self,
        task: dict[str, Any],
        limits: RunLimits,
        calls: OperatorCalls | None,
        packages: bool = False,
    ) -> SandboxResult:
        async with self._turn(self._code_turns if calls is None else self._workflow_turns):
            started = time.monotonic()
            run = _Run(task, limits, calls)
            kind = child_kind(limits, loops=calls is not None, packages=packages)
            child = await self._launcher.start(kind)
            result = None
            try:
                result = await run.until_done(child)
            finally:
                (ended,) = await _ended([child], clean=result is not None)
            seconds = time.monotonic() - started
            if result is None:
                if child.lost:
                    raise SandboxError("the sandbox server died during this run")
                result = _premature_end(ended, limits)
            return SandboxResult(
                result.status, result.value, run.output, result.error[:ERROR_CHARACTERS], seconds
            )


async def _ended(children: Iterable[Child], clean: bool) -> list[Exit]:
    """Ends each child, all of them even if the caller is cancelled meanwhile."""
    ending = asyncio.gather(*(child.end(clean) for child in children))
    try:
        return await asyncio.shield(ending)
    except asyncio.CancelledError:
        await asyncio.wait({ending})
        raise


_OUT_OF_TIME = "SIGXCPU"
"""What the kernel ends a child with at its limit of processor time."""


def _used_up(limits: RunLimits) -> str:
    return f"reached the limit of {limits.cpu_s:g} s of processor time"


def _premature_end(ended: Exit, limits: RunLimits) -> SandboxResult:
    how = ended.describe()
    if how == _OUT_OF_TIME or (how == "SIGKILL" and ended.cpu_s >= limits.cpu_s):
        return SandboxResult("timeout", error=_used_up(limits))
    return SandboxResult("died", error=f"ended without a result: {how}")


class _Run:
    """One conversation with one child."""

    def __init__(
        self, task: dict[str, Any], limits: RunLimits, calls: OperatorCalls | None
    ) -> None:
        self._task = task
        self._limits = limits
        self._calls = calls
        self._own_time = OwnTime(limits.wall_s) if calls is None else calls.own_time
        self._parts: list[str] = []
        self._output_left = limits.output_bytes

    @property
    def output(self) -> str:
        return "".join(self._parts)

    async def until_done(self, child: Child) -> SandboxResult | None:
        """The result, or None if the child ended without one.

        Raises:
            OverloadError: the machine had no time for it.
        """
        limits = self._limits
        frames = limits.operator_calls + limits.output_bytes // 1024 + 16
        with HostChannel(child.sock, MAX_BYTES_FROM_CHILD, frames, MAX_CALL) as channel:
            conversation = asyncio.ensure_future(self._converse(channel))
            watched: list[asyncio.Future[Any]] = [conversation]
            if self._calls is not None:
                watched.append(self._calls.fault)
            self._own_time.start()
            try:
                if await Deadline(limits.wall_s, [child]).kept(self._own_time, *watched):
                    if conversation.done():
                        return conversation.result()
                    watched[-1].result()  # raises
                return SandboxResult("timeout", error=f"ran longer than {limits.wall_s:g} s")
            finally:
                self._own_time.stop()
                await cancelled(conversation)
                if self._calls is not None:
                    await self._calls.cancel()

    async def _converse(self, channel: HostChannel) -> SandboxResult | None:
        try:
            await channel.send(self._task)
        except FrameError as error:
            return SandboxResult("limit", error=f"the task cannot be sent: {error}")
        except ChannelClosedError:
            return None
        try:
            return await self._listen(channel)
        except ChannelClosedError:
            return None
        except ProtocolError as error:
            return SandboxResult("died", error=f"broke the protocol: {error}")
        except _OverLimitError as error:
            return SandboxResult("limit", error=str(error))

    async def _listen(self, channel: HostChannel) -> SandboxResult:
        while True:
            message = await channel.receive()
            kind = message.get("t")
            if kind == "result":
                return self._result(message)
            if kind == "out":
                self._keep_output(message.get("text"))
            elif kind == "call" and self._calls is not None:
                if refusal := self._calls.begin(message, channel):
                    raise _OverLimitError(refusal)
            else:
                raise ProtocolError(f"unexpected message {str(kind)[:40]!r}")

    def _keep_output(self, text: object) -> None:
        if not isinstance(text, str):
            raise ProtocolError("output is not text")
        size = len(text.encode())
        if size > self._output_left:
            self._parts.append(text[: self._output_left])
            self._output_left = 0
            raise _OverLimitError(f"printed more than {self._limits.output_bytes} bytes")
        self._output_left -= size
        self._parts.append(text)

    def _result(self, message: dict[str, Any]) -> SandboxResult:
        status, error = message.get("status"), message.get("error", "")
        if status == "ok":
            return self._value(message.get("value"))
        if status not in ("error", "limit") or not isinstance(error, str):
            raise ProtocolError("result has an unknown status")
        line = " ".join(error.split())
        return SandboxResult("limit" if status == "limit" else "error", error=line)

    def _value(self, value: object) -> SandboxResult:
        if not (value is None or isinstance(value, (str, int, float, bool))):
            raise ProtocolError(f"value is {type(value).__name__}")
        text = str(value)
        if len(text.encode()) > self._limits.answer_bytes:
            size = self._limits.answer_bytes
            return SandboxResult("limit", error=f"the answer is longer than {size} bytes")
        if isinstance(value, float) and value - value != 0:
            value = text
        return SandboxResult("ok", value=value)
