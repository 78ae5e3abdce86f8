"""Wrappers around an environment: one for each thing that also happens while a program runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from llm_as_judge.errors import DeadlineError
from llm_as_judge.llm.billing import billed_to
from llm_as_judge.rollout.environment import Environment
from llm_as_judge.types import Budget, Execution, Problem, Program, Rollout, Verdict

T = TypeVar("T")


class Wrapper:
    """Does what ``inner`` does, and something around each run and grading."""

    def __init__(self, inner: Environment) -> None:
        self.inner = inner

    def parse(self, text: str, problem: Problem) -> Program:
        return self.inner.parse(text, problem)

    async def run(self, program: Program, problem: Problem) -> Execution:
        return await self._around(self.inner.run(program, problem))

    async def grade(self, problem: Problem, execution: Execution) -> Verdict:
        return await self._around(self.inner.grade(problem, execution))

    async def _around(self, work: Awaitable[T]) -> T:
        return await work

    def of_group(self, budget: Budget | None = None) -> Environment:
        return self


@dataclass(slots=True)
class Results:
    """What the programs of one group came to, by the hash of the program."""

    executions: dict[str, asyncio.Future[Execution]] = field(default_factory=dict)
    verdicts: dict[str, asyncio.Future[Verdict]] = field(default_factory=dict)

    def remember(self, rollout: Rollout) -> None:
        """What an earlier run found out, so that it is not paid for again; the first counts."""
        key = rollout.program.hash
        if rollout.execution is None or not rollout.program.runnable or key in self.executions:
            return
        self.executions[key] = _known(rollout.execution)
        if rollout.verdict is not None:
            self.verdicts[key] = _known(rollout.verdict)

    def pending(self) -> list[asyncio.Future[Any]]:
        return [*self.executions.values(), *self.verdicts.values()]


def _known(value: T) -> asyncio.Future[T]:
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    future.set_result(value)
    return future


class OncePerProgram(Wrapper):
    """Equal programs of a group run once and are graded once; those that cannot run are never equal.

    Args:
        results: of the group; this wrapper is one rollout's.
    """

    def __init__(self, inner: Environment, results: Results) -> None:
        super().__init__(inner)
        self._results = results
        self._key: str | None = None

    async def run(self, program: Program, problem: Problem) -> Execution:
        if not program.runnable:
            return await self.inner.run(program, problem)
        self._key = program.hash
        known = self._results.executions
        if self._key not in known:
            known[self._key] = asyncio.ensure_future(self.inner.run(program, problem))
        return await known[self._key]

    async def grade(self, problem: Problem, execution: Execution) -> Verdict:
        if self._key is None:
            return await self.inner.grade(problem, execution)
        known = self._results.verdicts
        if self._key not in known:
            known[self._key] = asyncio.ensure_future(self.inner.grade(problem, execution))
        return await known[self._key]


class Deadline(Wrapper):
    """A rollout without a verdict so long after its program was written is a failure of ours.

    Args:
        seconds: from now on; waiting for a turn counts.
    """

    def __init__(self, inner: Environment, seconds: float) -> None:
        super().__init__(inner)
        self._seconds = seconds
        self._late_at = asyncio.get_running_loop().time() + seconds

    async def _around(self, work: Awaitable[T]) -> T:
        """
        Raises:
            DeadlineError: it is late; the work has been cancelled.
        """
        task = asyncio.ensure_future(work)
        left = self._late_at - asyncio.get_running_loop().time()
        try:
            await asyncio.wait({task}, timeout=max(0.0, left))
            if task.done():
                return task.result()
        finally:
            await cancelled([task])
        raise DeadlineError(
            f"no verdict {self._seconds:g} s after the program was written, waiting for its "
            "turn included (workflow.rollout_timeout_s)"
        )


class Billed(Wrapper):
    """Calls are booked for this rollout of this problem."""

    def __init__(self, inner: Environment, problem: Problem, k: int) -> None:
        super().__init__(inner)
        self._rollout = f"{problem.id}#{k}"

    async def _around(self, work: Awaitable[T]) -> T:
        with billed_to(rollout=self._rollout):
            return await work


async def cancelled(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Cancel what is not done and wait for its end."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
