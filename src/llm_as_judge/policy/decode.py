"""KV caches for K completions of a prompt: prefix-shared, with fixed slots (for graphs), and repeated (any model)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import DynamicCache

from llm_as_judge.policy.attention import common_prefix
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


class CopiedPrompts:
    """The cache of transformers, [common | left padding | rest of the prompt | written] a row."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._cache: Any = DynamicCache()
        self._mask = torch.empty(0)
        self._positions_B = torch.empty(0)

    def begin(self, prompts_P: Sequence[Sequence[int]]) -> Tensor:
        device, model = self._policy.device, self._policy.model
        shared = common_prefix(prompts_P)
        if shared:
            # Only the cache is wanted: the inner model spares the vocabulary-wide head.
            self._policy.base.model(
                input_ids=torch.tensor([prompts_P[0][:shared]], device=device),
                past_key_values=self._cache,
                use_cache=True,
            )
            self._cache.batch_repeat_interleave(len(prompts_P))
        rests = [prompt[shared:] for prompt in prompts_P]
        longest = max(len(rest) for rest in rests)
        padded = torch.zeros(len(rests), longest, dtype=torch.long, device=device)
        mask = torch.ones(len(rests), shared + longest, dtype=torch.long, device=device)
        positions = torch.zeros_like(padded)
        for p, rest in enumerate(rests):
            pad = longest - len(rest)
            padded[p, pad:] = torch.tensor(rest, device=device)
            mask[p, shared : shared + pad] = 0
            positions[p, pad:] = torch.arange(shared, shared + len(rest), device=device)
        out = model(
            input_ids=padded,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        self._mask = mask
        self._positions_B = torch.tensor([len(prompt) for prompt in prompts_P], device=device)
        logits_P: Tensor = out.logits[:, -1]
        return logits_P

    def keep(self, chosen: Sequence[int]) -> None:
        index = torch.tensor(chosen, device=self._policy.device)
        self._cache.batch_select_indices(index)
        self._mask, self._positions_B = self._mask[index], self._positions_B[index]

    def step(self, tokens_B: Tensor) -> Tensor:
        self._mask = torch.cat([self._mask, self._mask.new_ones(len(tokens_B), 1)], dim=1)
        out = self._policy.model(
            input_ids=tokens_B[:, None],
            attention_mask=self._mask,
            position_ids=self._positions_B[:, None],
            past_key_values=self._cache,
            use_cache=True,
        )
        self._positions_B = self._positions_B + 1
        logits_B: Tensor = out.logits[:, -1]
        return logits_B


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
