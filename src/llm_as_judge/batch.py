"""Rollouts that run from the moment their programs are written, and the groups they make."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from llm_as_judge.llm.billing import billed_to
from llm_as_judge.reward import RewardOptions, reward_group
from llm_as_judge.types import Completion, Group, Problem, Program, PromptFacts, Rollout

ParseProgram = Callable[[str, Problem], Program]
"""Text of a reply -> checked program."""
Keep = Callable[[int, PromptFacts, Rollout], None]
"""Called with the position of a problem in its batch, what its prompt showed, and a rollout: when
its program is written, and when it has ended. What it raises ends the batch."""


class RunningGroup:
    """The rollouts of one problem, each from the moment its program is written."""

    def __init__(
        self,
        problem: Problem,
        *,
        parse: ParseProgram,
        finish: Callable[[Rollout], Awaitable[Rollout]],
        reward: RewardOptions,
        keep: Callable[[PromptFacts, Rollout], None] | None,
        on_rollout: Callable[[Rollout], None] | None,
    ) -> None:
        self.problem = problem
        self.prompt = PromptFacts()
        self.tasks: dict[int, asyncio.Future[Rollout]] = {}
        self._parse, self._finish, self._reward = parse, finish, reward
        self._keep, self._on_rollout = keep, on_rollout
        self._by_program: dict[str, asyncio.Future[Rollout]] = {}
        self.ended_at = time.perf_counter()
        """When the last rollout so far ended."""

    def begin(self, index: int, completion: Completion) -> None:
        """Start a rollout, unless that place has one."""
        if index not in self.tasks:
            self.tasks[index] = asyncio.ensure_future(self._begun(index, completion))

    def take(self, rollout: Rollout) -> None:
        """Go on with a rollout of an earlier run."""
        self.tasks[rollout.index] = asyncio.ensure_future(self._ended(rollout))

    async def _begun(self, index: int, completion: Completion) -> Rollout:
        program = self._parse(completion.text, self.problem)
        bare = Rollout(self.problem.id, index, completion, program)
        if self._keep:
            self._keep(self.prompt, bare)
        return await self._ended(bare)

    async def _ended(self, begun: Rollout) -> Rollout:
        program = begun.program
        key = program.hash if program.runnable else f"unrunnable {begun.index}"
        if key not in self._by_program:  # equal programs of a group run once
            name = f"{self.problem.id}#{begun.index}"
            with billed_to(problem=self.problem.id, rollout=name):
                self._by_program[key] = asyncio.ensure_future(self._finish(begun))
        first = await self._by_program[key]
        ended = replace(
            begun, execution=first.execution, verdict=first.verdict, failure=first.failure
        )
        self.ended_at = time.perf_counter()
        if self._keep and ended != begun:
            self._keep(self.prompt, ended)
        if self._on_rollout:
            self._on_rollout(ended)
        return ended

    def all_tasks(self) -> list[asyncio.Future[Rollout]]:
        return [*self.tasks.values(), *self._by_program.values()]

    def group(self, rollouts: Sequence[Rollout]) -> Group:
        """The whole group: rewards compare its rollouts with each other."""
        return Group(self.problem, reward_group(rollouts, self._reward), self.prompt)


class Batch:
    """Groups that are sampled together; each rollout goes on by itself."""

    def __init__(self, running_P: Sequence[RunningGroup], samples_per_problem: int) -> None:
        self._running_P = running_P
        self._k = samples_per_problem
        self._writing: asyncio.Future[list[list[Completion]]] | None = None
        self._first_at = math.inf

    @property
    def run_s(self) -> float:
        """Seconds from the first program written until the last rollout ended."""
        return max(group.ended_at for group in self._running_P) - self._first_at

    @property
    def written(self) -> bool:
        """Whether all programs are there."""
        return all(len(group.tasks) == self._k for group in self._running_P)

    def begin(self, p: int, index: int, completion: Completion) -> None:
        """Start one rollout, unless that place has one."""
        self._first_at = min(self._first_at, time.perf_counter())
        self._running_P[p].begin(index, completion)

    def begin_all(self, writing: Awaitable[list[list[Completion]]]) -> None:
        """Programs go on being written while the caller does something else."""
        self._writing = asyncio.ensure_future(writing)

    def prompted(self, prompts_P: Mapping[int, PromptFacts]) -> None:
        """What the prompts of the problems showed; to be said before their rollouts begin."""
        for p, facts in prompts_P.items():
            self._running_P[p].prompt = facts

    def take(self, known: Mapping[tuple[int, int], Rollout]) -> None:
        """Go on with what an earlier run left; what had ended first, so that equal programs of the
        group take its result."""
        if known:
            self._first_at = min(self._first_at, time.perf_counter())
        for (p, _), rollout in sorted(known.items(), key=lambda item: item[1].verdict is None):
            self._running_P[p].take(rollout)

    async def groups(self) -> list[Group]:
        """All groups, rewarded, when the last rollout has ended. What ends the run (a spent budget)
        ends the others first, so that none goes on asking servers that are being closed.

        Raises:
            EndpointError: a program could not be written.
        """
        try:
            if self._writing is not None:
                for p, completions_K in enumerate(await self._writing):
                    for index, completion in enumerate(completions_K):
                        self.begin(p, index, completion)
            ended = await asyncio.gather(
                *(group.tasks[k] for group in self._running_P for k in range(self._k))
            )
            return [
                group.group(ended[p * self._k : (p + 1) * self._k])
                for p, group in enumerate(self._running_P)
            ]
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """End what still runs."""
        if self._writing is not None:
            await cancelled([self._writing])
        await cancelled([task for group in self._running_P for task in group.all_tasks()])


async def cancelled(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Cancel what is not done and wait for its end."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
