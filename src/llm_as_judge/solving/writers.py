"""Program writers for requests: the policy, requests of the same moment in one batch, or a file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from llm_as_judge.assembly import Workbench, open_system, open_workbench
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, DataError
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
from llm_as_judge.workflow.program import form_of, parse_program

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

    def __init__(self, path: Path, bench: Workbench) -> None:
        """
        Raises:
            DataError: the file cannot be read.
        """
        try:
            self._text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: cannot be read: {error}") from None
        self._max_calls = bench.config.workflow.max_worst_case_calls
        self._executors = bench.config.executors

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


@dataclass(slots=True)
class _Waiting:
    prompt: Prompt
    key: tuple[float, int]
    done: asyncio.Future[Completion]


class PolicyWriter:
    """The policy; one batch at a time, made of all requests that wait when it starts.

    A draw depends on seed and prompt alone, not on who else is in the batch.
    """

    def __init__(self, sampler: PolicySampler, prompt: PolicyPrompt, bench: Workbench) -> None:
        self._sampler = sampler
        self._prompt = prompt
        self._bench = bench
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
        config = self._bench.config
        key = (
            config.evaluation.temperature if temperature is None else temperature,
            config.training.seed if seed is None else seed,
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
        program = await asyncio.to_thread(self._bench.parse, completion.text, problem)
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
            sampling = Sampling(1, key[0], self._bench.config.sampling.max_new_tokens, key[1])
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


UNTRAINED = "untrained"


@asynccontextmanager
async def open_writer(
    config: Config, policy: str
) -> AsyncIterator[tuple[Workbench, ProgramWriter]]:
    """Executor, judge and sandbox, and who writes the programs.

    Args:
        policy: ``untrained``, a checkpoint folder, or a program file (``.py``, in either form); only
            the first two load a policy.
    Raises:
        ConfigError: ``policy`` is none of these.
        UserError: a model or file is missing.
    """
    path = Path(policy)
    if path.suffix == ".py" and path.is_file():
        async with open_workbench(config) as bench:
            yield bench, FileWriter(path, bench)
        return
    if policy != UNTRAINED and not path.is_dir():
        found = "no such file or folder" if not path.exists() else "no Python file"
        raise ConfigError(
            f"--policy {policy}: {found}; wanted untrained, a checkpoint folder or a program file (.py)"
        )
    async with open_system(config, adapter=None if policy == UNTRAINED else path) as system:
        writer = PolicyWriter(system.sampler, system.prompt, system.bench)
        try:
            yield system.bench, writer
        finally:
            await writer.aclose()
