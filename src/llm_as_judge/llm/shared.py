"""Draws: which of the replies to one request is meant, and who shares it.

A draw is known by its request, the executor's seed and its index, and by nothing else: who asks is no
part of it. Two programs of a group that ask the same thing (same request, same draw) get the same
words from :class:`SharedDraws`: their rewards differ by what the programs do, not by luck, and the
call is paid once. :class:`OffsetDraws` lets a program see other draws.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.billing import ChatLayer
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.quoting import quoted
from llm_as_judge.types import DEFAULT_EXECUTOR, ChatModel, ChatReply, ChatRequest, to_json

T = TypeVar("T")


def request_digest(model: str, request: ChatRequest) -> str:
    """SHA-256 of everything that decides a reply: model, text, sampling, seed and draw index."""
    # Keys of recordings are made of these three; the last is empty.
    whole = {"model": model, "request": to_json(request), "extra": ""}
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class InFlight(Generic[T]):
    """Runs one task for all who ask for the same key at the same time.

    The task belongs to none of them: one that is cancelled leaves it running for the others, and
    the last to leave ends it.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[T]] = {}
        self._waiting: dict[str, int] = {}

    def has(self, key: str) -> bool:
        return key in self._tasks

    async def run(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.ensure_future(work())
            task.add_done_callback(lambda done: self._finished(key, done))
        self._waiting[key] = self._waiting.get(key, 0) + 1
        try:
            return await asyncio.shield(task)
        finally:
            self._leave(key, task)

    def _leave(self, key: str, task: asyncio.Task[T]) -> None:
        if self._tasks.get(key) is task:
            self._waiting[key] -= 1
            if self._waiting[key] == 0:
                task.cancel()
                self._forget(key)

    def _finished(self, key: str, task: asyncio.Task[T]) -> None:
        if self._tasks.get(key) is task:
            self._forget(key)
        with contextlib.suppress(asyncio.CancelledError):
            task.exception()  # seen by those who wait; nobody may be left

    def _forget(self, key: str) -> None:
        del self._tasks[key]
        del self._waiting[key]


class SharedDraws(ChatLayer):
    """ChatModel that asks ``model`` once for equal requests; make one for each group.

    Later replies are marked ``cached``; their usage is that of the shared reply. A failure is
    shared only with those already waiting for it: the next caller tries again.

    Args:
        ledger: counts the calls saved.
    """

    def __init__(self, model: ChatModel, ledger: Ledger | None = None) -> None:
        super().__init__(model)
        self._ledger = ledger
        self._replies: dict[str, ChatReply] = {}
        self._in_flight: InFlight[ChatReply] = InFlight()

    async def chat(self, request: ChatRequest) -> ChatReply:
        key = request_digest(self.name, request)
        first = key not in self._replies and not self._in_flight.has(key)
        if key not in self._replies:
            self._replies[key] = await self._in_flight.run(key, lambda: self._model.chat(request))
        if first:
            return self._replies[key]
        if self._ledger is not None:
            named = f" {request.executor}" if request.executor else ""
            self._ledger.record_cached(f"executor{named}")
        return replace(self._replies[key], cached=True)


class OffsetDraws(ChatLayer):
    """ChatModel that counts draws from ``offset`` on: a program run with it sees draws ``offset``,
    ``offset + 1`` ... A request at temperature 0 has one reply, whatever the draw: it is left as it is.

    Args:
        offset: 0 or more.
        rotated: which draw that is where a pool's go round (:class:`~llm_as_judge.llm.rounds.Rounds`);
            None = the next one, without end.
    """

    def __init__(
        self,
        model: ChatModel,
        offset: int,
        rotated: Callable[[str, ChatRequest, int], ChatRequest] | None = None,
    ) -> None:
        if offset < 0:
            raise ValueError(f"offset of draws is {offset}, wanted 0 or more")
        super().__init__(model)
        self._offset = offset
        self._rotated = rotated

    async def chat(self, request: ChatRequest) -> ChatReply:
        if request.temperature and self._rotated is not None:
            request = self._rotated(self.name, request, self._offset)
        elif request.temperature:
            request = request.later(self._offset)
        return await self._model.chat(request)


def among_known(name: str, others: Collection[str]) -> str:
    """A name that no executor has, beside those that there are: for messages.

    Args:
        others: names of those beside the default one.
    """
    return f"{quoted(repr(name), 42)} (known: {', '.join((DEFAULT_EXECUTOR, *sorted(others)))})"


class Executors(ChatLayer):
    """ChatModel of all executors of a run; its name is the default one's.

    Args:
        others: by the names that programs call them.
    """

    def __init__(self, default: ChatModel, others: Mapping[str, ChatModel]) -> None:
        super().__init__(default)
        self._others = others

    async def chat(self, request: ChatRequest) -> ChatReply:
        """One reply of the executor that the request names.

        Raises:
            ModelError: there is none of that name.
            EndpointError: from the model.
        """
        if not request.executor:
            return await self._model.chat(request)
        model = self._others.get(request.executor)
        if model is None:
            why = among_known(request.executor, self._others)
            raise ModelError(f"there is no executor {why}; name it under executors")
        return await model.chat(replace(request, executor=""))
