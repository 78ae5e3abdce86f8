"""Environments and samplers of a few lines, for tests of what happens between them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from llm_as_judge.judge.rows import Grader
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.policy.stream import ready
from llm_as_judge.rollout.environment import WorkflowEnvironment
from llm_as_judge.types import (
    ChatModel,
    Completion,
    Execution,
    Problem,
    Program,
    Prompt,
    SampleStream,
    Sampling,
)
from llm_as_judge.workers import RunSettings

Run = Callable[[Program, Problem, ChatModel], Awaitable[Execution]]
Parse = Callable[[str, Problem], Program]


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


class WrittenSampler:
    """Writes the same given texts for every prompt."""

    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.seeds: list[int] = []

    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> SampleStream:
        assert sampling.samples == len(self.texts)
        self.seeds.append(sampling.seed)
        return ready([[written(text) for text in self.texts] for _ in prompts_P])
