"""READ THIS FIRST: from one problem to one group of K rollouts.

    prompt -> sample K programs -> parse and check -> run -> grade -> reward

Every step is behind a seam of ``types``, so that the same code serves training and evaluation,
a 135M model on a laptop and a 7B model on a GPU. What a program does wrong becomes the status of
its ``Execution``; what *we* do wrong (endpoint down, sandbox broken) becomes a ``Failure`` of that
one rollout, and its siblings go on.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from llm_as_judge.errors import ContextError, EndpointError, LlmAsJudgeError, SandboxError
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.llm.billing import billed_to
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.llm.shared import SharedDraws
from llm_as_judge.monitoring.hacking import hacking_metrics
from llm_as_judge.policy.prompt import PolicyPrompt
from llm_as_judge.reward import RewardOptions, reward_group
from llm_as_judge.types import (
    ChatModel,
    Completion,
    Execution,
    Failure,
    Group,
    PolicySampler,
    Problem,
    Program,
    Rollout,
    Verdict,
)

T = TypeVar("T")

ParseProgram = Callable[[str, Problem], Program]
"""Text of a reply -> checked program."""
RunProgram = Callable[[Program, Problem, ChatModel], Awaitable[Execution]]
"""Program on its problem, operators answered by the given executor."""


@dataclass(frozen=True, slots=True)
class SamplingOptions:
    temperature: float
    max_new_tokens: int


@dataclass(slots=True)
class StageTimes:
    """Seconds spent waiting for each stage of one call of ``RolloutRunner.groups``."""

    sample_s: float = 0.0
    execute_and_grade_s: float = 0.0


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
    ) -> None:
        """
        Args:
            ledger: counts the calls that shared draws save.
            mark_shared: False while recording or replaying, see :class:`SharedDraws`.
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
        self.times = StageTimes()

    async def groups(
        self,
        problems_P: Sequence[Problem],
        samples_per_problem: int,
        sampling: SamplingOptions,
        *,
        seed: int,
        on_rollout: Callable[[Rollout], None] | None = None,
    ) -> list[Group]:
        """One group for each problem, in the order of the problems.

        Args:
            seed: of sampling; the same seed and weights give the same programs.
            on_rollout: called as each rollout ends, for progress (its reward is not yet set).
        """
        started = time.perf_counter()
        prompts_P = await asyncio.to_thread(self._prompt.write, problems_P)
        completions_P_K = await asyncio.to_thread(
            self._sampler.sample,
            [prompt.messages for prompt in prompts_P],
            samples_per_problem,
            temperature=sampling.temperature,
            max_new_tokens=sampling.max_new_tokens,
            seed=seed,
        )
        sampled = time.perf_counter()
        groups = await together(
            self._group(problem, completions, on_rollout)
            for problem, completions in zip(problems_P, completions_P_K, strict=True)
        )
        self.times = StageTimes(sampled - started, time.perf_counter() - sampled)
        return [replace(g, prompt=p.facts) for g, p in zip(groups, prompts_P, strict=True)]

    async def _group(
        self,
        problem: Problem,
        completions_K: Sequence[Completion],
        on_rollout: Callable[[Rollout], None] | None,
    ) -> Group:
        executor = self._executor
        if self._group_draws == "shared":
            executor = SharedDraws(executor, self._ledger, mark_cached=self._mark_shared)
        results: dict[str, asyncio.Task[Rollout]] = {}

        async def one(index: int, completion: Completion) -> Rollout:
            program = self._parse(completion.text, problem)
            bare = Rollout(problem.id, index, completion, program)
            key = program.hash if program.runnable else f"unrunnable {index}"
            if key not in results:  # equal programs of a group run once
                with billed_to(problem=problem.id, rollout=f"{problem.id}#{index}"):
                    work = self._execute_and_grade(bare, problem, executor)
                    results[key] = asyncio.create_task(work)
            first = await results[key]
            rollout = replace(
                bare, execution=first.execution, verdict=first.verdict, failure=first.failure
            )
            if on_rollout:
                on_rollout(rollout)
            return rollout

        rollouts = await together(one(i, c) for i, c in enumerate(completions_K))
        return Group(problem, reward_group(rollouts, self._reward))

    async def _execute_and_grade(
        self, rollout: Rollout, problem: Problem, executor: ChatModel
    ) -> Rollout:
        try:
            execution = await self._run(rollout.program, problem, executor)
        except ContextError as error:  # the program built a text that is too long
            execution = Execution("crashed", error=str(error))
        except (EndpointError, SandboxError) as error:
            return replace(rollout, failure=_failure("execute", error))
        try:
            verdict = await self._grade(problem, execution)
        except (EndpointError, SandboxError) as error:
            return replace(rollout, execution=execution, failure=_failure("grade", error))
        return replace(rollout, execution=execution, verdict=verdict)

    async def _grade(self, problem: Problem, execution: Execution) -> Verdict:
        if execution.status != "ok":
            return Verdict(False, "execution", execution.status, execution.error)
        return await self._judge.grade(problem, execution.answer)


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Results in order. What ends the run (a spent budget) ends the others first, so that none
    goes on asking servers that are being closed."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _failure(stage: Literal["execute", "grade"], error: LlmAsJudgeError) -> Failure:
    return Failure(stage, type(error).__name__, str(error))


def group_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """What a step's rollouts say: shares in 0..1 of all rollouts unless the name says otherwise.

    ``accuracy*`` is over graded rollouts and comes from verdicts, never from rewards.
    """
    rollouts = [r for g in groups for r in g.rollouts]
    count = len(rollouts)
    if not count:
        return {}
    graded = [r for r in rollouts if r.verdict and r.verdict.correct is not None]
    executed = [r.execution for r in rollouts if r.execution]
    rewards = [r.reward for r in rollouts if r.reward]
    metrics = {
        "rollout/count": float(count),
        "rollout/strictly_valid": sum(r.program.strictly_valid for r in rollouts) / count,
        "rollout/repaired": sum(bool(r.program.repairs) for r in rollouts) / count,
        "rollout/truncated": sum(r.completion.stop == "length" for r in rollouts) / count,
        "rollout/failed": sum(r.failure is not None for r in rollouts) / count,
        "rollout/not_graded": (count - len(graded) - sum(bool(r.failure) for r in rollouts))
        / count,
        "rollout/distinct_programs": _distinct_share(groups),
        "rollout/program_tokens": sum(len(r.completion.token_ids) for r in rollouts) / count,
        "executor/calls": _mean([e.llm_calls for e in executed]),
        "executor/tokens": _mean([e.tokens for e in executed]),
        "executor/shared_calls": _mean([sum(c.cached for c in e.calls) for e in executed]),
        "executor/saved_share": _saved_share(groups),
    }
    metrics.update(prompt_metrics(groups))
    for failure in filter(None, (r.failure for r in rollouts)):
        kind = f"rollout/failed/{failure.stage}_{failure.kind}"
        metrics[kind] = metrics.get(kind, 0.0) + 1 / count
    if graded:
        metrics["accuracy/all"] = _accuracy(graded)
    for status in ("ok", "malformed", "rejected", "timeout", "crashed", "no_answer"):
        metrics[f"execution/{status}"] = sum(e.status == status for e in executed) / count
    for domain in sorted({g.problem.domain for g in groups}):
        ids = {g.problem.id for g in groups if g.problem.domain == domain}
        if of_domain := [r for r in graded if r.problem_id in ids]:
            metrics[f"accuracy/{domain}"] = _accuracy(of_domain)
    if rewards:
        metrics["reward/mean"] = _mean([reward.total for reward in rewards])
        for part in rewards[0].parts:
            metrics[f"reward/{part}"] = _mean([reward.parts[part].score for reward in rewards])
    return {**metrics, **hacking_metrics(groups)}


def prompt_metrics(groups: Sequence[Group]) -> dict[str, float]:
    """What prompts showed, per prompt, and how much of them is computed once.

    ``prompt/shared`` is the share of prompt tokens, counted once for each group, that stand in a
    beginning which another prompt of the step has too and are therefore not computed again.
    """
    prompts = sorted(g.rollouts[0].completion.prompt_ids for g in groups if g.rollouts)
    tokens = sum(map(len, prompts))
    again = sum(_common_beginning(a, b) for a, b in itertools.pairwise(prompts))
    facts = [g.prompt for g in groups]
    return {
        "prompt/tokens": tokens / len(prompts) if prompts else 0.0,
        "prompt/shared": again / tokens if tokens else 0.0,
        "prompt/examples": _mean([f.examples for f in facts]),
        "prompt/retrieved": _mean([len(f.retrieved) for f in facts]),
        "prompt/examples_dropped": _mean([f.examples_dropped for f in facts]),
        "prompt/cut": _mean([float(f.cut_characters > 0) for f in facts]),
        "prompt/cut_characters": _mean([f.cut_characters for f in facts]),
    }


def _common_beginning(left: Sequence[int], right: Sequence[int]) -> int:
    longest = min(len(left), len(right))
    return next((i for i in range(longest) if left[i] != right[i]), longest)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _accuracy(graded: Sequence[Rollout]) -> float:
    return _mean([float(bool(r.verdict and r.verdict.correct)) for r in graded])


def _distinct_share(groups: Sequence[Group]) -> float:
    """Mean over groups of distinct runnable programs / runnable programs."""
    shares = []
    for group in groups:
        hashes = [r.program.hash for r in group.rollouts if r.program.runnable]
        if hashes:
            shares.append(len(set(hashes)) / len(hashes))
    return _mean(shares)


def _saved_share(groups: Sequence[Group]) -> float:
    """Share of the executor calls that all programs made, each on its own, that nobody paid for:
    equal programs ran once, equal calls shared a reply."""
    wanted = paid = 0
    for group in groups:
        ran: set[str] = set()
        for rollout in group.rollouts:
            if rollout.execution is None:
                continue
            wanted += rollout.execution.llm_calls
            if rollout.program.hash not in ran:
                paid += sum(call.llm_calls - call.cached for call in rollout.execution.calls)
            ran.add(rollout.program.hash)
    return 1 - paid / wanted if wanted else 0.0
