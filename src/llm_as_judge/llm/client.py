"""A client for any OpenAI-compatible endpoint: executor and judge speak through it.

Whatever happens on the wire ends in one of three ways: a
:class:`ChatReply`, an ``EndpointError`` after the last try, or a ``BudgetError`` before the next.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, replace
from typing import Any

import httpx

from llm_as_judge.config import checked_key
from llm_as_judge.errors import EndpointError, ModelError
from llm_as_judge.llm import connection, wire
from llm_as_judge.llm.billing import Attempt, Role
from llm_as_judge.llm.gathered import DRAWS_PROBE, KnownDraws, probed_draws
from llm_as_judge.llm.ledger import Ledger, Price, prompt_price, worst_case_tokens
from llm_as_judge.llm.refusals import REFUSED_KEY, ReplyError
from llm_as_judge.quoting import quoted, without_known_keys
from llm_as_judge.types import ChatReply, ChatRequest, Message, SharedPrompt, Usage

log = logging.getLogger(__name__)

Revive = Callable[[float], Awaitable[bool]]

_NO_SERVER = ("connect", "dropped")
_REFUSED = ("http_400", "http_422")
_LONGEST_WAIT_S = 60.0
"""An endpoint that asks for a longer pause is taken to be unusable now."""


@dataclass(frozen=True, slots=True)
class EndpointLimits:
    """How an endpoint may be used."""

    concurrency: int = 64
    """Requests in flight at most."""
    timeout_s: float = 120.0
    """Deadline of one attempt, waiting for its turn not included."""
    retries: int = 3
    """Tries after the first."""
    backoff_s: float = 0.5
    """Pause before the second try; doubled for each further one, with jitter."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    thinking_tokens: int = 0
    """Added to every request's ``max_tokens``: a reasoning model thinks before it replies."""
    reasoning_effort: str | None = None
    """Asked of a reasoning model; None = nothing is asked."""
    logprobs: int | None = None
    """Log-probabilities of every reply's tokens are asked for, each with so many of the likeliest; 0 = of
    the drawn ones alone; None = not asked for."""


class OpenAIChat:
    """ChatModel over HTTP.

    Args:
        name: what messages and prices call this model.
        base_url: ends in ``/v1``.
        api_key: sent as bearer token; never logged and never part of a message.
        model_name: what the server calls the model; default ``name``.
        price: None = unknown; costs are then unknown, not zero.
        written_price: of a written token, in those of the default executor.
        no_proxy: hosts asked without a proxy of the environment (:func:`asked_directly`).
        revive: told when an attempt that found no server began (``time.monotonic``); True = one has
            been started since, and the attempt is made anew without counting as a retry.
        key_variable: of the environment, which messages on a refused key name.
        transport: stands in for the network in tests.
    """

    def __init__(
        self,
        name: str,
        base_url: str,
        *,
        api_key: str = "",
        model_name: str | None = None,
        price: Price | None = None,
        written_price: float = 1.0,
        limits: EndpointLimits | None = None,
        no_proxy: bool | str = False,
        ledger: Ledger | None = None,
        role: Role = "executor",
        revive: Revive | None = None,
        key_variable: str = "OPENAI_API_KEY",
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ModelError(f"{role} {name}: base_url is {base_url!r}, wanted http://HOST:PORT/v1")
        self.model_name = model_name or name
        self.price = price
        self.written_price = written_price
        self.limits = limits or EndpointLimits()
        self.ledger = ledger if ledger is not None else Ledger()
        self.left_out: set[str] = set()
        """Request fields that this endpoint turned out not to take."""
        self.name = name
        self._role = role
        self._base_url = base_url.rstrip("/")
        self._connection = connection.Connection(
            api_key=checked_key(api_key, f"{role} {name}: api_key"),
            concurrency=self.limits.concurrency,
            timeout_s=self.limits.timeout_s,
            trust_env=not connection.asked_directly(base_url, no_proxy),
            transport=transport,
        )
        self._revive = revive
        self._closings = 0
        self._key_variable = key_variable
        self._jitter = random.Random(0)
        self._requests = _rate(self.limits.requests_per_minute)
        self._tokens = _rate(self.limits.tokens_per_minute)
        self._known_draws: KnownDraws | None = None
        self._noticed = False

    def __repr__(self) -> str:
        return f"OpenAIChat({self._described()})"

    # ----------------------------------------------------------------------------------- requests
    async def chat(self, request: ChatRequest) -> ChatReply:
        """One reply.

        Raises:
            RefusedRequestError: the request is longer than the model's context, or filtered.
            EndpointError: none usable within the retries and deadlines.
            BudgetError: the next attempt could pass the budget.
        """
        self.ledger.record_call(self._role)
        return (await self._ask(request, 1))[0]

    async def draws(self, request: ChatRequest, wanted: int) -> list[ChatReply]:
        """The draw of ``request`` and those after it, of one request on the wire: its prompt is paid
        for once, and stands in the usage of each. Fewer than ``wanted`` (none, where the endpoint
        takes no ``n``, or none so large) have to be asked for one by one.

        Raises:
            As :meth:`chat`.
        """
        known = await self.known_draws()
        answered = wanted = min(wanted, known.most)
        if wanted < 2:
            return []
        try:
            replies = (await self._ask(request, wanted))[:wanted]
            answered = len(replies)
        finally:
            for _ in range(answered):
                self.ledger.record_call(self._role)
        if not replies:
            known.most = wanted // 2
            most = max(1, known.most)
            log.warning("%s: %d draws refused; at most %d now", self._described(), wanted, most)
        return replies

    async def known_draws(self) -> KnownDraws:
        """What the endpoint does with ``n``; asked once, by a request of a few tokens."""
        self._connection.bind(self._described())
        async with self._connection.probing:
            if self._known_draws is None:
                self._known_draws = probed_draws(await self._probed_for_draws())
        return self._known_draws

    @property
    def _counts_each(self) -> bool:
        return self._known_draws is not None and self._known_draws.count_each

    async def _probed_for_draws(self) -> dict[str, Any] | None:
        """The response to the probe, booked and held to the budget like any request."""
        (message,) = DRAWS_PROBE["messages"]
        asked = ChatRequest((Message(**message),), max_tokens=DRAWS_PROBE["max_tokens"])
        worst = Usage(worst_case_tokens(asked).prompt_tokens, DRAWS_PROBE["n"] * asked.max_tokens)
        async with self._within_budget(worst):
            started = time.perf_counter()
            answer: dict[str, Any] | None = None
            try:
                answer = await self.answer_to(DRAWS_PROBE)
            finally:
                seconds = time.perf_counter() - started
                usage = wire.usage_of(answer.get("usage")) if answer else None
                bound, failure = (worst, "") if answer else (Usage(), "no_draws")
                self._book(Attempt(usage, None, seconds, failure, bound=bound))
        return answer

    async def _ask(self, request: ChatRequest, wanted: int) -> list[ChatReply]:
        """Up to ``wanted`` draws; none, where several were wanted and the endpoint refused them."""
        self._connection.bind(self._described())
        extra_tokens, attempt, closings = self.limits.thinking_tokens, 0, self._closings
        count_each = wanted > 1 and self._counts_each
        for number in itertools.count(1):  # a try that does not count as a retry is one, too
            began = time.monotonic()
            body = wire.request_body(
                request,
                self.model_name,
                extra_tokens=extra_tokens,
                effort=self.limits.reasoning_effort,
                attempt=attempt,
                left_out=tuple(self.left_out),
                draws=wanted,
                count_each=count_each,
                logprobs=self.limits.logprobs,
            )
            try:
                replies, seconds = await self._attempt(request, body, number)
                return [self._reply(request, reply, seconds, number, wanted) for reply in replies]
            except ReplyError as problem:
                if self._closings != closings:  # nobody waits for it
                    raise self._give_up(problem, number) from None
                if self._leave_out(problem, body):
                    continue
                if self._revive and problem.kind in _NO_SERVER and await self._revive(began):
                    continue
                attempt += 1
                if not problem.retry or attempt > self.limits.retries:
                    if wanted > 1 and problem.kind in _REFUSED:
                        break
                    raise self._give_up(problem, number) from None
                if problem.kind == "cut_off":  # as much again, for the thoughts
                    extra_tokens = min(2 * extra_tokens + request.max_tokens, 32_768)
                await self._pause(problem, attempt)
        return []

    async def _attempt(
        self, request: ChatRequest, body: dict[str, Any], number: int
    ) -> tuple[list[wire.WireReply], float]:
        """One request on the wire, booked in the ledger whatever comes of it."""
        wanted = int(body.get("n", 1))
        allowed = body.get("max_tokens") or body.get("max_completion_tokens") or request.max_tokens
        worst = Usage(worst_case_tokens(request).prompt_tokens, wanted * int(allowed))
        for rate, units in ((self._requests, 1.0), (self._tokens, 0.0)):
            if rate is not None:
                await rate.wait(units)
        async with self._connection.turns(wanted), self._within_budget(worst):
            started = time.perf_counter()
            usage: Usage | None = None
            bound, failure = worst, "cancelled"
            try:
                replies, usage = await self._send(body)
                failure = ""
            except ReplyError as problem:
                usage, failure = problem.usage, problem.kind
                if problem.untouched:
                    bound = Usage()
                raise
            finally:
                seconds = time.perf_counter() - started
                self._book(Attempt(usage, None, seconds, failure, number, bound=bound))
        return replies, time.perf_counter() - started

    def _within_budget(self, worst: Usage) -> AbstractAsyncContextManager[None]:
        return self.ledger.within_budget(worst, self.price, self.written_price)

    async def _send(self, body: dict[str, Any]) -> tuple[list[wire.WireReply], Usage | None]:
        http, timeout_s = self._connection.http, self.limits.timeout_s
        response = await connection.post_json(
            http, self._base_url, "/chat/completions", body, timeout_s
        )
        if "n" in body:
            replies, usage = wire.read_draws(*response, count_each=self._counts_each)
        else:
            replies = [wire.read_response(*response)]
            usage = replies[0].usage
        self._notice_model(replies[0].model)
        # replies go to files and programs, and an endpoint may repeat what it was sent
        return [replace(reply, text=without_known_keys(reply.text)) for reply in replies], usage

    def _book(self, attempt: Attempt) -> None:
        counted = attempt.counted
        booked = replace(
            attempt,
            cost_usd=self._dollars(counted),
            prompt_price=prompt_price(self.price),
            written_price=self.written_price,
        )
        self.ledger.record_attempt(self._role, booked)
        if self._tokens is not None:
            self._tokens.spend(counted.prompt_tokens + counted.completion_tokens)

    def _reply(
        self, request: ChatRequest, reply: wire.WireReply, seconds: float, tries: int, wanted: int
    ) -> ChatReply:
        usage = reply.usage
        cost, of_prompt = self._dollars(usage), None
        if wanted > 1:
            alone = usage and replace(usage, completion_tokens=0)
            of_prompt = SharedPrompt(request.draw, self._dollars(alone))
        if usage is None:  # the bill has its bound; an efficiency computed from 0 would be a lie
            usage = wire.estimated_tokens(request, reply.text)
        return ChatReply(
            text=reply.text,
            finish_reason=reply.finish_reason,
            usage=usage,
            cost_usd=cost,
            seconds=seconds,
            attempts=tries,
            shared_prompt=of_prompt,
            first_token=reply.first_token if request.top_logprobs else None,
            logprobs=reply.logprobs if self.limits.logprobs is not None else None,
        )

    def _dollars(self, usage: Usage | None) -> float | None:
        """None: the price or the usage is not known."""
        return self.price.of(usage) if self.price is not None and usage is not None else None

    # ----------------------------------------------------------------------------------- failures
    def _leave_out(self, problem: ReplyError, body: Mapping[str, Any]) -> bool:
        """Whether the request is to be sent again without what was refused: requests that were under way
        when the first refusal came had it too."""
        name = problem.refused_field
        if not name or not wire.sent(body, name):
            return False
        if name not in self.left_out:
            self.left_out.add(name)
            log.warning("%s does not take %s: sent without", self._described(), name)
        return True

    def _notice_model(self, name: str) -> None:
        """Said once: an endpoint may answer with another model than the one that figures are told of."""
        if name and not self._noticed and not wire.same_model(name, self.model_name):
            self._noticed = True
            asked, who = self.model_name, self._described()
            log.warning("%s: asked for %s, and its replies say %s", who, asked, name)

    async def _pause(self, problem: ReplyError, attempt: int) -> None:
        if problem.wait_s is not None:
            pause = problem.wait_s
        else:
            longest = min(self.limits.backoff_s * 2 ** (attempt - 1), _LONGEST_WAIT_S)
            pause = longest * self._jitter.uniform(0.5, 1.0)
        if pause > _LONGEST_WAIT_S:
            said = f"{problem.message}; asks to wait {pause:.0f} s"
            raise self._give_up(ReplyError(problem.kind, said), attempt) from None
        await asyncio.sleep(pause)

    def _give_up(self, problem: ReplyError, tries: int) -> EndpointError:
        key = f"; set {self._key_variable}" if problem.kind in REFUSED_KEY else ""
        return problem.given_up(self._described(), key, tries)

    def _described(self) -> str:
        who = " ".join(filter(None, [self._role, self.name]))  # a list of models has no name
        return f"{who} at {connection.shown_address(self._base_url)}"

    # -------------------------------------------------------------------------------------- probe
    async def probe(self, wait_s: float = 10.0) -> None:
        """Ask once what is served, before a run starts.

        Raises:
            ModelError: not reachable, key refused, or the model is not served (lists what is).
        """
        served = await self.served(wait_s)
        if served is not None and self.model_name not in served:
            there = quoted(", ".join(served), 500) or "none"
            said = f"model {self.model_name!r} is not served (served: {there}); correct model_name"
            raise ModelError(f"{self._described()}: {said}")

    async def served(self, wait_s: float = 10.0) -> list[str] | None:
        """Model ids; None where the server has no list of them.

        Raises:
            ModelError: not reachable, key refused, or no OpenAI-compatible endpoint.
        """
        who = self._described()
        self._connection.bind(who)
        http = self._connection.http
        return await connection.served_models(http, self._base_url, who, wait_s, self._key_variable)

    async def answer_to(self, asked: Mapping[str, Any]) -> dict[str, Any] | None:
        """The response to a one-word request with the extra fields ``asked``: an object with a list
        of choices; None if it is refused."""
        self._connection.bind(self._described())
        request = ChatRequest((Message("user", "Say yes."),), max_tokens=4)
        body = wire.request_body(
            request, self.model_name, extra_tokens=0, attempt=0, left_out=tuple(self.left_out)
        )
        if "max_tokens" in self.left_out:
            names = {"max_tokens": "max_completion_tokens"}
            asked = {names.get(name, name): value for name, value in asked.items()}
        return await connection.answered(self._connection.http, self._base_url, {**body, **asked})

    # ----------------------------------------------------------------------------------- lifetime
    async def aclose(self) -> None:
        """Close what the running loop has opened; a call that is under way is not tried again."""
        self._closings += 1
        await self._connection.aclose()

    def opened(self) -> AbstractAsyncContextManager[OpenAIChat]:
        """``async with chat.opened():`` closes the connections at its end."""
        return aclosing(self)


def _rate(per_minute: float | None) -> connection.RateLimit | None:
    return connection.RateLimit(per_minute) if per_minute is not None else None
