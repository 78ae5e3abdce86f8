"""``llm-as-judge models probe``: what an endpoint can do, found by asking it.

Documents promise; endpoints differ. Each line of the report is an observation, with the requests
that led to it bounded to a few dozen short ones.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import httpx

from llm_as_judge.errors import EndpointError, ModelError
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.refusals import WITHOUT_TEXT, to_do, without_reply
from llm_as_judge.llm.wire import of_tokens
from llm_as_judge.types import ChatReply, ChatRequest, Json, Message, to_json

_SCHEMA = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "blue"]}, "count": {"type": "integer"}},
    "required": ["colour", "count"],
    "additionalProperties": False,
}
_TOKEN_IDS = {"return_token_ids": True, "return_tokens": True}
LIKELIEST = 5
"""Tokens beside each drawn one that are asked for."""
_STORY = ChatRequest(
    (Message("user", "Write one sentence about a ship and a number."),),
    max_tokens=24,
    temperature=1.0,
    seed=1,
)


@dataclass(frozen=True, slots=True)
class Conformance:
    """What was seen. None = could not be found out (the request itself failed)."""

    url: str
    model: str
    served: tuple[str, ...] = ()
    empty_fraction: float = 0.0
    """Replies without text, of ``asked`` single tries."""
    readable: int = 0
    """Replies that could be used, of ``asked``."""
    asked: int = 0
    usage: bool | None = None
    """A reply says the tokens it used."""
    seed: bool | None = None
    """An equal seed gives an equal reply at temperature 1 ..."""
    seeds_differ: bool | None = None
    """... and another seed another one."""
    json_schema: bool | None = None
    logprobs: bool | None = None
    """Of the tokens of a reply ..."""
    top_logprobs: bool | None = None
    """... and of the likeliest ones beside each."""
    token_ids: bool | None = None
    """Sampled token ids are returned (vLLM ``return_token_ids``, llama.cpp ``return_tokens``)."""
    several_draws: bool | None = None
    """One request gives several draws (``n``), and it can be told what they used."""
    best_concurrency: int | None = None
    """Requests at once from which more at once no longer gave a tenth more tokens a second."""
    tokens_per_s: dict[int, float] = field(default_factory=dict)
    """Requests at once -> completion tokens a second of all together."""
    failures: dict[str, int] = field(default_factory=dict)
    """Failed attempts of the probe by kind ..."""
    attempts: int = 0
    """... of so many."""

    @property
    def logprobs_to_write(self) -> str:
        """The key of its entry by which replies are kept with their log-probs; empty: there are none."""
        if not self.logprobs:
            return ""
        return f"; keep them with logprobs: {LIKELIEST if self.top_logprobs else 0} in its entry"

    def as_json(self) -> dict[str, Json]:
        rates = {str(n): round(rate, 1) for n, rate in self.tokens_per_s.items()}
        return {**to_json(self), "tokens_per_s": rates}


async def examine(
    url: str,
    model: str | None = None,
    *,
    api_key: str = "",
    no_proxy: bool | str = False,
    timeout_s: float = 60.0,
    samples: int = 8,
    max_concurrency: int = 16,
    transport: httpx.AsyncBaseTransport | None = None,
    told: Callable[[str], None] = lambda text: None,
) -> Conformance:
    """Ask the endpoint at ``url`` a few dozen short requests.

    Args:
        model: default: the first one served.
        told: called with what is asked next.
    Raises:
        ModelError: not reachable, key refused, model not served, no request answered.
    """
    limits = EndpointLimits(concurrency=max_concurrency, timeout_s=timeout_s, retries=0)

    def client(name: str) -> OpenAIChat:
        return OpenAIChat(
            name, url, api_key=api_key, no_proxy=no_proxy, limits=limits, transport=transport
        )

    async with client(model or "").opened() as first:
        served = await first.served()
        name = model or next(iter(served or ()), "")
        if not name:
            raise ModelError(f"{url}: lists no models; name one with --model")
    async with client(name).opened() as chat:
        await chat.probe()
        told(f"{name}: {samples} short replies")
        good = await _answers(chat, [replace(_STORY, seed=n) for n in range(samples)])
        empty = sum(chat.ledger.failures[kind] for kind in WITHOUT_TEXT)
        told(f"{name}: tokens a second, up to {max_concurrency} requests at once")
        rates = await _throughput(chat, max_concurrency)
        told(f"{name}: seeds, JSON schema, log-probs, several draws")
        logprobs, top_logprobs = await _gives_logprobs(chat)
        return Conformance(
            url=url,
            model=name,
            served=tuple(served or ()),
            empty_fraction=empty / samples,
            readable=len(good),
            asked=samples,
            usage=await _returns(chat, {}, "usage"),
            seed=await _same(chat, [_STORY, _STORY]),
            seeds_differ=len({reply.text for reply in good}) > 1 if len(good) > 1 else None,
            json_schema=await _follows_schema(chat),
            logprobs=logprobs,
            top_logprobs=top_logprobs,
            token_ids=await _returns(chat, _TOKEN_IDS, "token_ids", "tokens"),
            several_draws=(await chat.known_draws()).most > 1,
            best_concurrency=_best(rates),
            tokens_per_s=rates,
            failures=dict(chat.ledger.failures),
            attempts=chat.ledger.total.attempts,
        )


async def _answers(chat: OpenAIChat, requests: list[ChatRequest]) -> list[ChatReply]:
    """
    Raises:
        ModelError: none of them is answered: there is nothing to find out.
    """
    said: list[EndpointError] = []
    replies = await _each(chat, requests, said)
    kinds = chat.ledger.failures
    if len(said) == len(requests) and kinds and all(map(without_reply, kinds)):
        none = f"none of {len(requests)} requests was answered"
        raise ModelError(f"{said[0]}; {': '.join(filter(None, [none, to_do(kinds)]))}")
    return [reply for reply in replies if reply is not None]


async def _each(
    chat: OpenAIChat, requests: list[ChatRequest], failed: list[EndpointError] | None = None
) -> list[ChatReply | None]:
    async def one(request: ChatRequest) -> ChatReply | None:
        try:
            return await chat.chat(request)
        except EndpointError as error:  # counted by kind in the ledger
            if failed is not None:
                failed.append(error)
            return None

    return list(await asyncio.gather(*map(one, requests)))


async def _same(chat: OpenAIChat, requests: list[ChatRequest]) -> bool | None:
    """One after the other, so that no batch of others changes the arithmetic."""
    texts = [reply.text for r in requests for reply in await _each(chat, [r]) if reply is not None]
    return len(set(texts)) == 1 if len(texts) == len(requests) else None


async def _follows_schema(chat: OpenAIChat) -> bool | None:
    asked = Message("user", "Say anything you like about the weather, at length.")
    request = ChatRequest((asked,), max_tokens=200, json_schema=_SCHEMA)
    (reply,) = await _each(chat, [request])
    if reply is None:
        return None
    try:
        data = json.loads(reply.text)
    except (ValueError, RecursionError):
        return False
    return (
        isinstance(data, dict)
        and set(data) == {"colour", "count"}
        and data["colour"] in ("red", "blue")
        and isinstance(data["count"], int)
    )


async def _returns(chat: OpenAIChat, asked: dict[str, bool], *names: str) -> bool | None:
    """Whether the answer has a non-empty field of one of ``names``; None if the request is refused."""
    data = await chat.answer_to(asked)
    if data is None:
        return None
    found = [data, *data["choices"]]
    return any(isinstance(part, dict) and part.get(n) for part in found for n in names)


async def _gives_logprobs(chat: OpenAIChat) -> tuple[bool | None, bool | None]:
    """Of the drawn tokens, and of the likeliest ones; None: a request for them is refused."""
    alone = await chat.answer_to({"logprobs": True})
    likeliest = await chat.answer_to({"logprobs": True, "top_logprobs": LIKELIEST})
    if alone is None:
        return None, None
    found = [
        of_tokens(next(iter((said or {}).get("choices", ())), None)) for said in (alone, likeliest)
    ]
    return found[0] is not None, found[1] is not None and found[1].entropy is not None


async def _throughput(chat: OpenAIChat, most: int) -> dict[int, float]:
    rates: dict[int, float] = {}
    at_once = 1
    while at_once <= most:
        batch = [replace(_STORY, seed=100 * at_once + n, max_tokens=32) for n in range(at_once)]
        started = time.perf_counter()
        replies = await _each(chat, batch)
        seconds = time.perf_counter() - started
        if any(reply is None for reply in replies):
            break
        tokens = sum(reply.usage.completion_tokens for reply in replies if reply is not None)
        rates[at_once] = tokens / seconds
        at_once *= 2
    return rates


def _best(rates: dict[int, float]) -> int | None:
    """The fewest at once that come within a tenth of the best rate; None: no rate is known."""
    if not rates:
        return None
    enough = 0.9 * max(rates.values())
    return min(n for n, rate in rates.items() if rate >= enough)
