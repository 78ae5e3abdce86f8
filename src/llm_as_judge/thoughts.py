"""Thoughts of a reasoning model, told from its answer: an answer stands behind them, never in them.

A server without a parser for its model sends both as one text. The marks are those that chat templates
write: pairs of tags (DeepSeek-R1, Qwen3, Magistral, EXAONE, Seed-OSS, Kimi, Command A, Sky-T1, Gemma) and
the channels of gpt-oss (https://cookbook.openai.com/articles/openai-harmony).
"""

from __future__ import annotations

import re
from collections.abc import Collection

_NAMES = "think|thinking|thoughts?|thought_process|reasoning|scratchpad"
_TAG = rf"""
    <(?P<end>/?)(?:\w{{1,20}}:)?(?P<name>{_NAMES})(?:\s[^<>]{{0,80}})?>
  | <\|(?P<end2>/?)(?:think|thinking)\|>
  | \[(?P<end3>/?)THINK\]
  | \u25c1(?P<end4>/?)think\u25b7
  | <\|(?:begin|(?P<end5>end))_of_thought\|>
  | <\|(?:START|(?P<end6>END))_THINKING\|>
  | <\|channel>thought | (?P<end7><channel\|>)
"""
_QUOTED = r"""(?<!\w)[rbf]{0,2}(?P<quote>["'`])(?:(?!(?P=quote))[^\n])*(?P=quote)"""
_TAGS = re.compile(rf"{_QUOTED} | (?P<tag>{_TAG})", re.VERBOSE | re.IGNORECASE)
"""A tag within quotes on its line is spoken of, as in ``text.split("</think>")``."""

_CHANNEL = re.compile(
    r"<\|channel\|>\s*(\w*)[^<]{0,200}(?:<\|constrain\|>[^<]{0,200})?<\|message\|>"
)
_UNMARKED = re.compile(r"\s*analysis(?=[A-Z\"'\d])")
"""Channels of gpt-oss whose marks were lost with the special tokens: "analysisWe need ...assistantfinal42"."""
_UNMARKED_FINAL = "assistantfinal"


REPLY_FIELDS = frozenset({"thought"})
"""Tags that prompts of operators ask for."""


def without_thoughts(text: str, *, fields: Collection[str] = ()) -> str:
    """What ``text`` says after its last thought; ``text`` itself where it has none.

    A thought ends at its closing tag, whether or not its opening tag is there: templates write that one
    themselves. One that is never closed leaves no answer. Of channels only the last, final one counts.

    Args:
        text: untrusted, of any length.
        fields: names of tags that the prompt asked for, such as :data:`REPLY_FIELDS`; they are kept.
    """
    if "<|channel|>" in text:
        return _final_channel(text)
    if _UNMARKED.match(text):
        return text.rpartition(_UNMARKED_FINAL)[2].strip() if _UNMARKED_FINAL in text else ""
    found = [
        mark
        for mark in _TAGS.finditer(text)
        if mark["tag"] and (mark["name"] or "").lower() not in fields
    ]
    if not found:
        return text
    return text[found[-1].end() :].strip() if _closes(found[-1]) else ""


def _closes(mark: re.Match[str]) -> bool:
    return any(value for name, value in mark.groupdict().items() if name.startswith("end"))


def _final_channel(text: str) -> str:
    *_, last = [None, *_CHANNEL.finditer(text)]
    if last is None or last[1].lower() != "final" or "<|channel|>" in text[last.end() :]:
        return ""
    return text[last.end() :].strip()
