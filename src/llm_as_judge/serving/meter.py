"""An executor that belongs to one request: it counts, and stops at the request's limits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from llm_as_judge.errors import LlmAsJudgeError
from llm_as_judge.llm.billing import Dollars
from llm_as_judge.serving.requests import RequestLimits
from llm_as_judge.types import ChatModel, ChatReply, ChatRequest, Usage


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

    @property
    def usage(self) -> Usage:
        return Usage(self.prompt_tokens, self.completion_tokens)

    def add(self, request: ChatRequest, reply: ChatReply) -> None:
        self.prompt_tokens += reply.usage.prompt_tokens
        self.completion_tokens += reply.usage.completion_tokens
        cost = self.dollars.of(request, reply)
        known = self.cost_usd is not None and cost is not None
        self.cost_usd = (self.cost_usd or 0.0) + (cost or 0.0) if known else None


class MeteredChat:
    """ChatModel for one request.

    A call is started while calls and tokens so far are below the limits, and its reply is cut to the
    tokens that are left; so the sum may pass the limit by one prompt for each call in flight.
    """

    def __init__(
        self, model: ChatModel, limits: RequestLimits, spent: Spent, reply_tokens: int | None = None
    ) -> None:
        self._model = model
        self._limits = limits
        self._spent = spent
        self._reply_tokens = reply_tokens

    @property
    def name(self) -> str:
        return self._model.name

    async def chat(self, request: ChatRequest) -> ChatReply:
        """
        Raises:
            LimitReachedError: nothing was sent.
            EndpointError: from the model.
        """
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
