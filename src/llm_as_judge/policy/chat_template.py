"""The policy's turn: messages to token ids, sampled ids to a completion, for every sampler alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llm_as_judge.types import Completion, Message, StopReason

REPLY_PREFIX = "```python\n"
"""The assistant turn starts with this text: the policy writes a program from its first token."""
FENCE = "```"
"""Ends it."""


def prompt_ids(
    tokenizer: Any, messages: Sequence[Message], prefix: str = REPLY_PREFIX
) -> list[int]:
    """Token ids of the chat template with the start of the assistant's turn.

    A template that can think (Qwen3) is told not to: it writes an empty ``<think>`` block, and the
    program follows. Other templates do not read ``enable_thinking``.

    Markers of the template that stand in a message (a data row may hold ``<|im_end|>``) are text,
    and begin or end no turn.

    Args:
        prefix: what the assistant's turn begins with.
    """
    markers = _markers(tokenizer)
    text = tokenizer.apply_chat_template(
        [{"role": m.role, "content": _unmarked(m.content, markers)} for m in messages],
        tokenize=False,
        add_generation_prompt=True,
        enable_thinking=False,
    )
    ids: list[int] = tokenizer(text + prefix, add_special_tokens=False)["input_ids"]
    return ids


def completion_of(
    tokenizer: Any,
    prompt: Sequence[int],
    ids: Sequence[int],
    logprobs: Sequence[float],
    stop: StopReason,
    version: int,
) -> Completion:
    """What was sampled; its text is decoded here, whoever sampled it."""
    return Completion(
        prompt_ids=tuple(prompt),
        token_ids=tuple(ids),
        logprobs=tuple(logprobs),
        text=REPLY_PREFIX + tokenizer.decode(list(ids), skip_special_tokens=True),
        stop=stop,
        policy_version=version,
    )


def _markers(tokenizer: Any) -> tuple[str, ...]:
    """Special tokens, and the tags that the template writes or looks for: Qwen3's ``</think>`` is no
    special token, yet its template drops what an assistant's message holds in front of it."""
    template = tokenizer.get_chat_template()
    return tuple(
        token.content
        for token in tokenizer.added_tokens_decoder.values()
        if token.special or (token.content.startswith("<") and token.content in template)
    )


def _unmarked(text: str, markers: Sequence[str]) -> str:
    """``text`` with a zero-width space inside every marker, so that none is read as one."""
    for marker in markers:
        if marker in text:
            text = text.replace(marker, f"{marker[0]}\u200b{marker[1:]}")
    return text
