"""READ THIS FIRST: from one problem to one group of K rollouts.

    prompt -> sample K programs -> parse and check -> run -> grade -> reward

Every step is behind a seam of ``types``, so that the same code serves training and evaluation,
a 135M model on a laptop and a 7B model on a GPU. What a program does wrong becomes the status of
its ``Execution``; what *we* do wrong (endpoint down, sandbox broken) becomes a ``Failure`` of that
one rollout, and its siblings go on.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar

from llm_as_judge.batch import Batch, Keep, ParseProgram, RunningGroup, cancelled
from llm_as_judge.errors import (
    ContextError,
    DeadlineError,
    EndpointError,
    LlmAsJudgeError,
    SandboxError,
)
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.llm.shared import OwnDraws, SharedDraws
from llm_as_judge.policy.prompt import PolicyPrompt
from llm_as_judge.reward import RewardOptions
from llm_as_judge.types import (
    ChatModel,
    Completion,
    Execution,
    Failure,
    Group,
    PolicySampler,
    PolicyTurn,
    Problem,
    Program,
    PromptFacts,
    PublishedPolicy,
    Rollout,
    Sampling,
    Verdict,
)

T = TypeVar("T")

RunProgram = Callable[[Program, Problem, ChatModel], Awaitable[Execution]]
"""Program on its problem, operators answered by the given executor."""
Publish = Callable[[PolicyTurn], Awaitable[PublishedPolicy]]
"""The policy's weights as they are in the given turn, to be sampled from elsewhere."""


class RolloutRunner:
    """Makes groups of scored rollouts."""

    def __init__(
        self,
        *,
        prompt: PolicyPrompt,
        sampler: PolicySampler,
        parse: ParseProgram,
        run: RunProgram,
        executor: ChatModel,
        judge: Judge,
        reward: RewardOptions,
        group_draws: Literal["shared", "independent"] = "shared",
        ledger: Ledger | None = None,
        mark_shared: bool = True,
        rollout_timeout_s: float | None = None,
        on_policy: PolicyTurn = asyncio.to_thread,
        publish: Publish | None = None,
        grammar: Callable[[Problem], str] | None = None,
    ) -> None:
        """
        Args:
            publish: instead of ``sampler``: programs are written elsewhere, beside the update.
            ledger: counts the calls that shared draws save.
            mark_shared: False while recording or replaying, see :class:`SharedDraws`.
            grammar: of the programs that may be written for a problem; None = any text.
            rollout_timeout_s: a rollout that has no verdict so long after its program was written
                is a failure of ours.
        """
        self._prompt = prompt
        self._sampler = sampler
        self._parse = parse
        self._run = run
        self._executor = executor
        self._judge = judge
        self._reward = reward
        self._group_draws = group_draws
        self._ledger = ledger
        self._mark_shared = mark_shared
        self._deadline_s = rollout_timeout_s
        self._on_policy = on_policy
        self._publish = publish
        self._grammar = grammar

    async def groups(
        self,
        problems_P: Sequence[Problem],
        sampling: Sampling,
        *,
        on_rollout: Callable[[Rollout], None] | None = None,
    ) -> list[Group]:
        """One group for each problem, in the order of the problems.

        Args:
            on_rollout: called as each rollout ends, for progress (its reward is not yet set).
        """
        batch = await self.start(problems_P, sampling, on_rollout=on_rollout)
        return await batch.groups()

    async def start(
        self,
        problems_P: Sequence[Problem],
        sampling: Sampling,
        *,
        known: Mapping[tuple[int, int], Rollout] | None = None,
        known_prompts: Mapping[int, PromptFacts] | None = None,
        keep: Keep | None = None,
        on_rollout: Callable[[Rollout], None] | None = None,
    ) -> Batch:
        """Sample; every program runs from the moment it is written. Returns when all are written,
        or, where they are written elsewhere, when that has begun: what still runs goes on until
        :meth:`Batch.groups` or :meth:`Batch.aclose`.

        Args:
            known: by position of problem and sample, what an earlier run left: the program, and
                the execution and verdict if it got so far. They are not paid for again.
            known_prompts: what the prompts of these programs showed.
        """
        batch = Batch(
            [self._running(p, problem, keep, on_rollout) for p, problem in enumerate(problems_P)],
            sampling.samples,
        )
        try:
            batch.prompted(known_prompts or {})
            batch.take(known or {})
            if not batch.written:
                await self._sample(batch, problems_P, sampling)
        except BaseException:
            await batch.aclose()
            raise
        return batch

    async def _sample(
        self, batch: Batch, problems_P: Sequence[Problem], sampling: Sampling
    ) -> None:
        loop = asyncio.get_running_loop()
        # the sampler's thread may have another one, and what runs is billed by the caller's
        context = contextvars.copy_context()

        def written(p: int, index: int, completion: Completion) -> None:  # in the sampler's thread
            loop.call_soon_threadsafe(batch.begin, p, index, completion, context=context)

        prompts_P = await asyncio.to_thread(self._prompt.write, problems_P)
        batch.prompted({p: prompt.facts for p, prompt in enumerate(prompts_P)})
        messages_P = [prompt.messages for prompt in prompts_P]
        if self._publish is not None:
            published = await self._publish(self._on_policy)
            batch.begin_all(published.sample(messages_P, sampling, on_completion=batch.begin))
            return
        completions_P_K = await self._on_policy(
            partial(
                self._sampler.sample,
                messages_P,
                sampling,
                **self._constrained(problems_P),
                on_completion=written,
            )
        )
        for p, completions_K in enumerate(completions_P_K):
            for index, completion in enumerate(completions_K):
                batch.begin(p, index, completion)

    def _constrained(self, problems_P: Sequence[Problem]) -> dict[str, Any]:
        return {"grammars_P": [*map(self._grammar, problems_P)]} if self._grammar else {}

    def _running(
        self,
        p: int,
        problem: Problem,
        keep: Keep | None,
        on_rollout: Callable[[Rollout], None] | None,
    ) -> RunningGroup:
        shared = SharedDraws(self._executor, self._ledger, mark_cached=self._mark_shared)

        async def finish(rollout: Rollout) -> Rollout:
            own = OwnDraws(self._executor, rollout.index)
            executor = shared if self._group_draws == "shared" else own
            return await self._execute_and_grade(rollout, problem, executor)

        return RunningGroup(
            problem,
            parse=self._parse,
            finish=finish,
            reward=self._reward,
            keep=(lambda facts, rollout: keep(p, facts, rollout)) if keep else None,
            on_rollout=on_rollout,
        )

    async def _execute_and_grade(
        self, rollout: Rollout, problem: Problem, executor: ChatModel
    ) -> Rollout:
        """What is not done of it yet, within the deadline."""
        late_at = asyncio.get_running_loop().time() + (self._deadline_s or math.inf)
        execution, verdict = rollout.execution, rollout.verdict
        try:
            if execution is None:
                execution = await self._until(
                    late_at, self._run(rollout.program, problem, executor)
                )
        except ContextError as error:  # the program built a text that is too long
            execution = Execution("crashed", error=str(error))
        except (EndpointError, SandboxError, DeadlineError) as error:
            return replace(rollout, failure=_failure("execute", error))
        try:
            if verdict is None:
                verdict = await self._until(late_at, self._grade(problem, execution))
        except (EndpointError, SandboxError, DeadlineError) as error:
            return replace(rollout, execution=execution, failure=_failure("grade", error))
        return replace(rollout, execution=execution, verdict=verdict)

    async def _until(self, late_at: float, work: Awaitable[T]) -> T:
        """
        Raises:
            DeadlineError: the loop's clock passed ``late_at``; the work has been cancelled.
        """
        task = asyncio.ensure_future(work)
        left = late_at - asyncio.get_running_loop().time()
        try:
            await asyncio.wait({task}, timeout=None if left == math.inf else max(0.0, left))
            if task.done():
                return task.result()
        finally:
            await cancelled([task])
        raise DeadlineError(
            f"no verdict {self._deadline_s:g} s after the program was written, waiting for its "
            "turn included (workflow.rollout_timeout_s)"
        )

    async def _grade(self, problem: Problem, execution: Execution) -> Verdict:
        if execution.status != "ok":
            return Verdict(False, "execution", execution.status, execution.error)
        return await self._judge.grade(problem, execution.answer)


def _failure(stage: Literal["execute", "grade"], error: LlmAsJudgeError) -> Failure:
    return Failure(stage, type(error).__name__, str(error))
