"""A ChatModel without a model: tests, dry runs and ``--executor scripted``.

Replies depend on the request alone (draw index included), so a run with it is reproducible byte for
byte. Usage is counted by a simple rule: one token for every four bytes begun, of the text of all
messages and of the reply.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llm_as_judge.errors import EndpointError
from llm_as_judge.llm.billing import Attempt, Role
from llm_as_judge.llm.ledger import Ledger, Price, prompt_price, worst_case_tokens
from llm_as_judge.quoting import quoted
from llm_as_judge.types import ChatReply, ChatRequest, Json, Usage, to_json

Answers = Callable[[ChatRequest], str] | Mapping[str, str] | Sequence[str]
"""A function of the request; a mapping from a piece of text that the last message contains (first
match wins) to the reply; or replies given in turn, after which the script is exhausted."""

_FIELD = re.compile(r"<([a-z_]{1,40})>")
_FUNCTION = re.compile(r"\bdef\s+([A-Za-z_]\w*)\s*\(([^()\n]*)\)")
_CODE_FIELDS = ("code", "program", "function")
_MAX_DEPTH = 8


class ScriptedChat:
    """Answers from ``answers``; without them, well-formed replies made from a hash of the request.

    Args:
        delay_s: how long each reply takes.
        price: as for a real endpoint; None = cost unknown.
        written_price: see :class:`Attempt`.
    """

    def __init__(
        self,
        answers: Answers | None = None,
        *,
        name: str = "scripted",
        delay_s: float = 0.0,
        price: Price | None = None,
        written_price: float = 1.0,
        ledger: Ledger | None = None,
        role: Role = "executor",
    ) -> None:
        self._answers = answers
        self.name = name
        self._delay_s = delay_s
        self._price = price
        self._written_price = written_price
        self.ledger = ledger if ledger is not None else Ledger()
        self._role = role
        self.requests: list[ChatRequest] = []
        """Every request so far, in the order of arrival."""

    async def chat(self, request: ChatRequest) -> ChatReply:
        """One reply.

        Raises:
            BudgetError: the ledger's budget could be passed.
            EndpointError: the mapping has no match, the sequence is exhausted, or the function
                raised it.
        """
        turn = len(self.requests)
        self.requests.append(request)
        self.ledger.record_call(self._role)
        worst = worst_case_tokens(request)
        async with self.ledger.within_budget(worst, self._price, self._written_price):
            await asyncio.sleep(self._delay_s)
            text = self._text(request, turn)
            usage = counted_usage(request, text)
            cost = self._price.of(usage) if self._price is not None else None
            attempt = Attempt(
                usage,
                cost,
                self._delay_s,
                prompt_price=prompt_price(self._price),
                written_price=self._written_price,
            )
            self.ledger.record_attempt(self._role, attempt)
        return ChatReply(text, "stop", usage, cost, seconds=self._delay_s)

    def _text(self, request: ChatRequest, turn: int) -> str:
        answers = self._answers
        if answers is None:
            return well_formed_reply(request)
        if isinstance(answers, Mapping):
            asked = request.messages[-1].content
            for piece, reply in answers.items():
                if piece in asked:
                    return str(reply)
            raise EndpointError(f"{self.name}: the script has no reply for {quoted(asked, 80)!r}")
        if callable(answers):
            return answers(request)
        if turn >= len(answers):
            raise EndpointError(f"{self.name}: the script ends after {len(answers)} replies")
        return answers[turn]


def counted_usage(request: ChatRequest, reply: str) -> Usage:
    """ceil(bytes / 4) of all messages, and of the reply."""
    prompt = sum(len(m.content.encode()) for m in request.messages)
    return Usage(-(-prompt // 4), -(-len(reply.encode()) // 4))


def well_formed_reply(request: ChatRequest) -> str:
    """A reply in the form that the request asks for, its content decided by a hash.

    A JSON schema gets an instance of it; ``<field>`` marks in the prompt get each field filled; a
    prompt with ``def name(...)`` or the word python gets a function in a code block; all else gets
    a sentence and a number. Never right on purpose.
    """
    text = json.dumps(to_json(request), sort_keys=True, ensure_ascii=True)
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    if request.json_schema is not None:
        return json.dumps(_instance(request.json_schema, number))
    asked = "\n".join(m.content for m in request.messages if m.role != "assistant")
    fields = list(dict.fromkeys(_FIELD.findall(asked)))
    if fields:
        return "\n".join(f"<{f}>{_field_text(f, asked, number)}</{f}>" for f in fields)
    if _FUNCTION.search(asked) or "python" in asked.lower():
        return f"```python\n{_function(asked, number)}\n```"
    return f"The answer is {number % 100}."


def _field_text(field: str, asked: str, number: int) -> str:
    if field in _CODE_FIELDS:
        return _function(asked, number)
    if field.endswith(("letter", "choice", "vote")):
        return "ABC"[number % 3]
    if field.endswith(("result", "correct", "verdict")):
        return "true" if number % 2 else "false"
    return str(number % 100)


def _function(asked: str, number: int) -> str:
    """The last function that the prompt names, returning a number."""
    found = _FUNCTION.findall(asked)
    name, parameters = found[-1] if found else ("solve", "")
    return f"def {name}({parameters}):\n    return {number % 100}"


def _instance(schema: Mapping[str, Any], number: int, depth: int = 0) -> Json:
    """A value of a JSON schema, as far as object, array, enum and plain types go."""
    if "const" in schema:
        constant: Json = schema["const"]
        return constant
    if schema.get("enum"):
        choice: Json = schema["enum"][number % len(schema["enum"])]
        return choice
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object" and depth < _MAX_DEPTH:
        return {
            key: _instance(part, number >> 1, depth + 1)
            for key, part in schema.get("properties", {}).items()
        }
    if kind == "array" and depth < _MAX_DEPTH:
        wanted = max(1, int(schema.get("minItems", 1)))
        return [_instance(schema.get("items", {}), number + i, depth + 1) for i in range(wanted)]
    plain: dict[str, Json] = {
        "integer": number % 100,
        "number": number % 100,
        "boolean": bool(number % 2),
        "null": None,
        "object": {},
        "array": [],
    }
    return plain.get(kind, str(number % 100))
