"""Attributes each call to a rollout, operator and role through a context variable.

Hundreds of rollouts run at once; each call is booked for its own rollout and operator,
because a task inherits the scope in which it was started.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from llm_as_judge.types import PROMPT_PRICE, ChatModel, ChatReply, ChatRequest, Usage
from llm_as_judge.types.plain import omit_default

Role = str
"""``executor``, ``executor NAME`` for one beside the default one, or ``judge``."""

_NOTHING = Usage()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request on the wire, as it was booked."""

    usage: Usage | None
    """None: the endpoint did not say what it used."""
    cost_usd: float | None
    """None: the price is not known. Of ``bound`` where ``usage`` is not said."""
    seconds: float
    failure: str = ""
    """Kind of the failure (``http_429``, ``timeout`` ...); empty = a usable reply."""
    number: int = 1
    """1 for the first try of a call, 2 for the second ..."""
    bound: Usage = _NOTHING
    """What it may have used at most, where ``usage`` is not said; nothing, where none was made."""
    prompt_price: float = PROMPT_PRICE
    """Of a prompt token, in tokens that the same model writes."""
    written_price: float = omit_default(1.0)
    """Of a written token, in those of the default executor."""

    @property
    def counted(self) -> Usage:
        """What counts for a budget: its usage or, where that is not known, the bound of it."""
        return self.bound if self.usage is None else self.usage


@dataclass(frozen=True, slots=True)
class Scope:
    """Who a call is made for; empty = nobody in particular."""

    rollout: str = ""
    operator: str = ""
    role: Role | None = None
    """Of the calls inside, whatever the role of the client that makes them."""
    meters: tuple[list[Attempt], ...] = ()
    """Lists that get every attempt made inside."""


_NOBODY = Scope()
_scope: contextvars.ContextVar[Scope] = contextvars.ContextVar("billed_to", default=_NOBODY)

current_scope = _scope.get


@contextmanager
def billed_to(
    *, rollout: str | None = None, operator: str | None = None, role: Role | None = None
) -> Iterator[None]:
    """Calls made inside, also by tasks started inside, belong to this rollout, operator, role.

    What is not given stays as the surrounding block set it.
    """
    given = {"rollout": rollout, "operator": operator, "role": role}
    with _changed(**{key: value for key, value in given.items() if value is not None}):
        yield


@contextmanager
def metered() -> Iterator[list[Attempt]]:
    """A list that fills with the attempts made inside, in the order in which they end."""
    attempts: list[Attempt] = []
    with _changed(meters=(*_scope.get().meters, attempts)):
        yield attempts


@contextmanager
def _changed(**changes: object) -> Iterator[None]:
    token = _scope.set(replace(_scope.get(), **changes))  # type: ignore[arg-type]
    try:
        yield
    finally:
        _scope.reset(token)


class Dollars:
    """What replies cost, as the ledger counts it: the prompt of a request once, however many of its
    draws are given."""

    def __init__(self) -> None:
        self._paid: set[tuple[ChatRequest, int]] = set()

    def of(self, request: ChatRequest, reply: ChatReply) -> float | None:
        """Of a reply that is given now; None = unknown."""
        shared = reply.shared_prompt
        if shared is None or shared.cost_usd is None or reply.cost_usd is None:
            return reply.cost_usd
        prompt = request.later(-request.draw), shared.first_draw
        if prompt in self._paid:
            return reply.cost_usd - shared.cost_usd
        self._paid.add(prompt)
        return reply.cost_usd


class ChatLayer:
    """A ChatModel over another one, whose name it has."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name


class BilledAs(ChatLayer):
    """``model`` with its calls booked under another role: one server as executor and judge."""

    def __init__(self, model: ChatModel, role: Role) -> None:
        super().__init__(model)
        self._role = role

    async def chat(self, request: ChatRequest) -> ChatReply:
        with billed_to(role=self._role):
            return await self._model.chat(request)
