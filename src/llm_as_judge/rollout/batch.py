"""Rollouts that run from the moment their programs are written, as a stream of events, and the groups they make."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from llm_as_judge.reward import RewardOptions, reward_group
from llm_as_judge.rollout.environment import Environment
from llm_as_judge.rollout.line import rollout, written
from llm_as_judge.rollout.wrappers import Billed, Deadline, OncePerProgram, Results, cancelled
from llm_as_judge.runs.pending import Kept
from llm_as_judge.types import Completion, Group, Problem, PromptFacts, Rollout, SampleStream


@dataclass(frozen=True, slots=True)
class RolloutEvent:
    """A program is written, or its rollout has ended; its reward is not yet set."""

    group: int
    """Position of the problem in the batch."""
    prompt: PromptFacts
    rollout: Rollout
    is_new: bool = True
    """False: an earlier run left it exactly so."""

    @property
    def ended(self) -> bool:
        return self.rollout.verdict is not None or self.rollout.failure is not None


class RunningGroup:
    """The rollouts of one problem, each from the moment its program is written.

    Args:
        timeout_s: of a rollout, from then on; None = no deadline.
        tell: makes an event of a rollout of this problem, and of whether it is new.
    """

    def __init__(
        self,
        problem: Problem,
        env: Environment,
        reward: RewardOptions,
        timeout_s: float | None,
        tell: Callable[[Rollout, bool], Awaitable[None]],
    ) -> None:
        self.problem = problem
        self.prompt = PromptFacts()
        self.tasks: dict[int, asyncio.Future[Rollout]] = {}
        self.ended_at = time.perf_counter()
        """When the last rollout so far ended."""
        self._bare, self._reward, self._timeout_s = env, reward, timeout_s
        self._tell = tell
        self._results = Results()

    @cached_property
    def _env(self) -> Environment:
        return self._bare.of_group(self.prompt.budget)

    def begin(self, k: int, completion: Completion, known: Rollout | None = None) -> None:
        """Start a rollout, unless that place has one; or go on with one of an earlier run."""
        if k in self.tasks:
            return
        if known is not None:
            self._results.remember(known)
        env: Environment = Billed(self._env, self.problem, k)
        if self._timeout_s is not None:
            env = Deadline(env, self._timeout_s)
        env = OncePerProgram(env, self._results)
        self.tasks[k] = asyncio.ensure_future(self._run(env, k, completion, known))

    async def _run(
        self, env: Environment, k: int, completion: Completion, known: Rollout | None
    ) -> Rollout:
        if known is None:
            begun = written(env, self.problem, k, completion)
            await self._tell(begun, True)  # before anything happens to it: it was paid for
        else:
            begun = Rollout(self.problem.id, k, completion, known.program)
        ended = await rollout(env, self.problem, begun)
        self.ended_at = time.perf_counter()
        await self._tell(ended, ended != known)
        return ended

    def all_tasks(self) -> list[asyncio.Future[Rollout]]:
        return [*self.tasks.values(), *self._results.pending()]

    def group(self, rollouts: Sequence[Rollout]) -> Group:
        """The whole group: rewards compare its rollouts with each other."""
        rewarded = reward_group(rollouts, self._reward, self.prompt.budget)
        return Group(self.problem, rewarded, self.prompt)


class Batch:
    """Groups that are sampled together; each rollout goes on by itself.

        async for event in batch: ...      # as programs are written and rollouts end, until the last
        groups = await batch.groups()      # rewarded

    Args:
        confirmed: a program runs once its event has been handled, by whoever iterates: it was paid for.
    """

    def __init__(
        self,
        problems_P: Sequence[Problem],
        env: Environment,
        reward: RewardOptions,
        samples_per_problem: int,
        *,
        timeout_s: float | None = None,
        confirmed: bool = False,
    ) -> None:
        self._running_P = [
            RunningGroup(problem, env, reward, timeout_s, partial(self._tell, p))
            for p, problem in enumerate(problems_P)
        ]
        self._k, self._confirmed = samples_per_problem, confirmed
        self._events: asyncio.Queue[tuple[RolloutEvent, asyncio.Future[None]] | None]
        self._events = asyncio.Queue()
        self._stream: SampleStream | None = None
        self._writing: asyncio.Future[None] | None = None
        self._running: asyncio.Future[list[Rollout]] | None = None
        self._first_at = math.inf

    async def _tell(self, p: int, one: Rollout, is_new: bool) -> None:
        handled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        event = RolloutEvent(p, self._running_P[p].prompt, one, is_new)
        self._events.put_nowait((event, handled))
        if self._confirmed:
            await handled

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

    def take(self, known: Mapping[tuple[int, int], Kept]) -> None:
        """Go on with what an earlier run left; what had ended first, so that equal programs of the
        group take its result."""
        if known:
            self._first_at = min(self._first_at, time.perf_counter())
        for (p, k), left in sorted(known.items(), key=lambda item: item[1].rollout.verdict is None):
            self._running_P[p].prompt = left.prompt
            self._running_P[p].begin(k, left.rollout.completion, left.rollout)

    async def __aiter__(self) -> AsyncIterator[RolloutEvent]:
        """Events until the last rollout has ended. What ends the run (a spent budget) ends the others
        first, so that none goes on asking servers that are being closed.

        Raises:
            EndpointError: a program could not be written.
        """
        self._running = asyncio.ensure_future(self._all())
        self._running.add_done_callback(lambda _: self._events.put_nowait(None))
        try:
            while (told := await self._events.get()) is not None:
                event, handled = told
                yield event
                if not handled.done():
                    handled.set_result(None)
            await self._running
        except BaseException:
            await self.aclose()
            raise

    async def _all(self) -> list[Rollout]:
        if self._writing is not None:
            await self._writing
        return await asyncio.gather(
            *(group.tasks[k] for group in self._running_P for k in range(self._k))
        )

    async def groups(self) -> list[Group]:
        """All groups, rewarded, when the last rollout has ended; nobody has to have iterated.

        Raises:
            EndpointError: a program could not be written.
        """
        if self._running is None:
            async for _ in self:
                pass
        assert self._running is not None
        ended = await self._running
        return [
            group.group(ended[p * self._k : (p + 1) * self._k])
            for p, group in enumerate(self._running_P)
        ]

    async def aclose(self) -> None:
        if self._writing is not None:
            await cancelled([self._writing])
        if self._stream is not None:
            await self._stream.aclose()
        if self._running is not None:
            await cancelled([self._running])
        await cancelled([task for group in self._running_P for task in group.all_tasks()])
