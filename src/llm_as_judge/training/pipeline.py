"""Steps sampled ahead of the update: programs of later steps run while an earlier one is learned.

Admission rule: step n may be sampled once n - 1 - S updates are done (S = ``training.max_staleness``),
that is, started groups <= (updates done + 1 + S) x groups of a step. It is sampled exactly then, by
the weights of that moment, and steps are learned from in their order, however long their rollouts
take: so a run is as reproducible with S = 1 as with S = 0.

    S = 0   sample 1 | run 1 | update 1 | sample 2 | run 2 | update 2 ...
    S = 1   sample 1, 2 | run 1 | update 1 | sample 3 | update 2 | sample 4 | update 3 ...
                        ( run 2 ...............................) ( run 3 ..............)

What overlaps: running and grading programs with sampling and with updates, and the start of a
step's programs with the writing of its others. Sampling and updates share the policy's weights and
its processor, so they take turns, in the order in which they are asked for: a step has its place in
that line when it is started (``types.PolicySampler``), so nobody waits for it to be written.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from llm_as_judge.rollout import Batch
from llm_as_judge.types import Group, Json


@dataclass(frozen=True, slots=True)
class StartedStep:
    """A step whose programs are being written and run."""

    step: int
    batch: Batch
    cursor: dict[str, Json]
    """State of the problem sampler after this step's problems were drawn."""
    followed: asyncio.Future[None] | None = None
    """Done when all events of the batch have been handled; None: nobody handles them."""

    async def groups(self) -> list[Group]:
        """See :meth:`Batch.groups`; what a handler of events raised is raised here."""
        if self.followed is not None:
            await self.followed
        return await self.batch.groups()

    async def aclose(self) -> None:
        await self.batch.aclose()
        if self.followed is not None:
            self.followed.cancel()
            await asyncio.gather(self.followed, return_exceptions=True)


class Pipeline:
    """Starts steps in order, as far ahead as the admission rule allows.

    Args:
        start: begins to sample one step, and leaves that and its programs running.
        done: updates done so far.
        last: the last step to start.
        staleness: S, at least 0.
    """

    def __init__(
        self,
        start: Callable[[int], Awaitable[StartedStep]],
        *,
        done: int,
        last: int,
        staleness: int,
    ) -> None:
        self._start = start
        self._next = done + 1
        self._last = last
        self._staleness = staleness
        self._ahead: deque[StartedStep] = deque()

    async def next(self, done: int) -> StartedStep:
        """The oldest step not yet learned from, after ``done`` updates; what may start is started."""
        while self._next <= min(done + 1 + self._staleness, self._last):
            self._ahead.append(await self._start(self._next))
            self._next += 1
        return self._ahead.popleft()

    async def aclose(self) -> None:
        """End the rollouts of the steps that were started and not asked for."""
        for started in self._ahead:
            await started.aclose()
