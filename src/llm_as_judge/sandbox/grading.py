"""The split grader: the host carries calls between the tests and the solution.

Tests and expected values are in one child, the solution in another. A test counts as passed only
if the tests' child says so in a message with a nonce that the solution's child never receives.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import Any

from llm_as_judge.sandbox.channel import (
    ChannelClosedError,
    HostChannel,
    ProtocolError,
    cancelled,
)
from llm_as_judge.sandbox.clock import Deadline, OwnTime
from llm_as_judge.sandbox.inside.frames import FrameError
from llm_as_judge.sandbox.launch import Child
from llm_as_judge.types import TestReport

MAX_BYTES = 64 * 2**20
MAX_FRAMES = 200_000

_TEST_MODULES = [
    *("bisect", "cmath", "collections", "copy", "datetime", "decimal", "fractions", "functools"),
    *("heapq", "itertools", "json", "math", "operator", "random", "re", "statistics", "string"),
    *("sys", "typing"),
]
"""Modules that a test may name although only the solution imports them."""


class _SolutionError(Exception):
    """The solution did not load, died, or ended its process."""


class SplitGrading:
    """One solution and its tests."""

    def __init__(
        self, solution: str, entry_point: str, tests: tuple[str, ...], setup_code: str
    ) -> None:
        self._solution = solution
        self._entry_point = entry_point
        self._tests = tests
        self._setup = setup_code
        self._nonce = secrets.token_hex(16)

    async def run(self, wall_s: float, solution: Child, tests: Child) -> TestReport:
        """Grades with two fresh children; the caller ends them.

        Raises:
            OverloadError: the machine had no time for it.
        """
        started = time.monotonic()
        grading = asyncio.ensure_future(self._grade(solution, tests))
        own = OwnTime(wall_s)
        own.start()
        try:
            if await Deadline(wall_s, [solution, tests]).kept(own, grading):
                failed, error = grading.result()
            else:
                failed, error = self._all(), f"ran longer than {wall_s:g} s"
        finally:  # the caller closes the channels next, also when it is being cancelled itself
            own.stop()
            await cancelled(grading)
        total = len(self._tests)
        if not total:
            error = "there is no test"
        seconds = time.monotonic() - started
        return TestReport(not failed and total > 0, total, failed, error, seconds)

    def _all(self) -> tuple[int, ...]:
        return tuple(range(len(self._tests)))

    async def _grade(self, solution: Child, tests: Child) -> tuple[tuple[int, ...], str]:
        try:
            with (
                HostChannel(solution.sock, MAX_BYTES, MAX_FRAMES) as answering,
                HostChannel(tests.sock, MAX_BYTES, MAX_FRAMES) as asking,
            ):
                await asking.send(self._tests_task())  # prepared while the solution loads
                await asking.send({"names": await self._load(answering)})
                return await self._carry(asking, answering)
        except _SolutionError as error:
            return self._all(), str(error)
        except ProtocolError as error:
            return self._all(), f"broke the protocol: {error}"
        except ChannelClosedError:
            return self._all(), "the tests ended without a verdict"
        except FrameError as error:
            return self._all(), f"the task cannot be sent: {error}"

    async def _load(self, answering: HostChannel) -> list[str]:
        task = {
            "kind": "solution",
            "source": self._solution,
            "setup": self._setup,
            "entry_point": self._entry_point,
        }
        try:
            await answering.send(task)
        except ChannelClosedError:
            raise _SolutionError("the solution's process died") from None
        message = await self._from_solution(answering, "ready")
        names = message.get("names")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ProtocolError("names are not a list of text")
        return names

    async def _from_solution(self, answering: HostChannel, wanted: str) -> dict[str, Any]:
        while True:
            try:
                message = await answering.receive()
            except ChannelClosedError:
                raise _SolutionError("the solution's process ended") from None
            kind = message.get("t")
            if kind == wanted:
                return message
            if kind == "result":
                raise _SolutionError(f"solution: {str(message.get('error'))[:500]}")
            if kind != "out":
                raise ProtocolError("an answer that nobody asked for")

    def _tests_task(self) -> dict[str, Any]:
        return {
            "kind": "tests",
            "tests": list(self._tests),
            "setup": self._setup,
            "entry_point": self._entry_point,
            "modules": _TEST_MODULES,
            "nonce": self._nonce,
        }

    async def _carry(
        self, asking: HostChannel, answering: HostChannel
    ) -> tuple[tuple[int, ...], str]:
        number = 0
        while True:
            message = await asking.receive()
            kind = message.get("t")
            if kind == "done" and secrets.compare_digest(str(message.get("nonce")), self._nonce):
                return self._verdict(message)
            if kind == "result":
                return self._all(), f"the tests do not run: {_error_type(message)}"
            if kind == "invoke":
                number += 1
                await self._invoke(number, message, asking, answering)
            elif kind != "out":
                raise ProtocolError("unexpected message from the tests")

    async def _invoke(
        self, number: int, call: dict[str, Any], asking: HostChannel, answering: HostChannel
    ) -> None:
        parts = {key: call.get(key) for key in ("name", "args", "kwargs")}
        try:
            await answering.send({"id": number, **parts})
        except ChannelClosedError:
            raise _SolutionError("the solution's process ended") from None
        reply = await self._from_solution(answering, "reply")
        if reply.get("id") != number:
            raise ProtocolError("an answer to another call")
        await asking.send(
            {key: reply[key] for key in ("value", "raised", "message") if key in reply}
        )

    def _verdict(self, message: dict[str, Any]) -> tuple[tuple[int, ...], str]:
        failed = tuple(int(number) for number in message["failed"])
        return failed, str(message["error"])[:500]


def _error_type(message: dict[str, Any]) -> str:
    # The rest of the line could quote a test.
    return str(message.get("error")).split(":")[0][:80]
