"""What rows that are being written remember of their prompts: two ways to the same logits.

``SharedPrompts`` holds the keys and values of a prompt once for all its rows, and each row's own in a
buffer of its own: a step reads the prompt's once, as one matrix product over all rows of the prompt, and
copies nothing. The prompts themselves go through the model as one packed row, what they have in common
once. For the families whose attention is plain (``PLAIN``).

``CopiedPrompts`` repeats the cache of transformers for each row. For every other model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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
    """Rows that are written, those of a prompt one after the other; at first one a prompt."""

    def begin(self, prompts_P: Sequence[Sequence[int]]) -> Tensor:
        """(P, vocabulary) logits of every prompt's first token."""
        ...

    def keep(self, chosen: Tensor) -> None:
        """Only the rows at these positions, in order, go on; one that stands there several times becomes as
        many."""
        ...

    def step(self, tokens_B: Tensor) -> Tensor:
        """(B, vocabulary) logits after one more token of each row."""
        ...


def decoding_batch(policy: Policy) -> DecodingBatch:
    """The way that fits the model."""
    plain = policy.base.config.model_type in PLAIN and not policy.sliding_window
    return SharedPrompts(policy) if plain else CopiedPrompts(policy)


# ----------------------------------------------------------------------------------------- shared
class _Prompts:
    """Keys and values of all prompts of a batch, layer by layer, padded to the longest: one product for all, where
    one for each prompt would be mostly the calls of it (evaluation: 64 prompts of one row).

    Shapes: ``_P`` prompts, ``_R`` rows of the prompt that has the most, ``_L`` tokens, ``H`` key heads, ``S`` head size.
    """

    def __init__(self, lengths_P: Sequence[int], device: torch.device) -> None:
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []
        self._lengths_P = list(lengths_P)
        self._device = device
        self._place(list(range(len(lengths_P))))

    def add(self, keys_P: Sequence[Tensor], values_P: Sequence[Tensor]) -> None:
        """Those of the next layer, (H, tokens, S) of each prompt."""
        for kept, given_P in ((self.keys, keys_P), (self.values, values_P)):
            heads, _, size = given_P[0].shape
            padded = given_P[0].new_zeros(len(given_P), heads, max(self._lengths_P), size)
            for row, given in zip(padded, given_P, strict=True):
                row[:, : given.shape[1]] = given
            kept.append(padded)

    def keep(self, chosen: Sequence[int]) -> None:
        """Only these rows go on; prompts without any are dropped once they are the half."""
        owners = [self._owners[i] for i in chosen]
        alive = sorted(set(owners))
        if 2 * len(alive) <= len(self._lengths_P):
            self._lengths_P = [self._lengths_P[p] for p in alive]
            longest = max(self._lengths_P)
            index = torch.tensor(alive, device=self._device)
            for kept in (self.keys, self.values):
                kept[:] = [one[index, :, :longest] for one in kept]
            owners = [alive.index(p) for p in owners]
        self._place(owners)

    def _place(self, owners: list[int]) -> None:
        """
        Args:
            owners: prompt of each row, in order.
        """
        self._owners = owners
        count = Counter(owners)
        self._rows = max(count.values(), default=0)
        seen: Counter[int] = Counter()
        slots = []
        for p in owners:
            slots.append(p * self._rows + seen[p])
            seen[p] += 1
        self._full = len(owners) == len(self._lengths_P) * self._rows
        self._slots_B = torch.tensor(slots, device=self._device)
        places_L = torch.arange(max(self._lengths_P), device=self._device)
        lengths_P = torch.tensor(self._lengths_P, device=self._device)
        self._beyond_P11L = (places_L >= lengths_P[:, None])[:, None, None]

    def scores(self, layer: int, query: Tensor) -> Tensor:
        """(B, H, group, L) of ``query`` (B, H, group, S) with each row's own prompt; -inf beyond its end."""
        scores = self._by_prompt(query) @ self.keys[layer].transpose(2, 3)
        return self._by_row(scores.masked_fill(self._beyond_P11L, float("-inf")), query.shape[2])

    def mix(self, layer: int, weights: Tensor) -> Tensor:
        """(B, H, group, S): values of each row's own prompt by ``weights`` (B, H, group, L)."""
        return self._by_row(self._by_prompt(weights) @ self.values[layer], weights.shape[2])

    def _by_prompt(self, one: Tensor) -> Tensor:
        """(B, H, group, n) -> (P, H, R * group, n)."""
        _, heads, group, n = one.shape
        prompts = len(self._lengths_P)
        if not self._full:
            padded = one.new_zeros(prompts * self._rows, heads, group, n)
            padded[self._slots_B] = one
            one = padded
        rows = one.reshape(prompts, self._rows, heads, group, n).transpose(1, 2)
        return rows.reshape(prompts, heads, self._rows * group, n)

    def _by_row(self, one: Tensor, group: int) -> Tensor:
        """The inverse."""
        prompts, heads, _, n = one.shape
        rows = one.reshape(prompts, heads, self._rows, group, n).transpose(1, 2)
        found = rows.reshape(prompts * self._rows, heads, group, n)
        return found if self._full else found[self._slots_B]


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
        self._prompts: _Prompts
        self._own: list[_Own] = []
        self._plan: AttentionPlan | None = None
        """While the prompts are computed."""
        self._leaves: list[Node] = []
        self._positions_B = torch.empty(0)

    def begin(self, prompts_P: Sequence[Sequence[int]]) -> Tensor:
        device = self._policy.device
        tree = prompt_tree(prompts_P)
        self._leaves = [tree.nodes[leaf] for leaf in tree.leaf_of_P]
        self._plan = plan_attention(tree.nodes, device)
        self._prompts = _Prompts([len(prompt) for prompt in prompts_P], device)
        hidden = self._forward(
            torch.tensor([tree.ids_N], device=device),
            torch.tensor([tree.positions_N], device=device),
        )
        self._plan = None
        ends = [leaf.stop for leaf in self._leaves]
        self._positions_B = torch.tensor([len(prompt) for prompt in prompts_P], device=device)
        last_P = hidden[0, torch.tensor(ends, device=device) - 1]
        logits_P: Tensor = self._base.lm_head(last_P)
        return logits_P

    def keep(self, chosen: Tensor) -> None:
        self._prompts.keep(chosen.tolist())
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
            keys_P, values_P = (
                [torch.cat([one[0, :, a:b] for a, b in node.spans], dim=1) for node in self._leaves]
                for one in (key, value)
            )
            self._prompts.add(keys_P, values_P)
            out, _ = shared_prefix_attention(
                module, query, key, value, None, scaling=scaling, plan=self._plan
            )
            return out
        if layer == len(self._own):
            self._own.append(_Own(key))
        own = self._own[layer]
        own.add(key, value)
        rows, heads, _, size = query.shape
        by_row = (query * (scaling or size**-0.5)).reshape(rows, key.shape[1], -1, size)
        of_prompt = self._prompts.scores(layer, by_row)
        of_own = by_row @ own.keys[:, :, : own.count].transpose(2, 3)
        weights = torch.softmax(torch.cat([of_prompt, of_own], -1), -1, dtype=torch.float32)
        weights = weights.to(query.dtype)
        length = of_prompt.shape[-1]
        mixed: Tensor = self._prompts.mix(layer, weights[..., :length])
        mixed = mixed + weights[..., length:] @ own.values[:, :, : own.count]
        return mixed.reshape(rows, 1, heads, size)


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
