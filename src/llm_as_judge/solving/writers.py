"""Program writers for requests: the policy, requests of the same moment in one batch, or a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from llm_as_judge.policy.prompt import PolicyPrompt
from llm_as_judge.types import (
    Budget,
    Completion,
    Message,
    PolicySampler,
    Problem,
    Program,
    Prompt,
    Sampling,
    Usage,
)
from llm_as_judge.workflow.program import form_of, parse_program, text_of_file

BATCH = 16


@dataclass(frozen=True, slots=True)
class Written:
    """A checked program, and what writing it used."""

    program: Program
    usage: Usage
    prompt: tuple[Message, ...] = ()
    reply: str = ""


class ProgramWriter(Protocol):
    @property
    def budget(self) -> Budget | None:
        """That is told for a problem for which none is said; None: none is ever told."""
        ...

    async def write(
        self,
        problem: Problem,
        temperature: float | None = None,
        seed: int | None = None,
        budget: Budget | None = None,
    ) -> Written: ...

    async def aclose(self) -> None: ...


class FileWriter:
    """The same program for every problem, read once."""

    budget: Budget | None = None

    def __init__(self, path: Path, max_calls: int, executors: Collection[str] = ()) -> None:
        """
        Args:
            max_calls: executor calls of a run in the worst case.
            executors: names of those beside the default one.
        Raises:
            DataError: the file cannot be read.
        """
        self._text = text_of_file(path)
        self._max_calls = max_calls
        self._executors = executors

    async def write(
        self,
        problem: Problem,
        temperature: float | None = None,
        seed: int | None = None,
        budget: Budget | None = None,
    ) -> Written:
        program = parse_program(
            self._text,
            problem.domain,
            form_of(self._text),
            max_calls=self._max_calls,
            executors=self._executors,
        )
        return Written(program, Usage())

    async def aclose(self) -> None:
        pass


@dataclass(frozen=True, slots=True)
class WritingOptions:
    """How the policy writes for a request that says nothing of it."""

    temperature: float
    seed: int
    max_new_tokens: int


@dataclass(slots=True)
class _Waiting:
    prompt: Prompt
    key: tuple[float, int]
    done: asyncio.Future[Completion]


class PolicyWriter:
    """The policy; one batch at a time, made of all requests that wait when it starts.

    A draw depends on seed and prompt alone, not on who else is in the batch.

    Args:
        parse: the checked program of a reply.
    """

    def __init__(
        self,
        sampler: PolicySampler,
        prompt: PolicyPrompt,
        parse: Callable[[str, Problem], Program],
        options: WritingOptions,
    ) -> None:
        self._sampler = sampler
        self._prompt = prompt
        self._parse = parse
        self._options = options
        self._queue: list[_Waiting] = []
        self._work: asyncio.Task[None] | None = None

    @property
    def budget(self) -> Budget | None:
        return self._prompt.budget

    async def write(
        self,
        problem: Problem,
        temperature: float | None = None,
        seed: int | None = None,
        budget: Budget | None = None,
    ) -> Written:
        options = self._options
        key = (
            options.temperature if temperature is None else temperature,
            options.seed if seed is None else seed,
        )
        # may search the experience buffer
        (prompt,) = await asyncio.to_thread(self._prompt.write, [problem], [budget or self.budget])
        waiting = _Waiting(prompt, key, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._sample_all())
        try:
            completion = await waiting.done
        finally:
            if waiting in self._queue:  # its client has gone before its turn
                self._queue.remove(waiting)
        program = await asyncio.to_thread(self._parse, completion.text, problem)
        usage = Usage(len(completion.prompt_ids), len(completion.token_ids))
        return Written(program, usage, tuple(prompt.messages), completion.text)

    async def aclose(self) -> None:
        """Waits for the batch that is being sampled: a thread cannot be stopped."""
        if self._work is not None:
            await asyncio.gather(self._work, return_exceptions=True)

    async def _sample_all(self) -> None:
        while self._queue:
            key = self._queue[0].key
            batch = [waiting for waiting in self._queue if waiting.key == key][:BATCH]
            for waiting in batch:
                self._queue.remove(waiting)
            sampling = Sampling(1, key[0], self._options.max_new_tokens, key[1])
            try:
                stream = await self._sampler.sample([one.prompt for one in batch], sampling)
                async with aclosing(stream):
                    async for p, _, completion in stream:
                        if not batch[p].done.done():
                            batch[p].done.set_result(completion)
            except Exception as error:  # noqa: BLE001 (handed to each request that waits for it)
                for waiting in batch:
                    if not waiting.done.done():
                        waiting.done.set_exception(error)
