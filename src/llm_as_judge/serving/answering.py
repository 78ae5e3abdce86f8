"""One request from question to answer: a program is written, and runs within the limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from llm_as_judge.assembly import Workbench
from llm_as_judge.errors import LlmAsJudgeError
from llm_as_judge.llm.billing import ChatLayer, Dollars
from llm_as_judge.serving.requests import Ask, RequestError, RequestLimits
from llm_as_judge.solving.writers import ProgramWriter, Written
from llm_as_judge.types import (
    Budget,
    ChatModel,
    ChatReply,
    ChatRequest,
    Execution,
    Json,
    Program,
    Usage,
)


class LimitReachedError(LlmAsJudgeError):
    """A request's program wanted more calls or tokens than the request may use."""


@dataclass(slots=True)
class Spent:
    """What one request's executor calls used."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    """None as soon as one call's price is unknown."""
    dollars: Dollars = field(default_factory=Dollars)

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def add(self, request: ChatRequest, reply: ChatReply) -> None:
        self.prompt_tokens += reply.usage.prompt_tokens
        self.completion_tokens += reply.usage.completion_tokens
        cost = self.dollars.of(request, reply)
        known = self.cost_usd is not None and cost is not None
        self.cost_usd = (self.cost_usd or 0.0) + (cost or 0.0) if known else None


class MeteredChat(ChatLayer):
    """ChatModel for one request.

    A call is started while calls and tokens so far are below the limits, and its reply is cut to the
    tokens that are left; so the sum may pass the limit by one prompt for each call in flight.
    """

    def __init__(
        self, model: ChatModel, limits: RequestLimits, spent: Spent, reply_tokens: int | None = None
    ) -> None:
        super().__init__(model)
        self._limits = limits
        self._spent = spent
        self._reply_tokens = reply_tokens

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Raises ``LimitReachedError`` where nothing was sent, else as the model does."""
        limits, spent = self._limits, self._spent
        if spent.calls >= limits.calls:
            raise LimitReachedError(f"{limits.calls} calls are used")
        left = limits.tokens - spent.tokens
        if left <= 0:
            raise LimitReachedError(f"{spent.tokens} of {limits.tokens} tokens are used")
        most = min(request.max_tokens, left, self._reply_tokens or request.max_tokens)
        spent.calls += 1
        asked = replace(request, max_tokens=most)
        reply = await self._model.chat(asked)
        spent.add(asked, reply)
        return reply


OnProgram = Callable[[Program], None]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client gets."""

    text: str
    written: Written
    spent: Spent
    seconds: float

    @property
    def usage(self) -> Usage:
        """Of everything inside: the policy's prompt and program, and all executor calls."""
        writing = self.written.usage
        return Usage(
            writing.prompt_tokens + self.spent.prompt_tokens,
            writing.completion_tokens + self.spent.completion_tokens,
        )

    def described(self, ask: Ask) -> dict[str, Json]:
        """The extra field ``workflow`` of a response."""
        program, writing = self.written.program, self.written.usage
        return {
            "domain": ask.problem.domain,
            "budget": ask.budget,
            "program": program.source,
            "operators": list(program.operators),
            "findings": [f"{d.code} line {d.line}: {d.message}" for d in program.diagnostics],
            "calls": self.spent.calls,
            "policy_tokens": writing.prompt_tokens + writing.completion_tokens,
            "executor_tokens": self.spent.tokens,
            "cost_usd": None if self.spent.cost_usd is None else round(self.spent.cost_usd, 9),
            "seconds": round(self.seconds, 3),
        }


class Answerer:
    """Answers requests; one for a server, shared by all of them, with nothing of any of them in it.

    Args:
        told: told a line of each request that ended, with no text of it.
    """

    def __init__(
        self, bench: Workbench, writer: ProgramWriter, told: Callable[[str], None] = lambda _: None
    ) -> None:
        self._bench = bench
        self._writer = writer
        self._told = told

    @property
    def budget(self) -> Budget | None:
        """Of a request that names none; None: none is told."""
        return self._writer.budget

    async def answer(self, ask: Ask, on_program: OnProgram | None = None) -> Answer:
        """
        Args:
            on_program: called when the program is written, for a client that streams.
        Raises:
            RequestError: 422 the program gave no answer, or wanted more than the request's limits.
            EndpointError, SandboxError: ours.
        """
        started, spent, ended = time.monotonic(), Spent(), "no answer"
        try:
            written = await self._writer.write(ask.problem, ask.temperature, ask.seed, ask.budget)
            if on_program is not None:
                on_program(written.program)
            execution = await self._run(written.program, ask, spent)
            if execution.status != "ok":
                raise _no_answer(execution.status, execution.error)
            took, ended = time.monotonic() - started, "answered"
            return Answer(cut(execution.answer, ask.stop), written, spent, took)
        finally:
            calls = "1 call" if spent.calls == 1 else f"{spent.calls} calls"
            used = f"{calls}, {spent.tokens} tokens, {time.monotonic() - started:.1f} s"
            self._told(f"{ended}  {ask.problem.domain}  {used}")

    async def _run(self, program: Program, ask: Ask, spent: Spent) -> Execution:
        chat = MeteredChat(self._bench.executor, ask.limits, spent, ask.reply_tokens)
        running = self._bench.run(program, ask.problem, chat)
        try:
            return await asyncio.wait_for(running, ask.limits.seconds)
        except asyncio.TimeoutError:
            raise _no_answer("timeout", f"{ask.limits.seconds:g} s are over") from None
        except LimitReachedError as error:
            raise _no_answer("limit", str(error)) from None


def _no_answer(status: str, reason: str) -> RequestError:
    what = ": ".join(filter(None, (status, reason)))
    return RequestError(422, f"the program gave no answer: {what}", "no_answer")


def cut(text: str, stop: tuple[str, ...]) -> str:
    """``text`` before the first of the stop texts."""
    places = [place for piece in stop if (place := text.find(piece)) >= 0]
    return text[: min(places)] if places else text
