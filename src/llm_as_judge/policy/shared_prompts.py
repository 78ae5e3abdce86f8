"""Prefix-shared KV cache: keys and values of a prompt once for all its rows, and each row's own in a buffer.

A step reads the prompt's once, as one matrix product over all rows of the prompt, and copies nothing. The
prompts themselves go through the model as one packed row, what they have in common once. For the families whose
attention is plain (``decode.PLAIN``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import AttentionInterface

from llm_as_judge.policy.attention import (
    AttentionPlan,
    Node,
    attention_named,
    plan_attention,
    prompt_tree,
    shared_prefix_attention,
)
from llm_as_judge.policy.model import Policy

SHARED = "shared_prompts"
FIRST_BUFFER = 32
"""Tokens of the first buffer of a row's own."""


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
        self.place(list(range(len(lengths_P))))

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
        self.place(owners)

    def place(self, owners: list[int]) -> None:
        """Which prompt each row is of, in order."""
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
    """Keys and values that rows have written in one layer, (B, key heads, tokens, head size): a buffer of zeros, of which
    nothing is read beyond the tokens that are written."""

    def __init__(self, like: Tensor, rows: int, tokens: int) -> None:
        """
        Args:
            like: (any, key heads, any, head size), for shape and type.
        """
        shape = rows, like.shape[1], tokens, like.shape[3]
        self.keys, self.values = like.new_zeros(shape), like.new_zeros(shape)

    def grow(self, tokens: int) -> None:
        more = tokens - self.keys.shape[2]
        self.keys, self.values = (pad(one, (0, 0, 0, more)) for one in (self.keys, self.values))

    def keep(self, chosen: Tensor) -> None:
        self.keys, self.values = self.keys[chosen], self.values[chosen]

    def copy(self, places: Tensor, sources: Tensor, count: int) -> None:
        """The first tokens of some rows to other rows' places."""
        for one in (self.keys, self.values):
            one[places, :, :count] = one[sources, :, :count]


class SharedPrompts:
    """Each prompt's keys and values once."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._base = policy.base
        self._prompts: _Prompts
        self._own: list[_Own] = []
        self._written = 0
        """Tokens of every row."""
        self._read = 0
        """Tokens of ``_own`` that a step reads."""
        self._at = torch.zeros(1, dtype=torch.long, device=policy.device)
        """``_written``, on the device."""
        self._beyond_L: Tensor | None = None
        """Which of the tokens that are read are not written yet; None: all are."""
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

    def keep(self, chosen: Sequence[int]) -> None:
        self._prompts.keep(chosen)
        index = torch.tensor(chosen, device=self._policy.device)
        self._positions_B = self._positions_B[index]
        for own in self._own:
            own.keep(index)

    def step(self, tokens_B: Tensor) -> Tensor:
        self._make_room(len(tokens_B), FIRST_BUFFER)
        self._read = self._written + 1
        logits_B = self._logits(tokens_B)
        self._written += 1
        return logits_B

    def _make_room(self, rows: int, first: int) -> bool:
        """For one more token of each row; whether the buffers are other ones than before."""
        if not self._own:
            self._own = [_Own(keys, rows, first) for keys in self._prompts.keys]
        elif self._written == self._own[0].keys.shape[2]:
            for own in self._own:
                own.grow(2 * self._written)
        else:
            return False
        return True

    def _logits(self, tokens_B: Tensor) -> Tensor:
        hidden = self._forward(tokens_B[:, None], self._positions_B[:, None])
        self._positions_B += 1
        self._at += 1
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
        own = self._own[layer]
        own.keys.index_copy_(2, self._at, key)
        own.values.index_copy_(2, self._at, value)
        rows, heads, _, size = query.shape
        by_row = (query * (scaling or size**-0.5)).reshape(rows, key.shape[1], -1, size)
        of_prompt = self._prompts.scores(layer, by_row)
        of_own = by_row @ own.keys[:, :, : self._read].transpose(2, 3)
        if self._beyond_L is not None:
            of_own = of_own.masked_fill(self._beyond_L, float("-inf"))
        weights = torch.softmax(torch.cat([of_prompt, of_own], -1), -1, dtype=torch.float32)
        weights = weights.to(query.dtype)
        length = of_prompt.shape[-1]
        mixed: Tensor = self._prompts.mix(layer, weights[..., :length])
        mixed = mixed + weights[..., length:] @ own.values[:, :, : self._read]
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
