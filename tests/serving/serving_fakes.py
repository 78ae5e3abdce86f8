"""A served workbench: real sandbox, real HTTP, scripted executor."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from llm_as_judge.assembly import Workbench
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.serving.answering import Answerer
from llm_as_judge.serving.app import ServerOptions, make_app
from llm_as_judge.solving.writers import Written
from llm_as_judge.types import Budget, ChatReply, ChatRequest, Problem, Usage
from llm_as_judge.workflow.program import parse_program
from running_app import running

BROKEN = "import os\nos.system('touch /tmp/owned')\n"


class TextWriter:
    """Writes the same text as every program, as the policy would."""

    def __init__(self, text: str, usage: Usage | None = None) -> None:
        self.text = text
        self.usage = usage or Usage()
        self.asked: list[tuple[float | None, int | None]] = []
        self.told: list[Budget | None] = []
        self.budget: Budget | None = None

    async def write(
        self,
        problem: Problem,
        temperature: float | None = None,
        seed: int | None = None,
        budget: Budget | None = None,
    ) -> Written:
        self.asked.append((temperature, seed))
        self.told.append(budget)
        return Written(parse_program(self.text, problem.domain), self.usage)

    async def aclose(self) -> None:
        pass


def echo(request: ChatRequest) -> str:
    """The marks that the request holds, so that a reply shows whose words it saw."""
    marks = re.findall(r"MARK-\d+", "\n".join(m.content for m in request.messages))
    return "saw " + " ".join(sorted(set(marks)))


class GatedChat:
    """Replies when the gate opens; counts who waits and who was sent away."""

    name = "gated"

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.waiting = 0
        self.cancelled = 0

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.waiting += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.waiting -= 1
        return ChatReply("late", "stop", Usage(1, 1))


def scripted(answers: Callable[[ChatRequest], str] = echo) -> ScriptedChat:
    return ScriptedChat(answers)


@asynccontextmanager
async def served(
    bench: Workbench,
    writer: Any,
    options: ServerOptions | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[str]:
    """The address of a running server."""
    app = make_app(Answerer(bench, writer, told), options or ServerOptions())
    async with running(app) as address:
        yield address


async def until(condition: Callable[[], bool], seconds: float = 600.0) -> None:
    """Returns once ``condition`` holds; the deadline only ends a test that has failed."""
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the condition never held")
