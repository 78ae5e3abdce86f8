"""Shared-prefix rows: each prompt is computed once for all its completions.

The sequences of a step form a tree: what all prompts begin with, what those of a kind begin with, each
prompt's own rest (:func:`prompt_tree`), then its completions. Tree and positions:

    prompts   p0 p1 ... p(P-2)                 each without its last token, in one or more nodes
    leaf      p(P-1) c0 c1 ... c(C-2)          labels: c0 c1 ... c(C-1)

Every leaf begins with a copy of its prompt's last token, so each position has at most one label.
All nodes lie one after the other in one packed row; ``position_ids`` is the depth in the tree, and a
token attends to the tokens of its ancestors' nodes and, causally, to those of its own
(``attention.py``).

Differs from the naive computation only by the order of floating-point sums: the reference is one
unpadded row per completion (``reference.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from llm_as_judge.policy.attention import (
    AttentionPlan,
    Node,
    packed_hidden,
    plan_attention,
    prompt_tree,
)


@dataclass(frozen=True, slots=True)
class PackedTree:
    """One packed row. N tokens in all, L of them with a label."""

    input_ids_1N: Tensor
    position_ids_1N: Tensor
    plan: AttentionPlan
    label_at_L: Tensor
    """Index in the row of each labeled token, leaf by leaf."""
    labels_L: Tensor
    leaf_lengths: tuple[int, ...]
    """Labels per leaf, in the order of the completions given."""


def pack_tree(
    prompts_P: Sequence[Sequence[int]],
    completions_P_K: Sequence[Sequence[Sequence[int]]],
    device: torch.device,
) -> PackedTree:
    """One row for all completions of all prompts.

    Args:
        prompts_P: token ids of each prompt, two at least.
        completions_P_K: for each prompt its completions, one token each at least.
    Raises:
        ValueError: an empty completion, a prompt of fewer than two tokens, nothing to pack.
    """
    _check(prompts_P, completions_P_K)
    tree = prompt_tree([prompt[:-1] for prompt in prompts_P])
    ids, positions, nodes = list(tree.ids_N), list(tree.positions_N), list(tree.nodes)
    label_at: list[int] = []
    labels: list[int] = []
    lengths: list[int] = []
    for prompt, at, completions_K in zip(prompts_P, tree.leaf_of_P, completions_P_K, strict=True):
        for completion in completions_K:
            start = len(ids)
            ids.extend([prompt[-1], *completion[:-1]])
            positions.extend(range(len(prompt) - 1, len(prompt) - 1 + len(completion)))
            nodes.append(Node(start, len(ids), tree.nodes[at].spans))
            label_at.extend(range(start, len(ids)))
            labels.extend(completion)
            lengths.append(len(completion))
    return PackedTree(
        input_ids_1N=torch.tensor([ids], device=device),
        position_ids_1N=torch.tensor([positions], device=device),
        plan=plan_attention(nodes, device),
        label_at_L=torch.tensor(label_at, device=device),
        labels_L=torch.tensor(labels, device=device),
        leaf_lengths=tuple(lengths),
    )


def _check(
    prompts_P: Sequence[Sequence[int]], completions_P_K: Sequence[Sequence[Sequence[int]]]
) -> None:
    if not prompts_P:
        raise ValueError("no prompt to pack")
    if any(len(prompt) < 2 for prompt in prompts_P):
        raise ValueError("a prompt needs at least two tokens")
    if any(not completion for group in completions_P_K for completion in group):
        raise ValueError("an empty completion has no log-prob")


def packed_logprobs(
    base: Any, tree: PackedTree, *, temperature: float = 1.0, chunk: int = 256
) -> tuple[Tensor, Tensor]:
    """Log-prob of every label and entropy of the distribution it was drawn from.

    Args:
        base: causal language model of transformers (adapter layers may be inside).
        temperature: of sampling; logits are divided by it. 0 (greedy) is computed at 1.
        chunk: labels whose vocabulary-wide logits exist at once.
    Returns:
        (L,) log-probs in nats, float32, with gradient; (L,) entropies in nats, without.
    """
    hidden_ND = packed_hidden(base, tree.input_ids_1N, tree.position_ids_1N, tree.plan)
    hidden = hidden_ND[tree.label_at_L]
    logprobs, entropies = [], []
    for part, labels in zip(
        torch.split(hidden, chunk), torch.split(tree.labels_L, chunk), strict=True
    ):
        logprob, entropy = checkpoint(
            _head, base.lm_head, part, labels, temperature or 1.0, use_reentrant=False
        )
        logprobs.append(logprob)
        entropies.append(entropy)
    return torch.cat(logprobs), torch.cat(entropies)


def _head(
    lm_head: torch.nn.Module, hidden: Tensor, labels: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    return logprobs_and_entropy(lm_head(hidden), labels, temperature)


def logprobs_and_entropy(
    logits_LV: Tensor, labels_L: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    """(L,) log-prob of each label, with gradient, and (L,) entropy without; nats, float32."""
    found: tuple[Tensor, Tensor] = _LabelLogprobs.apply(logits_LV, labels_L, temperature)  # type: ignore[no-untyped-call]
    return found


class _LabelLogprobs(Function):
    """Log-softmax at the labels: two float32 copies of the vocabulary-wide logits, and none going back.

    Autograd would make five and three of them, each a part of what an update on a CPU takes.
    """

    @staticmethod
    def forward(
        ctx: Any, logits_LV: Tensor, labels_L: Tensor, temperature: float
    ) -> tuple[Tensor, Tensor]:
        scaled_LV = logits_LV.float() if temperature == 1.0 else logits_LV.float() / temperature
        logprobs_LV = torch.log_softmax(scaled_LV, dim=-1)
        entropy_L = -torch.linalg.vecdot(logprobs_LV.exp(), logprobs_LV)
        ctx.save_for_backward(logprobs_LV, labels_L)
        ctx.temperature, ctx.dtype = temperature, logits_LV.dtype
        ctx.mark_non_differentiable(entropy_L)
        return logprobs_LV.gather(-1, labels_L[:, None])[:, 0], entropy_L

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_L: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        logprobs_LV, labels_L = ctx.saved_tensors
        grad_L1 = grad_L[:, None] / ctx.temperature
        of_LV = logprobs_LV.exp().mul_(-grad_L1).scatter_add_(-1, labels_L[:, None], grad_L1)
        return of_LV.to(ctx.dtype), None, None
