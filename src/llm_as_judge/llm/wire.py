"""The chat-completions protocol: a request as JSON, a response as texts, log-probs and usage or as a failure.

What an endpoint sends is not trusted: every field is checked for its type, and what does not fit
is an :class:`ReplyError` attempt with a kind, never a guess.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from llm_as_judge.llm.refusals import ROLES, ReplyError, filters, refusal, shown
from llm_as_judge.quoting import quoted
from llm_as_judge.thoughts import REPLY_FIELDS, without_thoughts
from llm_as_judge.types import ChatRequest, Message, ReplyLogProbs, Usage

_MAX_SEED = 2**31 - 1
_MOST_TOKENS = 10**9
"""Of one usage: no model reads or writes as many for one request."""
_FINISH_CHARS = 40
_TEXT_PARTS = ("text", "output_text")
_BESIDE_TEXT = frozenset({"role", "content", "refusal"})


@dataclass(frozen=True, slots=True)
class WireReply:
    text: str
    finish_reason: str
    usage: Usage | None
    """None: the endpoint did not say what it used."""
    first_token: Mapping[str, float] | None = None
    """See :attr:`ChatReply.first_token`."""
    logprobs: ReplyLogProbs | None = None
    model: str = ""
    """The model that the endpoint says it is of; empty: it does not say."""


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
    logprobs: int | None = None,
) -> dict[str, Any]:
    """The JSON of one attempt.

    A seed differs by draw, so that equal requests of two draws are two samples, and by attempt, so
    that a second try after an empty reply is not the same empty reply. Servers give the draws of one
    request the seeds from its own on (llama.cpp, vLLM): they are those of ``draws`` requests.

    Args:
        draws: of the prompt, this one and those after it.
        count_each: for a server whose usage tells the first draw's tokens alone (llama.cpp): ask for
            an entry for each token.
        logprobs: see :attr:`EndpointLimits.logprobs`.
    """
    messages = alternating(request.messages) if ROLES in left_out else request.messages
    body: dict[str, Any] = {
        "model": model_name,
        "messages": [{"role": m.role, "content": m.content} for m in messages],
        "max_tokens": request.max_tokens + extra_tokens,
        "temperature": request.temperature,
    }
    if request.top_p != 1.0:
        body["top_p"] = request.top_p
    if request.seed is not None:
        body["seed"] = (request.seed + 7919 * attempt) % _MAX_SEED
    if draws > 1:
        body["n"] = draws
    if logprobs is not None or count_each or request.top_logprobs:
        body["logprobs"] = True
    if likeliest := max(logprobs or 0, int(count_each), request.top_logprobs):
        body["top_logprobs"] = likeliest
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
        if name == "logprobs":  # the other has no meaning without it
            body.pop("top_logprobs", None)
    return body


def alternating(messages: Sequence[Message]) -> list[Message]:
    """The same conversation for a model without a system role, whose roles must alternate: a system text
    begins the user turn that follows it, and neighbors of one role are one turn."""
    found: list[Message] = []
    for message in messages:
        role = "user" if message.role == "system" else message.role
        if found and found[-1].role == role:
            found[-1] = Message(role, f"{found[-1].content}\n\n{message.content}")
        else:
            found.append(Message(role, message.content))
    return found


def sent(body: Mapping[str, Any], name: str) -> bool:
    """Whether the request had what is refused by this name."""
    if name != ROLES:
        return name in body
    messages = [Message(m["role"], m["content"]) for m in body["messages"]]
    return alternating(messages) != messages


def read_response(status: int, headers: Mapping[str, str], content: bytes) -> WireReply:
    """The reply in a response.

    Raises:
        ReplyError: status, JSON, shape or text cannot be used.
    """
    data, usage = _read(status, headers, content)
    return _reply(data, 0, usage, content)


def read_draws(
    status: int, headers: Mapping[str, str], content: bytes, *, count_each: bool = False
) -> tuple[list[WireReply], Usage | None]:
    """The draws in a response up to the first that cannot be used, each with its own usage, and the
    usage of all: the prompt once, and every written token.

    Args:
        count_each: see :func:`request_body`; without an entry for each token the usage is not known.
    Raises:
        ReplyError: the first draw cannot be used, or as :func:`read_response`.
    """
    data, usage = _read(status, headers, content)
    choices = data.get("choices") if isinstance(data, dict) else None
    count = len(choices) if isinstance(choices, list) else 0
    listed = [n for choice in choices or [] if (n := len(_listed(choice)))]
    exact = len(listed) == count and sum(listed) >= (usage.completion_tokens if usage else 0)
    if usage is not None and count_each:
        usage = replace(usage, completion_tokens=sum(listed)) if exact else None
    replies: list[WireReply] = []
    for place in range(max(1, count)):
        try:
            replies.append(_reply(data, place, usage, content))
        except ReplyError:
            if not replies:
                raise
            break
    if usage is None:
        return replies, None
    shares = _shares(usage.completion_tokens, [len(r.text.encode()) for r in replies])
    tokens = listed if exact and sum(listed) == usage.completion_tokens else shares
    return [
        replace(reply, usage=replace(usage, completion_tokens=n))
        for reply, n in zip(replies, tokens, strict=False)
    ], usage


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
        ReplyError: another status than 200, or no JSON.
    """
    if status != 200:
        raise refusal(status, headers, content)
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        raise ReplyError("bad_json", f"response is no JSON: {shown(content)}") from None
    if not isinstance(data, dict):
        return data, None
    error = data.get("error")
    # gateways pass errors on with status 200
    if isinstance(error, dict) and not data.get("choices"):
        code = error.get("code")
        if type(code) is not int or not 400 <= code < 600:
            code = 500
        raise refusal(code, headers, content)
    if isinstance(data.get("choices"), list):
        data = {**data, "choices": _in_order(data["choices"])}
    return data, usage_of(data.get("usage"))


def _in_order(choices: Sequence[Any]) -> list[Any]:
    """The draws of a response by their ``index``, or as they stand where not each has one of its own."""
    found = {c["index"]: c for c in choices if isinstance(c, dict) and type(c.get("index")) is int}
    whole = sorted(found) == list(range(len(choices)))
    return [found[n] for n in range(len(choices))] if whole else list(choices)


def _reply(data: Any, place: int, usage: Usage | None, content: bytes) -> WireReply:
    try:
        choice = data["choices"][place]
        message = choice["message"]
        content_text = _text_of(message.get("content"))
        finish = choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ReplyError(
            "bad_shape", f"response has no choices[0].message: {shown(content)}", usage=usage
        ) from None
    if content_text is None:
        kind = type(message["content"]).__name__
        raise ReplyError("bad_shape", f"content is {kind}, wanted text", usage=usage)
    text = without_thoughts(content_text, fields=REPLY_FIELDS)
    finish = quoted(finish, _FINISH_CHARS) if isinstance(finish, str) else ""
    if not text.strip():
        raise _no_text(finish, usage, message)
    model = data.get("model")
    model = quoted(model) if isinstance(model, str) else ""
    return WireReply(
        text=text.encode(errors="replace").decode(),
        finish_reason=finish,
        usage=usage,
        first_token=of_first_token(choice),
        logprobs=of_tokens(choice),
        model=model,
    )


def same_model(one: str, other: str) -> bool:
    """Whether two names are of one model: a provider's prefix and the date of a version do not count."""
    one, other = (name.casefold().rstrip("/").rpartition("/")[2] for name in (one, other))
    return one.startswith(other) or other.startswith(one)


def _text_of(content: Any) -> str | None:
    """The text of a message: a text, or a list of parts of which those of text count, and not those of a
    thought. None: it has another shape."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return None
    texts = [part.get("text") for part in content if part.get("type", "text") in _TEXT_PARTS]
    return "".join(text for text in texts if isinstance(text, str))


def _no_text(finish: str, usage: Usage | None, message: Mapping[str, Any]) -> ReplyError:
    refused = message.get("refusal")
    if filters(frozenset({finish.casefold()})) or (isinstance(refused, str) and refused.strip()):
        said = quoted(refused) if isinstance(refused, str) else ""
        why = f"the model refuses: {said}" if said else f"filtered (finish_reason {finish})"
        return ReplyError("content_filter", why, retry=False, usage=usage)
    if finish == "length":
        return ReplyError("cut_off", "all tokens were spent before the reply began", usage=usage)
    said = f"empty reply (finish_reason {finish or 'missing'})"
    elsewhere = [key for key in message if key not in _BESIDE_TEXT and message[key]]
    thoughts = [key for key in elsewhere if key.startswith(("reasoning", "thinking"))]
    if thoughts:
        said += (
            f", its text is in {quoted(thoughts[0], _FINISH_CHARS)!r}: set reasoning_effort of the "
            "endpoint, or check the server's reasoning parser"
        )
    elif elsewhere:
        said += f", its message has {quoted(elsewhere[0], _FINISH_CHARS)!r} instead"
    return ReplyError("empty", said, usage=usage)


def usage_of(data: object) -> Usage | None:
    """What the field ``usage`` of a response says; None: nothing that can be a count."""
    if not isinstance(data, dict):
        return None
    prompt, completion = data.get("prompt_tokens"), data.get("completion_tokens")
    if not (_is_count(prompt) and _is_count(completion)) or not prompt:
        return None  # there is always a prompt: a server that counts nothing says 0
    details = data.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(prompt, completion, cached if _is_count(cached) and cached <= prompt else 0)


def estimated_tokens(request: ChatRequest, reply: str) -> Usage:
    """About four bytes a token, for endpoints that do not say."""
    prompt = sum(len(m.content.encode()) for m in request.messages)
    return Usage(max(1, prompt // 4), max(1, len(reply.encode()) // 4))


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= _MOST_TOKENS


_LEAST = -1e6
_ROUNDING = 1e-3
"""Above 0, and of a sum above 1: what single precision makes of them."""
_DIGITS = 5


def of_tokens(choice: Any) -> ReplyLogProbs | None:
    """Of all listed tokens; None: none is listed, or one of them without its log-probability."""
    listed = _listed(choice)
    drawn = [_logprob(token) for token in listed]
    values = [value for value in drawn if value is not None]
    if not listed or len(values) < len(listed):
        return None
    entropies = [_entropy(token.get("top_logprobs")) for token in listed]
    known = [value for value in entropies if value is not None]
    whole = len(known) == len(listed)
    return ReplyLogProbs(
        tokens=len(listed),
        mean=round(sum(values) / len(values), _DIGITS),
        entropy=round(sum(known) / len(known), _DIGITS) if whole else None,
    )


def of_first_token(choice: Any) -> Mapping[str, float] | None:
    """Of the likeliest first tokens; None: the choice lists none."""
    first = next(iter(_listed(choice)), {})
    likeliest = first.get("top_logprobs")
    if not isinstance(likeliest, list) or not all(isinstance(one, Mapping) for one in likeliest):
        return None
    found = {
        one.get("token"): _logprob(one) for one in likeliest if isinstance(one.get("token"), str)
    }
    return {token: value for token, value in found.items() if value is not None} or None


def _listed(choice: Any) -> Sequence[Mapping[str, Any]]:
    logprobs = choice.get("logprobs") if isinstance(choice, Mapping) else None
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(content, list) or not all(isinstance(token, Mapping) for token in content):
        return ()
    return content


def _logprob(token: Any) -> float | None:
    value = token.get("logprob") if isinstance(token, Mapping) else None
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return min(float(value), 0.0) if _LEAST < value <= _ROUNDING else None


def _entropy(likeliest: Any) -> float | None:
    """Nats; what is not listed counts as one token more. None: two or more are not listed."""
    if not isinstance(likeliest, list) or len(likeliest) < 2:
        return None
    values = [_logprob(one) for one in likeliest]
    shares = [math.exp(value) for value in values if value is not None]
    if len(shares) < len(values) or sum(shares) > 1 + _ROUNDING:
        return None
    rest = 1 - sum(shares)
    return -sum(share * math.log(share) for share in (*shares, rest) if share > 0)
