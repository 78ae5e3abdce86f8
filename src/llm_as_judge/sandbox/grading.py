"""The split grader: the host carries calls between the tests and the solution.

Tests and expected values are in one child, the solution in another. A test counts as passed only
if the tests' child says so in a message with a nonce that the solution's child never receives.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Sequence
from typing import Any

from llm_as_judge.sandbox.channel import (
    ChannelClosedError,
    HostChannel,
    ProtocolError,
    cancelled,
)
from llm_as_judge.sandbox.clock import Deadline, OwnTime
from llm_as_judge.sandbox.inside.frames import MAX_CALL, FrameError
from llm_as_judge.sandbox.launch import Child
from llm_as_judge.types import StubReport, TestReport

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


_ASKED = ("op", "target", "args", "kwargs")
_ANSWERED = ("value", "raised", "message", "after", "stop", "missing")


class _Calls:
    """Calls that wait for their answers, the innermost last: the tests call the solution, which may
    call a function of the tests before it answers, and so on."""

    def __init__(self) -> None:
        self._number = 0
        self._waiting: list[int | None] = []
        """Numbers of the tests' calls; None for a call of the solution."""

    def of_the_tests(self, message: dict[str, Any]) -> dict[str, Any]:
        """What goes on to the solution."""
        if message["t"] == "invoke":
            self._number += 1
            self._waiting.append(self._number)
            return {"id": self._number, **_parts(message, _ASKED)}
        self._end(None)
        return _parts(message, _ANSWERED)

    def of_the_solution(self, message: dict[str, Any]) -> dict[str, Any]:
        """What goes on to the tests.

        Raises:
            ProtocolError: it answers what nobody has asked.
        """
        if message["t"] == "invoke":
            self._waiting.append(None)
            return {"t": "invoke", **_parts(message, _ASKED)}
        self._end(message.get("id"))
        return _parts(message, _ANSWERED)

    def _end(self, call: object) -> None:
        if not self._waiting or self._waiting.pop() != call:
            raise ProtocolError("an answer to another call")


def _parts(message: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: message[name] for name in names if name in message}


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
        if await _in_time(grading, wall_s, [solution, tests]):
            failed, error = grading.result()
        else:
            failed, error = self._all(), f"ran longer than {wall_s:g} s"
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
                HostChannel(solution.sock, MAX_BYTES, MAX_FRAMES, MAX_CALL) as answering,
                HostChannel(tests.sock, MAX_BYTES, MAX_FRAMES) as asking,
            ):
                task = _task("tests", self._entry_point, self._tests, self._setup, self._nonce)
                await asking.send(task)  # prepared while the solution loads
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

    async def _load(self, answering: HostChannel) -> dict[str, str]:
        task = {
            "kind": "solution",
            "source": self._solution,
            "setup": self._setup,
            "entry_point": self._entry_point,
        }
        await _to_solution(answering, task)
        message = await self._from_solution(answering, "ready")
        names = message.get("names")
        if not isinstance(names, dict) or not {str}.issuperset(map(type, names.values())):
            raise ProtocolError("names are not texts by name")
        return names

    async def _from_solution(self, answering: HostChannel, *wanted: str) -> dict[str, Any]:
        while True:
            try:
                message = await answering.receive()
            except ChannelClosedError:
                raise _SolutionError("the solution's process ended") from None
            kind = message.get("t")
            if kind in wanted:
                return message
            if kind == "result":
                raise _SolutionError(f"solution: {str(message.get('error'))[:500]}")
            if kind != "out":
                raise ProtocolError("an answer that nobody asked for")

    async def _carry(
        self, asking: HostChannel, answering: HostChannel
    ) -> tuple[tuple[int, ...], str]:
        calls = _Calls()
        while True:
            message = await asking.receive()
            kind = message.get("t")
            if kind == "done" and secrets.compare_digest(str(message.get("nonce")), self._nonce):
                return self._verdict(message)
            if kind == "result":
                return self._all(), f"the tests do not run: {_error_type(message)}"
            if kind in ("invoke", "reply"):
                await _to_solution(answering, calls.of_the_tests(message))
                heard = await self._from_solution(answering, "reply", "invoke")
                await asking.send(calls.of_the_solution(heard))
            elif kind != "out":
                raise ProtocolError("unexpected message from the tests")

    def _verdict(self, message: dict[str, Any]) -> tuple[tuple[int, ...], str]:
        failed = tuple(int(number) for number in message["failed"])
        return failed, str(message["error"])[:500]


async def _to_solution(answering: HostChannel, message: dict[str, Any]) -> None:
    try:
        await answering.send(message)
    except ChannelClosedError:
        raise _SolutionError("the solution's process ended") from None


class StubTrial:
    """Tests on functions that do nothing of what is asked for."""

    def __init__(self, entry_point: str, tests: tuple[str, ...], setup_code: str) -> None:
        self._nonce = secrets.token_hex(16)
        self._task = _task("stubs", entry_point, tests, setup_code, self._nonce)
        self._outcomes: dict[str, tuple[str, ...]] = {}

    async def run(self, wall_s: float, child: Child) -> StubReport:
        """Runs them in a fresh child; the caller ends it.

        Raises:
            OverloadError: the machine had no time for it.
        """
        with HostChannel(child.sock, MAX_BYTES, MAX_FRAMES) as channel:
            trial = asyncio.ensure_future(self._try(channel))
            in_time = await _in_time(trial, wall_s, [child])
            error = trial.result() if in_time else f"the tests ran longer than {wall_s:g} s"
            return StubReport(self._outcomes, error)

    async def _try(self, channel: HostChannel) -> str:
        """Notes the outcomes; returns why they are not all there."""
        try:
            await channel.send(self._task)
            while True:
                message = await channel.receive()
                if message.get("t") == "result":
                    return f"the tests do not run: {message.get('error')}"
                if not secrets.compare_digest(str(message.get("nonce")), self._nonce):
                    continue
                if message["t"] == "done":
                    return ""
                self._outcomes[message["stub"]] = tuple(message["outcomes"])
        except ProtocolError as error:
            return f"the tests broke the protocol: {error}"
        except ChannelClosedError:
            return "the tests end their process, or run too long"
        except FrameError as error:
            return f"the tests cannot be sent: {error}"


async def _in_time(
    conversation: asyncio.Future[Any], wall_s: float, children: Sequence[Child]
) -> bool:
    """Waits for its end, or ends it where it takes too long."""
    own = OwnTime(wall_s)
    own.start()
    try:
        return await Deadline(wall_s, children).kept(own, conversation)
    finally:  # the caller closes the channels next, also when it is being cancelled itself
        own.stop()
        await cancelled(conversation)


def _task(
    kind: str, entry_point: str, tests: tuple[str, ...], setup: str, nonce: str
) -> dict[str, Any]:
    return {
        "kind": kind,
        "tests": list(tests),
        "setup": setup,
        "entry_point": entry_point,
        "modules": _TEST_MODULES,
        "nonce": nonce,
    }


def _error_type(message: dict[str, Any]) -> str:
    # The rest of the line could quote a test.
    return str(message.get("error")).split(":")[0][:80]
