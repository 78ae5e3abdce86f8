"""Rollouts that run from the moment their programs are written, and the groups they make."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence

from llm_as_judge.reward import RewardOptions, reward_group
from llm_as_judge.rollout.environment import Environment
from llm_as_judge.rollout.line import rollout
from llm_as_judge.rollout.wrappers import (
    Billed,
    Deadline,
    Journaled,
    OncePerProgram,
    Results,
    Resumed,
    cancelled,
)
from llm_as_judge.types import Completion, Group, Problem, PromptFacts, Rollout, SampleStream

Keep = Callable[[int, PromptFacts, Rollout], None]
"""Called with the position of a problem in its batch, what its prompt showed, and a rollout: when
its program is written, and when it has ended. What it raises ends the batch."""


class RunningGroup:
    """The rollouts of one problem, each from the moment its program is written.

    Args:
        timeout_s: of a rollout, from then on; None = no deadline.
        keep: as :data:`Keep`, for this problem.
        on_rollout: called as each rollout ends (its reward is not yet set).
    """

    def __init__(
        self,
        problem: Problem,
        env: Environment,
        reward: RewardOptions,
        *,
        timeout_s: float | None = None,
        keep: Callable[[PromptFacts, Rollout], None] | None = None,
        on_rollout: Callable[[Rollout], None] | None = None,
    ) -> None:
        self.problem = problem
        self.prompt = PromptFacts()
        self.tasks: dict[int, asyncio.Future[Rollout]] = {}
        self.ended_at = time.perf_counter()
        """When the last rollout so far ended."""
        self._env, self._reward, self._timeout_s = env.of_group(), reward, timeout_s
        self._keep, self._on_rollout = keep, on_rollout
        self._results = Results()

    def begin(self, k: int, completion: Completion) -> None:
        """Start a rollout, unless that place has one."""
        if k in self.tasks:
            return
        env = self._environment(k)
        if self._keep is not None:
            env = Journaled(env, self._kept, k, completion)
        self.tasks[k] = asyncio.ensure_future(self._run(env, k, completion))

    def take(self, known: Rollout) -> None:
        """Go on with a rollout of an earlier run."""
        self._results.remember(known)
        env = Resumed(self._environment(known.index), known.program)
        self.tasks[known.index] = asyncio.ensure_future(
            self._run(env, known.index, known.completion, known)
        )

    def _environment(self, k: int) -> Environment:
        env: Environment = Billed(self._env.of_rollout(k), self.problem, k)
        if self._timeout_s is not None:
            env = Deadline(env, self._timeout_s)
        return OncePerProgram(env, self._results)

    async def _run(
        self, env: Environment, k: int, completion: Completion, known: Rollout | None = None
    ) -> Rollout:
        ended = await rollout(env, self.problem, k, completion)
        self.ended_at = time.perf_counter()
        if ended != known:
            self._kept(ended)
        if self._on_rollout:
            self._on_rollout(ended)
        return ended

    def _kept(self, one: Rollout) -> None:
        if self._keep is not None:
            self._keep(self.prompt, one)

    def all_tasks(self) -> list[asyncio.Future[Rollout]]:
        return [*self.tasks.values(), *self._results.pending()]

    def group(self, rollouts: Sequence[Rollout]) -> Group:
        """The whole group: rewards compare its rollouts with each other."""
        rewarded = reward_group(rollouts, self._reward, self.prompt.budget)
        return Group(self.problem, rewarded, self.prompt)


class Batch:
    """Groups that are sampled together; each rollout goes on by itself."""

    def __init__(self, running_P: Sequence[RunningGroup], samples_per_problem: int) -> None:
        self._running_P = running_P
        self._k = samples_per_problem
        self._stream: SampleStream | None = None
        self._writing: asyncio.Future[None] | None = None
        self._first_at = math.inf

    @property
    def run_s(self) -> float:
        """Seconds from the first program written until the last rollout ended."""
        return max(group.ended_at for group in self._running_P) - self._first_at

    @property
    def written(self) -> bool:
        """Whether all programs are there."""
        return all(len(group.tasks) == self._k for group in self._running_P)

    def follow(self, stream: SampleStream) -> None:
        """Start each rollout as its program ends, while the caller does something else."""
        self._stream = stream
        self._writing = asyncio.ensure_future(self._begin_each(stream))

    async def _begin_each(self, stream: SampleStream) -> None:
        async for p, k, completion in stream:
            self._first_at = min(self._first_at, time.perf_counter())
            self._running_P[p].begin(k, completion)

    def prompted(self, prompts_P: Mapping[int, PromptFacts]) -> None:
        """What the prompts of the problems showed; to be said before their rollouts begin."""
        for p, facts in prompts_P.items():
            self._running_P[p].prompt = facts

    def take(self, known: Mapping[tuple[int, int], Rollout]) -> None:
        """Go on with what an earlier run left; what had ended first, so that equal programs of the
        group take its result."""
        if known:
            self._first_at = min(self._first_at, time.perf_counter())
        for (p, _), left in sorted(known.items(), key=lambda item: item[1].verdict is None):
            self._running_P[p].take(left)

    async def groups(self) -> list[Group]:
        """All groups, rewarded, when the last rollout has ended. What ends the run (a spent budget)
        ends the others first, so that none goes on asking servers that are being closed.

        Raises:
            EndpointError: a program could not be written.
        """
        try:
            if self._writing is not None:
                await self._writing
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
        if self._stream is not None:
            await self._stream.aclose()
        await cancelled([task for group in self._running_P for task in group.all_tasks()])
