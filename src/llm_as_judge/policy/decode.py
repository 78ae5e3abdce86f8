"""KV caches for K completions of a prompt: prefix-shared, with fixed slots (for graphs), and repeated (any model)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from llm_as_judge.policy.copied_prompts import CopiedPrompts
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.shared_prompts import SharedPrompts
from llm_as_judge.policy.slotted_prompts import SlottedPrompts

PLAIN = ("qwen2", "qwen3", "llama")
"""Model types without windows, sinks or caps, whose head is one linear layer."""
MOVING_ROPE = ("dynamic", "longrope")
"""Rotary embeddings that read how long the text is: no graph can."""


class DecodingBatch(Protocol):
    """Rows that are written, those of a prompt one after the other; at first one a prompt."""

    def begin(self, prompts_P: Sequence[Sequence[int]]) -> Tensor:
        """(P, vocabulary) logits of every prompt's first token."""
        ...

    def keep(self, chosen: Sequence[int]) -> None:
        """Only the rows at these positions, in order, go on; one that stands there several times becomes as
        many."""
        ...

    def step(self, tokens_B: Tensor) -> Tensor:
        """(B, vocabulary) logits after one more token of each row."""
        ...


def decoding_batch(policy: Policy, rows: int) -> DecodingBatch:
    """The way that fits the model and the device.

    Args:
        rows: greatest number that a prompt will have.
    """
    config = policy.base.config
    if config.model_type not in PLAIN or policy.sliding_window:
        return CopiedPrompts(policy)
    rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type")
    if policy.device.type == "cuda" and rope not in MOVING_ROPE:
        return SlottedPrompts(policy, rows)
    return SharedPrompts(policy)
