"""Outcomes of calls, their form as lines of text (what a pool exports, and takes in), and how a pool
compresses its texts.

A line is found by its key, a SHA-256, and carries a digest of its content; nothing is pickled or evaluated.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm_as_judge.errors import ContentFilterError, ContextError, EndpointError
from llm_as_judge.llm.billing import Attempt
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


COMMON = (
    b'{"attempts":[{"bound":{"cached_tokens":0,"completion_tokens":384,"prompt_tokens":512},"cost_usd":0.0,'
    b'"failure":"","number":1,"prompt_price":0.25,"seconds":2.1,"usage":{"cached_tokens":0,"completion_tokens":'
    b'96,"prompt_tokens":128}}],"completions":null,"error":"","execution":null,"reply":{"attempts":1,"cached":'
    b'false,"cost_usd":0.0,"finish_reason":"stop","seconds":2.1,"text":"The answer is","usage":{"cached_tokens"'
    b':0,"completion_tokens":96,"prompt_tokens":128}},"too_long":false}{"model":"","request":{"draw":0,"json_'
    b'schema":null,"max_tokens":384,"messages":[{"content":"","role":"user"}],"seed":0,"stop":[],'
    b'"temperature":0.7,"top_p":1.0}}'
)
"""What most texts have in common; each file has the one that it was made with."""


class Texts:
    """Compresses against what the texts of a file have in common.

    Args:
        common: at most 32 KiB, the same for writing and reading.
    """

    def __init__(self, common: bytes) -> None:
        self._common = common

    def beside(self, prompt: bytes) -> Texts:
        """For replies to ``prompt`` whose file does not hold it: what they repeat of it is kept as a
        place in the prompt, and only who has the prompt can read them."""
        return Texts(self._common + prompt)

    def packed(self, text: bytes) -> bytes:
        """Compressed."""
        compressor = zlib.compressobj(6, zdict=self._common)
        return compressor.compress(text) + compressor.flush()

    def unpacked(self, packed: bytes) -> bytes:
        """
        Raises:
            zlib.error: it is no text of this file.
        """
        return zlib.decompressobj(zdict=self._common).decompress(packed)


def first_draw(asked: Any) -> tuple[Any, int]:
    """What was asked, as its draw 0 was, and the draw."""
    request = asked.get("request") if isinstance(asked, Mapping) else None
    if not isinstance(request, Mapping):
        return asked, 0
    draw, seed = int(request["draw"]), request["seed"]
    first = {**request, "draw": 0, "seed": None if seed is None else seed - draw}
    return {**asked, "request": first}, draw


def canonical(value: Any) -> bytes:
    """JSON in one form."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def sha256(data: bytes) -> bytes:
    """32 bytes."""
    return hashlib.sha256(data).digest()


def row_digest(key: str, packed: bytes) -> bytes:
    """Of a reply under its key: a changed byte, or another row's reply, is noticed."""
    return sha256(bytes.fromhex(key) + packed)[:8]
