"""Responses that are no reply: what the status, the code and the words of an endpoint's error mean.

Endpoints say the same thing in many ways. A code of ``error.code``, ``error.type``, ``error.status`` or their
like is believed before words are, and a status alone where it leaves no doubt.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from llm_as_judge.errors import ContentFilterError, ContextError, EndpointError
from llm_as_judge.quoting import quoted
from llm_as_judge.types import Usage

OPTIONAL_FIELDS = (
    *("response_format", "seed", "top_p", "temperature", "stop"),
    *("reasoning_effort", "logprobs", "top_logprobs"),
)
"""Fields that some endpoints refuse; such an endpoint gets its requests without them."""
ROLES = "messages with these roles"
"""Stands among refused fields where an endpoint takes no system role, or wants roles that alternate."""

_RETRIED_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
REFUSED_KEY = frozenset({"http_401", "http_403"})
"""Kinds of a :class:`ReplyError` that another key may mend."""
WITHOUT_TEXT = frozenset({"empty", "cut_off"})
"""Kinds by which a model that thinks first answers a short request: the endpoint works."""
_WORDS = {
    "http_429": "HTTP 429, too many requests",
    "quota": "no credit left",
    "timeout": "timeout",
    "empty": "no text in the reply",
    "cut_off": "cut off before its text",
    "too_long": "longer than the context",
    "content_filter": "filtered",
    "bad_json": "reply is no JSON",
    "bad_shape": "reply of another form",
    "connect": "not reachable",
    "dropped": "connection lost",
    "too_large": "reply too large",
    "no_draws": "several draws at once refused",
}
_TO_DO = {
    "http_429": "wait until its limit lets requests through, or take another endpoint",
    "bad_json": "does base_url name an OpenAI-compatible endpoint, ending in /v1?",
    "bad_shape": "does base_url name an OpenAI-compatible endpoint, ending in /v1?",
    "timeout": "give it more time, or see whether it is overloaded",
}
_BUSY_STATUS = frozenset({503, 529})
_LEVELS = 6
_CODES = frozenset({"code", "type", "status", "reason", "error_type", "innererror"})
"""Keys of an error whose texts are codes, or hold some."""

_TOO_LONG_CODES = frozenset(
    {
        *("context_length_exceeded", "string_above_max_length", "request_too_large"),
        *("exceed_context_size_error", "contextwindowexceedederror"),
    }
)
_TOO_LONG = re.compile(
    r"(?i)context (size|length|window)|context_length|too long|too many (input )?tokens"
    r"|reduce the length|`inputs` (tokens )?(must have|\+)|input token count|request too large"
    r"|range of input length|prompt length|input length"
)
_FILTERED_CODES = frozenset(
    {
        *("content_filter", "content_policy_violation", "responsibleaipolicyviolation"),
        *("data_inspection_failed", "datainspectionfailed", "invalid_prompt", "prompt_blocked"),
        *("safety", "prohibited_content", "blocklist", "recitation", "sensitive", "refusal"),
        "moderation_blocked",
    }
)
"""Of errors, and of ``finish_reason``: no further try changes them."""
_FILTERED = re.compile(r"(?i)content (management )?policy|content filter|inappropriate content")
_QUOTA_CODES = frozenset(
    {
        *("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "arrearage"),
        *("exceeded_current_quota_error", "insufficient_balance", "insufficient_credits"),
    }
)
_QUOTA = re.compile(
    r"(?i)insufficient (balance|credit|fund|quota)|credit balance is too low|exceeded your current quota"
    r"|(check|see) your plan and billing"
)
_UNSUPPORTED_CODES = frozenset(
    {"unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"}
)
_UNSUPPORTED = re.compile(
    r"(?i)support|unknown|unrecogni|not permitted|not allowed|extra|deprecated"
)
_ROLES = re.compile(
    r"(?i)system (role|message|prompt|instruction)s?\b.{0,40}(not|n't|un)\W?(support|allow|enabled|accept)"
    r"|role.{0,40}does not support .?system|developer instruction is not enabled"
    r"|roles? must alternate|only user and assistant roles"
)


class ReplyError(Exception):
    """One attempt gave no usable reply.

    ``kind`` is a short name that is counted: ``http_429``, ``timeout``, ``empty``, ``cut_off``,
    ``too_long``, ``content_filter``, ``quota``, ``bad_json``, ``bad_shape``, ``connect``, ``dropped``,
    ``too_large``.
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
        """The request field that the endpoint does not take, where it says so; or :data:`ROLES`."""
        self.untouched = untouched
        """No model began to work on it: it did not arrive, or was turned away at the door."""

    def given_up(self, who: str, remedy: str, tries: int) -> EndpointError:
        """What is raised after the last try.

        Args:
            remedy: empty, or begins with ``;``.
        """
        times = "1 try" if tries == 1 else f"{tries} tries"
        error = {"too_long": ContextError, "content_filter": ContentFilterError}.get(self.kind)
        said = f"{who}: {self.message}{remedy} ({times})"
        return (error or EndpointError)(said)


def refusal(status: int, headers: Mapping[str, str], content: bytes) -> ReplyError:
    """What a response with another status than 200 means."""
    error = _parsed(content)
    said, codes = _message(error, content), frozenset(_codes(error))
    reason = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    if filters(codes) or (status in (400, 422) and _FILTERED.search(said)):
        return ReplyError("content_filter", reason, retry=False, untouched=True)
    if codes & _QUOTA_CODES or status == 402 or (status in (400, 403, 429) and _QUOTA.search(said)):
        return ReplyError(
            "quota",
            f"{reason} (add credit or take another key; more tries do not help)",
            retry=False,
            untouched=True,
        )
    refused = _refused_field(status, said, codes, error)
    worded = status in (400, 422) and _TOO_LONG.search(said)
    if not refused and (codes & _TOO_LONG_CODES or status == 413 or worded):
        return ReplyError("too_long", said or reason, retry=False, untouched=True)
    if status == 404:
        reason += " (does base_url end in /v1, and is model_name served there?)"
    return ReplyError(
        f"http_{status}",
        reason,
        retry=status in _RETRIED_STATUS or status >= 500,
        wait_s=_retry_after(headers.get("retry-after", "")),
        refused_field=refused,
        # Another 5xx, or 408, may come from a gateway whose model had begun, and is paid for.
        untouched=(400 <= status < 500 and status != 408) or status in _BUSY_STATUS,
    )


def in_words(kinds: Mapping[str, int]) -> str:
    """``HTTP 429, too many requests: 12; timeout: 1``"""
    named = sorted(kinds.items(), key=lambda one: -one[1])
    words = ((_WORDS.get(kind, kind.replace("http_", "HTTP ")), n) for kind, n in named if n)
    return "; ".join(f"{word}: {n}" for word, n in words)


def without_reply(kind: str) -> bool:
    """Whether a failure is no reply at all, readable or not."""
    return kind.startswith("http_") or kind in ("quota", "timeout", "connect", "dropped")


def to_do(kinds: Mapping[str, int]) -> str:
    """What a person does about an endpoint that fails mostly by the first of these; empty where the
    endpoint's message says it already."""
    (kind, _), *_ = sorted(kinds.items(), key=lambda one: -one[1]) or [("", 0)]
    if not kind or kind in REFUSED_KEY | {"quota"}:
        return ""
    return _TO_DO.get(kind, "see what the endpoint's log says")


def filters(codes: frozenset[str]) -> bool:
    """Whether one of these says that the request or its reply is filtered, or refused by the model."""
    return bool(codes & _FILTERED_CODES)


def shown(content: bytes) -> str:
    """The beginning of a response, as a message quotes it."""
    return quoted(content.decode(errors="replace"))


def _refused_field(status: int, said: str, codes: frozenset[str], error: Any) -> str:
    if status in (400, 422, 500) and _ROLES.search(said):
        return ROLES
    if status not in (400, 422):
        return ""
    fields = (*OPTIONAL_FIELDS, "max_tokens")
    named = error.get("param") if isinstance(error, dict) else None
    if named in fields and (codes & _UNSUPPORTED_CODES or _UNSUPPORTED.search(said)):
        return str(named)
    if not _UNSUPPORTED.search(said):
        return ""
    return next((name for name in fields if re.search(rf"\b{name}\b", said)), "")


def _parsed(content: bytes) -> Any:
    """The error in a response, out of the objects and the list that hold it; None if it is no JSON."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return None
    for _ in range(_LEVELS):
        if isinstance(data, list) and len(data) == 1:  # Gemini
            data = data[0]
        elif isinstance(data, dict) and isinstance(data.get("error"), (dict, list)):
            data = data["error"]
        else:
            break
    return data


def _message(error: Any, content: bytes) -> str:
    for key in ("error", "message", "detail", "msg"):
        if isinstance(error, dict) and key in error:
            error = error[key]
    return quoted(error) if isinstance(error, str) else shown(content)


def _codes(error: Any, levels: int = _LEVELS) -> Iterator[str]:
    if not isinstance(error, dict) or not levels:
        return
    for key in _CODES & error.keys():
        if isinstance(error[key], str):
            yield error[key].casefold()
        else:
            yield from _codes(error[key], levels - 1)


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
    except (TypeError, ValueError, OverflowError, OSError):  # no date, or one that no clock reaches
        return None
