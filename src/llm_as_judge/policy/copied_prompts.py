"""Repeated KV cache: the cache of transformers for each row, for every model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from llm_as_judge.policy.attention import common_prefix
from llm_as_judge.policy.model import Policy


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
