"""Outcomes of calls, and their form as lines of text: what a pool exports, and what it takes in.

A line is found by its key, a SHA-256, and carries a digest of its content; nothing is pickled or evaluated.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from llm_as_judge.errors import ContentFilterError, ContextError, EndpointError
from llm_as_judge.llm.billing import Attempt
from llm_as_judge.llm.pool_texts import canonical
from llm_as_judge.types import ChatReply, Completion, Execution, from_json, to_json
from llm_as_judge.types.plain import omit_default


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: a reply, or the failure after all tries; or a run cut off in time; or
    what the policy wrote for a prompt."""

    reply: ChatReply | None = None
    execution: Execution | None = None
    completions: tuple[Completion, ...] | None = None
    error: str = ""
    too_long: bool = False
    filtered: bool = omit_default(False)
    attempts: tuple[Attempt, ...] = ()
    """What it was billed for: a replay books the same."""

    def give(self) -> ChatReply:
        if self.reply is None:
            if self.filtered:
                raise ContentFilterError(self.error)
            raise (ContextError if self.too_long else EndpointError)(self.error)
        return self.reply


def line_of(key: str, asked: Any, outcome: Outcome) -> bytes:
    """One outcome as a line; equal for equal content."""
    content = {"asked": to_json(asked), "outcome": to_json(outcome)}
    text = canonical({"content": content, "digest": _digest(content)})
    return b'{"key":"' + key.encode() + b'",' + text[1:] + b"\n"


def read_line(line: bytes) -> tuple[str, Any, Outcome]:
    """(key, what was asked, outcome) of a line.

    Raises:
        ValueError, TypeError, KeyError: it is damaged.
    """
    data = json.loads(line)
    content = data["content"]
    if _digest(content) != data["digest"]:
        raise ValueError("its digest does not fit")
    return data["key"], content["asked"], from_json(Outcome, content["outcome"])


def _digest(content: Any) -> str:
    return hashlib.sha256(canonical(content)).hexdigest()[:16]
