"""The policy's turn: messages to token ids, sampled ids to a completion, for every sampler alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.wire import alternating
from llm_as_judge.quoting import quoted
from llm_as_judge.types import Completion, Message, StopReason

REPLY_PREFIX = "```python\n"
"""The assistant turn starts with this text: the policy writes a program from its first token."""
FENCE = "```"
"""Ends it."""
_TEMPLATE_ERRORS = (
    *(TemplateError, ArithmeticError, AttributeError, LookupError),
    *(RecursionError, TypeError, ValueError),
)
"""What a template, which is a program of the model's maker, may end in."""


def prompt_ids(tokenizer: Any, messages: Sequence[Message]) -> list[int]:
    """Token ids of the chat template with the start of the assistant's turn.

    A template that can think (Qwen3) is told not to: it writes an empty ``<think>`` block, and the
    program follows. Other templates do not read ``enable_thinking``.

    Markers of the template that stand in a message (a data row may hold ``<|im_end|>``) are text,
    and begin or end no turn.

    A template that refuses or drops a system message, or wants roles that alternate, is given the system
    text in front of the user's.

    Raises:
        ModelError: there is no template, or it renders neither form of the conversation.
    """
    markers = _markers(tokenizer)
    unmarked = [Message(m.role, _unmarked(m.content, markers)) for m in messages]
    try:
        text = _rendered(tokenizer, unmarked)
        whole = all(m.content.strip() in text for m in unmarked if m.role == "system")
    except _TEMPLATE_ERRORS:
        whole = False
    if not whole:
        try:
            text = _rendered(tokenizer, alternating(unmarked))
        except _TEMPLATE_ERRORS as error:
            raise ModelError(
                f"{_where(tokenizer)}: its chat template cannot be used: {quoted(str(error))}; wanted one "
                "that renders turns of user and assistant as texts"
            ) from None
    ids: list[int] = tokenizer(text + REPLY_PREFIX, add_special_tokens=False)["input_ids"]
    return ids


def require_chat_template(tokenizer: Any) -> None:
    """
    Raises:
        ModelError: the policy's turn cannot be written with the tokenizer's chat template.
    """
    asked = [Message("system", "Write programs."), Message("user", "Problem: 6 * 7?")]
    text = tokenizer.decode(prompt_ids(tokenizer, asked))
    if "6" not in text:
        raise ModelError(f"{_where(tokenizer)}: its chat template drops the user's text")


def _rendered(tokenizer: Any, messages: Sequence[Message]) -> str:
    text: str = tokenizer.apply_chat_template(
        [{"role": m.role, "content": m.content} for m in messages],
        tokenize=False,
        add_generation_prompt=True,
        enable_thinking=False,
    )
    return text


def _where(tokenizer: Any) -> str:
    return str(tokenizer.name_or_path or "tokenizer")


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
    try:
        template = tokenizer.get_chat_template()
    except ValueError:  # transformers' text of several lines
        raise ModelError(
            f"{_where(tokenizer)}: has no chat template (chat_template.jinja, or chat_template in "
            "tokenizer_config.json); take the model's instruct or chat variant, or put a template there"
        ) from None
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
