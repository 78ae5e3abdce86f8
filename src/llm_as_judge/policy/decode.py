"""What rows that are being written remember of their prompts: two ways to the same logits.

``SharedPrompts`` holds the keys and values of a prompt once for all its rows, and each row's own in a
buffer of its own: a step reads the prompt's once, as one matrix product over all rows of the prompt, and
copies nothing. The prompts themselves go through the model as one packed row, what they have in common
once. For the families whose attention is plain (``PLAIN``).

``CopiedPrompts`` repeats the cache of transformers for each row. For every other model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from transformers import AttentionInterface, DynamicCache

from llm_as_judge.policy.attention import (
    AttentionPlan,
    Node,
    attention_named,
    common_prefix,
    plan_attention,
    prompt_tree,
    shared_prefix_attention,
)
from llm_as_judge.policy.model import Policy

PLAIN = ("qwen2", "qwen3", "llama")
"""Model types without windows, sinks or caps, whose head is one linear layer."""
SHARED = "shared_prompts"
FIRST_BUFFER = 32


class DecodingBatch(Protocol):
    """P * K rows, those of a prompt one after the other."""

    def begin(self, prompts_P: Sequence[Sequence[int]], k: int) -> Tensor:
        """(P * K, vocabulary) logits of every row's first token."""
        ...

    def keep(self, chosen: Tensor) -> None:
        """Only the rows at these positions, in order, go on."""
        ...

    def step(self, tokens_B: Tensor) -> Tensor:
        """(B, vocabulary) logits after one more token of each row."""
        ...


def decoding_batch(policy: Policy) -> DecodingBatch:
    """The way that fits the model."""
    plain = policy.base.config.model_type in PLAIN and not policy.sliding_window
    return SharedPrompts(policy) if plain else CopiedPrompts(policy)


# ----------------------------------------------------------------------------------------- shared
@dataclass(slots=True)
class _Prompt:
    """Keys and values of one prompt, layer by layer: (key heads, tokens, head size)."""

    keys: list[Tensor]
    values: list[Tensor]
    rows: int


class _Own:
    """Keys and values that rows have written in one layer, in a buffer that doubles when full."""

    def __init__(self, key: Tensor) -> None:
        """
        Args:
            key: (B, key heads, 1, head size), for its shape and type.
        """
        self.keys = self._empty(key, FIRST_BUFFER)
        self.values = self._empty(key, FIRST_BUFFER)
        self.count = 0

    @staticmethod
    def _empty(like: Tensor, tokens: int) -> Tensor:
        return like.new_empty(like.shape[0], like.shape[1], tokens, like.shape[3])

    def add(self, key: Tensor, value: Tensor) -> None:
        if self.count == self.keys.shape[2]:
            for name in ("keys", "values"):
                old = getattr(self, name)
                new = self._empty(old, 2 * self.count)
                new[:, :, : self.count] = old
                setattr(self, name, new)
        self.keys[:, :, self.count] = key[:, :, 0]
        self.values[:, :, self.count] = value[:, :, 0]
        self.count += 1

    def keep(self, chosen: Tensor) -> None:
        self.keys, self.values = self.keys[chosen], self.values[chosen]


class SharedPrompts:
    """Each prompt's keys and values once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._base = policy.base
        self._prompts: list[_Prompt] = []
        self._own: list[_Own] = []
        self._plan: AttentionPlan | None = None
        """While the prompts are computed."""
        self._leaves: list[Node] = []
        self._positions_B = torch.empty(0)

    def begin(self, prompts_P: Sequence[Sequence[int]], k: int) -> Tensor:
        device = self._policy.device
        tree = prompt_tree(prompts_P)
        self._leaves = [tree.nodes[leaf] for leaf in tree.leaf_of_P]
        self._plan = plan_attention(tree.nodes, device)
        self._prompts = [_Prompt([], [], k) for _ in prompts_P]
        hidden = self._forward(
            torch.tensor([tree.ids_N], device=device),
            torch.tensor([tree.positions_N], device=device),
        )
        self._plan = None
        ends = [leaf.stop for leaf in self._leaves]
        lengths_P = torch.tensor([len(prompt) for prompt in prompts_P], device=device)
        self._positions_B = lengths_P.repeat_interleave(k)
        last_P = hidden[0, torch.tensor(ends, device=device) - 1]
        logits_P: Tensor = self._base.lm_head(last_P)
        return logits_P.repeat_interleave(k, 0)

    def keep(self, chosen: Tensor) -> None:
        owners = [p for p, prompt in enumerate(self._prompts) for _ in range(prompt.rows)]
        left = [owners[i] for i in chosen.tolist()]
        for p, prompt in enumerate(self._prompts):
            prompt.rows = left.count(p)
        self._prompts = [prompt for prompt in self._prompts if prompt.rows]
        self._positions_B = self._positions_B[chosen]
        for own in self._own:
            own.keep(chosen)

    def step(self, tokens_B: Tensor) -> Tensor:
        hidden = self._forward(tokens_B[:, None], self._positions_B[:, None])
        self._positions_B = self._positions_B + 1
        logits_B: Tensor = self._base.lm_head(hidden[:, -1])
        return logits_B

    def _forward(self, ids: Tensor, positions: Tensor) -> Tensor:
        with attention_named(self._base, SHARED):
            hidden: Tensor = self._base.model(
                input_ids=ids,
                position_ids=positions,
                attention_mask=None,
                use_cache=False,
                rows=self,
            ).last_hidden_state
        return hidden

    def attend(
        self, module: Any, query: Tensor, key: Tensor, value: Tensor, scaling: float | None
    ) -> Tensor:
        """Attention of one layer; what it needs later is kept.

        Args:
            query: (B, heads, N, head size): one packed row of the prompts, or a token of each row.
        Returns:
            (B, N, heads, head size).
        """
        layer = module.layer_idx
        if self._plan is not None:
            for prompt, node in zip(self._prompts, self._leaves, strict=True):
                prompt.keys.append(torch.cat([key[0, :, a:b] for a, b in node.spans], dim=1))
                prompt.values.append(torch.cat([value[0, :, a:b] for a, b in node.spans], dim=1))
            out, _ = shared_prefix_attention(
                module, query, key, value, None, scaling=scaling, plan=self._plan
            )
            return out
        if layer == len(self._own):
            self._own.append(_Own(key))
        own = self._own[layer]
        own.add(key, value)
        outputs, start = [], 0
        for prompt in self._prompts:
            rows = slice(start, start + prompt.rows)
            outputs.append(
                _one_token(
                    query[rows] * (scaling or query.shape[-1] ** -0.5),
                    (prompt.keys[layer], prompt.values[layer]),
                    (own.keys[rows, :, : own.count], own.values[rows, :, : own.count]),
                )
            )
            start += prompt.rows
        return torch.cat(outputs)


def _one_token(query: Tensor, prompt: tuple[Tensor, Tensor], own: tuple[Tensor, Tensor]) -> Tensor:
    """Attention of one token of each of b rows of a prompt.

    Args:
        query: (b, heads, 1, head size), scaled.
        prompt: keys and values, (key heads, L, head size).
        own: keys and values, (b, key heads, n, head size).
    Returns:
        (b, 1, heads, head size).
    """
    (b, heads, _, size), kv = query.shape, prompt[0].shape[0]
    group, length = heads // kv, prompt[0].shape[1]
    by_row = query.reshape(b, kv, group, size)
    by_head = by_row.transpose(0, 1).reshape(kv, b * group, size)
    of_prompt = by_head @ prompt[0].transpose(1, 2)
    of_own = (by_row @ own[0].transpose(2, 3)).transpose(0, 1).reshape(kv, b * group, -1)
    weights = torch.softmax(torch.cat([of_prompt, of_own], -1), -1, dtype=torch.float32)
    weights = weights.to(query.dtype)
    from_prompt = (weights[..., :length] @ prompt[1]).view(kv, b, group, size).transpose(0, 1)
    from_own = weights[..., length:].reshape(kv, b, group, -1).transpose(0, 1) @ own[1]
    return (from_prompt + from_own).reshape(b, 1, heads, size)


def _shared_prompts_attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    *,
    rows: SharedPrompts,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    return rows.attend(module, query, key, value, scaling), None


AttentionInterface.register(SHARED, _shared_prompts_attention)


# ----------------------------------------------------------------------------------------- copied
class CopiedPrompts:
    """The cache of transformers, [common | left padding | rest of the prompt | written] a row."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._cache: Any = DynamicCache()
        self._mask = torch.empty(0)
        self._positions_B = torch.empty(0)

    def begin(self, prompts_P: Sequence[Sequence[int]], k: int) -> Tensor:
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
        self._cache.batch_repeat_interleave(k)
        self._mask = mask.repeat_interleave(k, 0)
        lengths_P = torch.tensor([len(prompt) for prompt in prompts_P], device=device)
        self._positions_B = lengths_P.repeat_interleave(k)
        logits_P: Tensor = out.logits[:, -1]
        return logits_P.repeat_interleave(k, 0)

    def keep(self, chosen: Tensor) -> None:
        self._cache.batch_select_indices(chosen)
        self._mask, self._positions_B = self._mask[chosen], self._positions_B[chosen]

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
