"""The chat-completions protocol: a request as JSON, a response as texts and usage or as a failure.

What an endpoint sends is not trusted: every field is checked for its type, and what does not fit
is an :class:`Unusable` attempt with a kind, never a guess.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any

from llm_as_judge.quoting import quoted
from llm_as_judge.thoughts import REPLY_FIELDS, without_thoughts
from llm_as_judge.types import ChatRequest, Usage

OPTIONAL_FIELDS = (
    *("response_format", "seed", "top_p", "temperature", "stop"),
    "reasoning_effort",
)
"""Fields that some endpoints refuse; such an endpoint gets its requests without them."""

_RETRIED_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_BUSY_STATUS = frozenset({503, 529})
_TEXT_PARTS = frozenset({"text", "output_text"})
_THOUGHT_FIELDS = ("reasoning", "reasoning_content")
_MAX_SEED = 2**31 - 1
_TOO_LONG = re.compile(r"(?i)context (size|length|window)|context_length|too long|too many tokens")


class Unusable(Exception):  # noqa: N818  an outcome of one attempt, handled by the client
    """One attempt gave no usable reply.

    ``kind`` is a short name that is counted: ``http_429``, ``timeout``, ``empty``, ``cut_off``,
    ``too_long``, ``bad_json``, ``bad_shape``, ``connect``, ``dropped``, ``too_large``.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retry: bool = True,
        wait_s: float | None = None,
        usage: Usage | None = None,
        refused_field: str = "",
        untouched: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry = retry
        self.wait_s = wait_s
        """How long the endpoint asks to wait (Retry-After)."""
        self.usage = usage
        self.refused_field = refused_field
        """The request field that the endpoint does not take, where it says so."""
        self.untouched = untouched
        """No model began to work on it: it did not arrive, or was turned away at the door."""


@dataclass(frozen=True, slots=True)
class WireReply:
    text: str
    finish_reason: str
    usage: Usage | None
    """None: the endpoint did not say what it used."""
    first_token: Mapping[str, float] | None = None
    """See :attr:`ChatReply.first_token`."""


def request_body(
    request: ChatRequest,
    model_name: str,
    *,
    extra_tokens: int,
    attempt: int,
    effort: str | None = None,
    left_out: Collection[str],
    draws: int = 1,
    count_each: bool = False,
) -> dict[str, Any]:
    """The JSON of one attempt.

    A seed differs by draw, so that equal requests of two draws are two samples, and by attempt, so
    that a second try after an empty reply is not the same empty reply. Servers give the draws of one
    request the seeds from its own on (llama.cpp, vLLM): they are those of ``draws`` requests.

    Args:
        draws: of the prompt, this one and those after it.
        count_each: for a server whose usage tells the first draw's tokens alone (llama.cpp): ask for
            an entry for each token.
    """
    body: dict[str, Any] = {
        "model": model_name,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        "max_tokens": request.max_tokens + extra_tokens,
        "temperature": request.temperature,
    }
    if request.top_p != 1.0:
        body["top_p"] = request.top_p
    if request.seed is not None:
        body["seed"] = (request.seed + 7919 * attempt) % _MAX_SEED
    if draws > 1:
        body["n"] = draws
        if count_each:
            body |= {"logprobs": True, "top_logprobs": 1}
    if request.top_logprobs:
        body |= {"logprobs": True, "top_logprobs": request.top_logprobs}
    if effort is not None:
        body["reasoning_effort"] = effort
    if request.stop:
        body["stop"] = list(request.stop)
    if request.json_schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": dict(request.json_schema), "strict": True},
        }
    for name in left_out:
        if name == "max_tokens":  # newer reasoning endpoints know only the other name
            body["max_completion_tokens"] = body.pop("max_tokens")
        else:
            body.pop(name, None)
    return body


def read_response(
    status: int, headers: Mapping[str, str], content: bytes, *, first_token: bool = False
) -> WireReply:
    """The reply in a response.

    Args:
        first_token: with the likeliest first tokens, where it has them.
    Raises:
        Unusable: status, JSON, shape or text cannot be used.
    """
    data, usage = _read(status, headers, content)
    reply = _reply(data, 0, usage, content)
    return replace(reply, first_token=_first_token(data["choices"][0])) if first_token else reply


def _first_token(choice: Any) -> Mapping[str, float] | None:
    """None: the choice does not list any."""
    try:
        listed = choice["logprobs"]["content"][0]["top_logprobs"]
        said = [(one["token"], one["logprob"]) for one in listed]
    except (KeyError, IndexError, TypeError):
        return None
    return {
        token: float(value)
        for token, value in said
        if isinstance(token, str)
        and isinstance(value, (int, float))
        and not isinstance(value, bool)
        and -math.inf < value <= 0
    } or None


def read_draws(
    status: int, headers: Mapping[str, str], content: bytes, *, count_each: bool = False
) -> tuple[list[WireReply], Usage | None]:
    """The draws in a response up to the first that cannot be used, each with its own usage, and the
    usage of all: the prompt once, and every written token.

    Args:
        count_each: see :func:`request_body`.
    Raises:
        Unusable: the first draw cannot be used, or as :func:`read_response`.
    """
    data, usage = _read(status, headers, content)
    choices = data.get("choices") if isinstance(data, dict) else None
    count = len(choices) if isinstance(choices, list) else 0
    written = [_tokens_listed(choice) for choice in choices or []] if count_each else []
    if usage is not None and count_each:
        whole = all(n is not None for n in written)
        usage = replace(usage, completion_tokens=sum(n or 0 for n in written)) if whole else None
    replies: list[WireReply] = []
    for place in range(max(1, count)):
        try:
            replies.append(_reply(data, place, usage, content))
        except Unusable:
            if not replies:
                raise
            break
    if usage is None:
        return replies, None
    shares = _shares(usage.completion_tokens, [len(r.text.encode()) for r in replies])
    tokens = [n or 0 for n in written] if written else shares
    return [
        replace(reply, usage=replace(usage, completion_tokens=n))
        for reply, n in zip(replies, tokens, strict=False)
    ], usage


def _tokens_listed(choice: object) -> int | None:
    try:
        return len(choice["logprobs"]["content"])  # type: ignore[index]
    except (KeyError, TypeError):
        return None


def _shares(total: int, sizes: Sequence[int]) -> list[int]:
    """``total`` in whole parts like ``sizes``: endpoints tell the tokens of all draws together."""
    whole, given, parts, seen = max(1, sum(sizes)), 0, [], 0
    for size in sizes:
        seen += size
        parts.append(total * seen // whole - given)
        given += parts[-1]
    return parts


def _read(status: int, headers: Mapping[str, str], content: bytes) -> tuple[Any, Usage | None]:
    """The JSON of a response, and its usage.

    Raises:
        Unusable: another status than 200, or no JSON.
    """
    if status != 200:
        raise refusal(status, headers, content)
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise Unusable("bad_json", f"response is no JSON: {_shown(content)}") from None
    return data, _usage(data.get("usage")) if isinstance(data, dict) else None


def _reply(data: Any, place: int, usage: Usage | None, content: bytes) -> WireReply:
    try:
        choice = data["choices"][place]
        message = choice["message"]
        content_text = _text_of(message.get("content"))
        finish = choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise Unusable(
            "bad_shape", f"response has no choices[0].message: {_shown(content)}", usage=usage
        ) from None
    if content_text is None:
        kind = type(message["content"]).__name__
        raise Unusable("bad_shape", f"content is {kind}, wanted text", usage=usage)
    text = without_thoughts(content_text, fields=REPLY_FIELDS)
    finish = quoted(finish, 40) if isinstance(finish, str) else ""
    if not text.strip():
        raise _no_text(finish, usage, message)
    return WireReply(text, finish, usage)


def _text_of(content: Any) -> str | None:
    """The text of a message: a text, or a list of parts of which those of text count, and not those of a
    thought. None: it has another shape."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return None
    texts = [part.get("text") for part in content if part.get("type") in _TEXT_PARTS]
    return "".join(texts) if all(isinstance(text, str) for text in texts) else None


def _no_text(finish: str, usage: Usage | None, message: Mapping[str, Any]) -> Unusable:
    if finish == "length":
        return Unusable("cut_off", "all tokens were spent before the reply began", usage=usage)
    said = f"empty reply (finish_reason {finish or 'missing'})"
    elsewhere = [name for name in _THOUGHT_FIELDS if message.get(name)]
    if elsewhere:
        said += f", its text is in {elsewhere[0]!r}: check the server's reasoning parser"
    return Unusable("empty", said, usage=usage)


def refusal(status: int, headers: Mapping[str, str], content: bytes) -> Unusable:
    """What a response with another status than 200 means."""
    said = _error_message(content)
    if status in (400, 413, 422) and _TOO_LONG.search(said):
        return Unusable("too_long", said, retry=False, untouched=True)
    refused = ""
    if status in (400, 422):
        refused = next((f for f in (*OPTIONAL_FIELDS, "max_tokens") if _names(said, f)), "")
    reason = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    if status == 404:
        reason += " (does base_url end in /v1, and is model_name served there?)"
    return Unusable(
        f"http_{status}",
        reason,
        retry=status in _RETRIED_STATUS or status >= 500,
        wait_s=_retry_after(headers.get("retry-after", "")),
        refused_field=refused,
        # Another 5xx, or 408, may come from a gateway whose model had begun, and is paid for.
        untouched=(400 <= status < 500 and status != 408) or status in _BUSY_STATUS,
    )


def _names(said: str, name: str) -> bool:
    unsupported = re.search(r"(?i)support|unknown|unrecogni|not permitted|not allowed|extra", said)
    return bool(unsupported and re.search(rf"\b{name}\b", said))


def _error_message(content: bytes) -> str:
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return _shown(content)
    for key in ("error", "message", "detail"):
        if isinstance(data, dict) and key in data:
            data = data[key]
    return quoted(data) if isinstance(data, str) else _shown(content)


def _shown(content: bytes) -> str:
    return quoted(content.decode(errors="replace"))


def _usage(data: object) -> Usage | None:
    if not isinstance(data, dict):
        return None
    prompt, completion = data.get("prompt_tokens"), data.get("completion_tokens")
    for count in (prompt, completion):
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            return None
    assert isinstance(prompt, int)
    assert isinstance(completion, int)
    if not prompt:  # there is always one: a server that counts nothing says 0
        return None
    details = data.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    if not isinstance(cached, int) or isinstance(cached, bool) or not 0 < cached <= prompt:
        cached = 0
    return Usage(prompt, completion, cached)


def _retry_after(value: str) -> float | None:
    """Seconds of a Retry-After header: a number, or a date."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
