"""Several draws of one prompt in one request: the prompt is worked on, and paid for, once.

A vote asks for its draws at the same time, as calls that differ in nothing but the draw index. They
are gathered for a moment, and neighbors go out as one request with ``n``. A draw is the same reply
either way where the server keeps to seeds: llama.cpp and vLLM seed the draws of a request with its
seed, the next one, and so on. Where an endpoint takes no ``n``, each draw is a request of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from llm_as_judge.llm.billing import ChatLayer
from llm_as_judge.types import ChatModel, ChatReply, ChatRequest

MOST_DRAWS = 8
"""Of one request, unless the configuration says: what one server works at together."""
GATHERING_S = 0.01
"""How long a sampled draw waits for its neighbors; a reply takes a hundred times as long."""

_PROBE_TOKENS = 4
DRAWS_PROBE: Mapping[str, Any] = {
    "messages": [{"role": "user", "content": "Count from one to one hundred, in words."}],
    "n": 2,
    "max_tokens": _PROBE_TOKENS,
    "temperature": 1.0,
}
"""Fields of a request for two draws that are cut off, so that the tokens of both are known."""


@dataclass(slots=True)
class KnownDraws:
    """What an endpoint does with ``n``."""

    most: int
    """Draws of a request; 0: it takes no ``n``."""
    count_each: bool = False
    """Its usage tells the written tokens of the first draw alone (llama.cpp)."""


def probed_draws(response: Mapping[str, Any] | None) -> KnownDraws:
    """What the response to :data:`DRAWS_PROBE` says; one that leaves a doubt says no."""
    if response is None:
        return KnownDraws(0)
    choices, usage = response.get("choices"), response.get("usage")
    if not isinstance(choices, list) or len(choices) != 2 or not isinstance(usage, Mapping):
        return KnownDraws(0)
    cut = all(isinstance(c, Mapping) and c.get("finish_reason") == "length" for c in choices)
    written = usage.get("completion_tokens")
    if written == 2 * _PROBE_TOKENS:
        return KnownDraws(MOST_DRAWS)
    counts_first = cut and written == _PROBE_TOKENS
    return KnownDraws(MOST_DRAWS, count_each=True) if counts_first else KnownDraws(0)


class SeveralDraws(ChatModel, Protocol):
    """A client that can ask for neighboring draws together: ``OpenAIChat``."""

    async def draws(self, request: ChatRequest, wanted: int) -> list[ChatReply]: ...


class GatheredDraws(ChatLayer):
    """ChatModel that asks for draws of one prompt together where they are wanted together.

    Args:
        most: draws of one request, 2 or more.
    """

    _model: SeveralDraws

    def __init__(self, model: SeveralDraws, most: int = MOST_DRAWS) -> None:
        super().__init__(model)
        self._most = most
        self._open: dict[ChatRequest, _Gathering] = {}

    async def chat(self, request: ChatRequest) -> ChatReply:
        """A failure is that of all draws of the request on the wire."""
        if not request.temperature or request.json_schema is not None:
            return await self._model.chat(request)
        first = request.later(-request.draw)
        gathering = self._open.get(first)
        if gathering is None:
            gathering = self._open[first] = _Gathering()
            # The request is billed to whoever asked first: the task takes over that scope.
            gathering.task = asyncio.ensure_future(self._gather(first, gathering))
        if request.draw in gathering.waiting:  # the very same draw twice: not ours to share
            return await self._model.chat(request)
        reply = await gathering.wait_for(request.draw)
        return reply if reply is not None else await self._model.chat(request)

    async def _gather(self, first: ChatRequest, gathering: _Gathering) -> None:
        try:
            await asyncio.sleep(GATHERING_S)
        finally:
            self._open.pop(first, None)
        wanted = sorted(d for d, waiter in gathering.waiting.items() if not waiter.done())
        asking = [self._ask(first, run, gathering) for run in neighbors(wanted, self._most)]
        await asyncio.gather(*asking)

    async def _ask(self, first: ChatRequest, draws: list[int], gathering: _Gathering) -> None:
        """Gives each of these draws its reply, or None: it has to be asked for by itself."""
        outcome: list[ChatReply] | BaseException = []
        if len(draws) > 1:
            asking = self._model.draws(first.later(draws[0]), len(draws))
            (outcome,) = await asyncio.gather(asking, return_exceptions=True)
        for place, draw in enumerate(draws):
            if isinstance(outcome, BaseException):
                gathering.give(draw, outcome)
            else:
                gathering.give(draw, outcome[place] if place < len(outcome) else None)


class _Gathering:
    """Draws of one prompt that are wanted at the same time."""

    def __init__(self) -> None:
        self.waiting: dict[int, asyncio.Future[ChatReply | None]] = {}
        self.task: asyncio.Future[None] | None = None

    async def wait_for(self, draw: int) -> ChatReply | None:
        """None: no other draw came with it, or the request for both did not give it."""
        waiter: asyncio.Future[ChatReply | None] = asyncio.get_running_loop().create_future()
        self.waiting[draw] = waiter
        try:
            return await waiter
        finally:
            left = all(other.done() for other in self.waiting.values())
            if left and waiter.cancelled() and self.task is not None:
                self.task.cancel()  # nobody wants it any more

    def give(self, draw: int, outcome: ChatReply | BaseException | None) -> None:
        waiter = self.waiting[draw]
        if waiter.done():
            return
        if isinstance(outcome, BaseException):
            waiter.set_exception(outcome)
        else:
            waiter.set_result(outcome)


def neighbors(draws: Iterable[int], most: int) -> list[list[int]]:
    """Runs of draws that follow each other, each of at most ``most``.

    Args:
        draws: rising.
    """
    runs: list[list[int]] = []
    for draw in draws:
        if runs and draw == runs[-1][-1] + 1 and len(runs[-1]) < most:
            runs[-1].append(draw)
        else:
            runs.append([draw])
    return runs
