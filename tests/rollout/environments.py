"""Environments and samplers of a few lines, for tests of what happens between them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from llm_as_judge.judge.rows import Grader
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.policy.prompt import PolicyPrompt
from llm_as_judge.policy.stream import Stream
from llm_as_judge.reward import RewardOptions
from llm_as_judge.rollout import RolloutRunner
from llm_as_judge.rollout.environment import WorkflowEnvironment
from llm_as_judge.types import (
    ChatModel,
    Completion,
    Execution,
    Group,
    OperatorCall,
    PolicySampler,
    Problem,
    Program,
    Prompt,
    Sample,
    Sampling,
    Verdict,
)
from llm_as_judge.workers import RunSettings
from two_problems import SUM

Run = Callable[[Program, Problem, ChatModel], Awaitable[Execution]]


class FakeWork:
    """``Work`` whose programs do what a function says."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def run(
        self, program: Program, problem: Problem, executor: ChatModel, settings: RunSettings
    ) -> Execution:
        return await self._run(program, problem, executor)


class FakeEnvironment(WorkflowEnvironment):
    """The workflows' own, but that programs are not Python."""

    def parse(self, text: str, problem: Problem) -> Program:
        return _parse(text)


def _parse(text: str) -> Program:
    """What stands before a blank is the program; ``broken`` is none."""
    source = text.split(" ")[0]
    if source == "broken":
        return Program(source, "", hash="same hash")
    return Program(source, source, worst_case_calls=1, hash=source)


def environment(
    run: Run, judge: Grader, executor: ChatModel | None = None, **options: object
) -> FakeEnvironment:
    return FakeEnvironment(
        FakeWork(run),  # type: ignore[arg-type]
        executor or ScriptedChat(),
        judge,
        RunSettings(),
        32,
        **options,  # type: ignore[arg-type]
    )


def written(text: str) -> Completion:
    return Completion((1,), (2, 3), (-1.0, -1.0), text, "stop")


class Sampler:
    """Writes the same texts for every prompt: one at once, the others when it is let, or never."""

    def __init__(self, *texts: str, error: Exception | None = None, held: bool = False) -> None:
        self.texts, self.error = texts, error
        self.seeds: list[int] = []
        self.go_on = asyncio.Event()
        if not held:
            self.go_on.set()

    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> Stream:
        assert sampling.samples == len(self.texts)
        self.seeds.append(sampling.seed)
        stream = Stream()
        stream.follow(self._write(stream, len(prompts_P)))
        return stream

    async def _write(self, stream: Stream, problems: int) -> None:
        stream.put(Sample(0, 0, written(self.texts[0])))
        await self.go_on.wait()
        if self.error:
            raise self.error
        for p in range(problems):
            for k, text in enumerate(self.texts):
                if (p, k) != (0, 0):
                    stream.put(Sample(p, k, written(text)))


class Runs:
    """A program answers with its own text or raises the error that stands for it; ``late`` never ends."""

    def __init__(self, **errors: Exception) -> None:
        self.errors = errors
        self.ran: list[str] = []
        self.cancelled: list[str] = []
        self.late_runs = asyncio.Event()

    async def __call__(self, program: Program, problem: Problem, executor: ChatModel) -> Execution:
        self.ran.append(program.source)
        if program.source in self.errors:
            raise self.errors[program.source]
        if not program.runnable:
            return Execution("rejected", error="no program")
        if program.source == "late":
            self.late_runs.set()
            try:
                await asyncio.sleep(60)
            finally:
                self.cancelled.append(program.source)
        return Execution("ok", program.source, (OperatorCall("Custom", 10, 5, llm_calls=1),))


class GoldJudge:
    """Right is what the problem lists as an answer; for some answers it raises, or, by None, never ends."""

    def __init__(self, **failing: Exception | None) -> None:
        self.failing, self.graded = failing, list[str]()

    async def grade(self, problem: Problem, answer: str) -> Verdict:
        self.graded.append(answer)
        if answer in self.failing:
            error = self.failing[answer]
            if error is not None:
                raise error
            await asyncio.sleep(60)
        return Verdict(answer in problem.answers, "exact", "equal")


def sampling(samples: int) -> Sampling:
    return Sampling(samples, 1.0, 8, seed=0)


def runner(
    prompt: PolicyPrompt,
    sampler: PolicySampler,
    run: Run | None = None,
    judge: Grader | None = None,
    executor: ChatModel | None = None,
    timeout_s: float | None = None,
    **options: object,
) -> RolloutRunner:
    env = environment(run or Runs(), judge or GoldJudge(), executor, **options)
    return RolloutRunner(env, sampler, prompt, RewardOptions(), timeout_s=timeout_s)


async def groups(
    prompt: PolicyPrompt, *texts: str, problems: Sequence[Problem] = (SUM,), **options: Any
) -> list[Group]:
    """What becomes of these texts, each written for every problem."""
    making = runner(prompt, Sampler(*texts), **options)
    return await making.groups(list(problems), sampling(len(texts)))
