"""Shared-prefix rows: what several sequences of a step begin with is computed once.

The sequences form a tree: what all prompts begin with, what those of a kind begin with, each prompt's own
rest (:func:`prompt_tree`), then its completions, which are a tree again: programs of a trained policy differ in
few places, and equal ones are one.

    prompt    p0 p1 ... p(P-2)                 without its last token, in one or more nodes
    inputs    p(P-1) c0 c1 ... c(C-2)          of a completion: they share nodes as far as they are alike
    labels           c0 c1 ... c(C-1)          one after each; where completions part, a token has several

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
    Spans,
    packed_hidden,
    plan_attention,
    prompt_tree,
)


@dataclass(frozen=True, slots=True)
class PackedTree:
    """One packed row: N tokens, U of them followed by labels, L labels of all completions."""

    input_ids_1N: Tensor
    position_ids_1N: Tensor
    plan: AttentionPlan
    labeled_U: Tensor
    """Index in the row of each token that labels follow, rising."""
    label_at_L: Tensor
    """Index in ``labeled_U`` of the token before each label, completion by completion."""
    labels_L: Tensor
    leaf_lengths: tuple[int, ...]
    """Labels per completion, in the order given."""


class _Row:
    """Tokens of the packed row as they are added, node by node."""

    def __init__(self, prompts_P: Sequence[Sequence[int]]) -> None:
        """
        Args:
            prompts_P: each prompt without its last token.
        """
        tree = prompt_tree(prompts_P)
        self.ids, self.positions = list(tree.ids_N), list(tree.positions_N)
        self.nodes = list(tree.nodes)
        self.leaves_P = [tree.nodes[leaf] for leaf in tree.leaf_of_P]

    def grow(self, inputs_K: Sequence[tuple[int, ...]], leaf: Node, depth: int) -> list[list[int]]:
        """The nodes of sequences below a prompt; where in the row the tokens of each are.

        Args:
            inputs_K: all begin with one token.
            depth: of that token.
        """
        at_K: list[list[int]] = [[] for _ in inputs_K]

        def add(members: Sequence[int], done: int, path: Spans) -> None:
            """A node of what ``members`` have in common after ``done`` tokens, then those below it."""
            first, last = (pick(inputs_K[k] for k in members) for pick in (min, max))
            stop = done
            while stop < min(len(first), len(last)) and first[stop] == last[stop]:
                stop += 1
            node = Node(len(self.ids), len(self.ids) + stop - done, path)
            self.nodes.append(node)
            self.ids.extend(first[done:stop])
            self.positions.extend(range(depth + done, depth + stop))
            below: dict[int, list[int]] = {}
            for k in members:
                at_K[k].extend(range(node.start, node.stop))
                if len(inputs_K[k]) > stop:
                    below.setdefault(inputs_K[k][stop], []).append(k)
            for part in below.values():
                add(part, stop, node.spans)

        add(range(len(inputs_K)), 0, leaf.spans)
        return at_K


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
    row = _Row([prompt[:-1] for prompt in prompts_P])
    at_L: list[int] = []
    labels: list[int] = []
    for prompt, leaf, completions_K in zip(prompts_P, row.leaves_P, completions_P_K, strict=True):
        inputs_K = [(prompt[-1], *completion[:-1]) for completion in completions_K]
        for at, completion in zip(
            row.grow(inputs_K, leaf, len(prompt) - 1), completions_K, strict=True
        ):
            at_L.extend(at)
            labels.extend(completion)
    labeled = sorted(set(at_L))
    place = {at: u for u, at in enumerate(labeled)}
    return PackedTree(
        input_ids_1N=torch.tensor([row.ids], device=device),
        position_ids_1N=torch.tensor([row.positions], device=device),
        plan=plan_attention(row.nodes, device),
        labeled_U=torch.tensor(labeled, device=device),
        label_at_L=torch.tensor([place[at] for at in at_L], device=device),
        labels_L=torch.tensor(labels, device=device),
        leaf_lengths=tuple(len(c) for completions_K in completions_P_K for c in completions_K),
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
        chunk: tokens whose vocabulary-wide logits exist at once.
    Returns:
        (L,) log-probs in nats, float32, with gradient; (L,) entropies in nats, without.
    """
    hidden_ND = packed_hidden(base, tree.input_ids_1N, tree.position_ids_1N, tree.plan)
    hidden_UD = hidden_ND[tree.labeled_U]
    order_L = torch.argsort(tree.label_at_L, stable=True)
    at_L, labels_L = tree.label_at_L[order_L], tree.labels_L[order_L]
    starts = torch.arange(0, len(hidden_UD), chunk, device=at_L.device)
    counts = torch.searchsorted(at_L, starts).diff(append=at_L.new_tensor([len(at_L)])).tolist()
    logprobs, entropies = [], []
    for start, part, at, labels in zip(
        starts.tolist(),
        torch.split(hidden_UD, chunk),
        torch.split(at_L, counts),
        torch.split(labels_L, counts),
        strict=True,
    ):
        logprob, entropy = checkpoint(
            _head, base.lm_head, part, at - start, labels, temperature or 1.0, use_reentrant=False
        )
        logprobs.append(logprob)
        entropies.append(entropy)
    given_L = torch.argsort(order_L)
    return torch.cat(logprobs)[given_L], torch.cat(entropies)[given_L]


def _head(
    lm_head: torch.nn.Module, hidden_UD: Tensor, at_L: Tensor, labels_L: Tensor, temperature: float
) -> tuple[Tensor, Tensor]:
    return logprobs_and_entropy(lm_head(hidden_UD), labels_L, temperature, at_L)


def logprobs_and_entropy(
    logits_UV: Tensor, labels_L: Tensor, temperature: float, at_L: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """(L,) log-prob of each label, with gradient, and (L,) entropy without; nats, float32.

    Args:
        at_L: row of ``logits_UV`` for each label; None = the first label has the first one, and so on.
    """
    at_L = torch.arange(len(labels_L), device=labels_L.device) if at_L is None else at_L
    found: tuple[Tensor, Tensor] = _LabelLogprobs.apply(logits_UV, at_L, labels_L, temperature)  # type: ignore[no-untyped-call]
    return found


class _LabelLogprobs(Function):
    """Log-softmax at the labels: two float32 copies of the vocabulary-wide logits, and none going back.

    Autograd would make five and three of them, each a part of what an update on a CPU takes.
    """

    @staticmethod
    def forward(
        ctx: Any, logits_UV: Tensor, at_L: Tensor, labels_L: Tensor, temperature: float
    ) -> tuple[Tensor, Tensor]:
        scaled_UV = logits_UV.float() if temperature == 1.0 else logits_UV.float() / temperature
        logprobs_UV = torch.log_softmax(scaled_UV, dim=-1)
        entropy_L = -torch.linalg.vecdot(logprobs_UV.exp(), logprobs_UV)[at_L]
        ctx.save_for_backward(logprobs_UV, at_L, labels_L)
        ctx.temperature, ctx.dtype = temperature, logits_UV.dtype
        ctx.mark_non_differentiable(entropy_L)
        return logprobs_UV[at_L, labels_L], entropy_L

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_L: Tensor, _: Tensor) -> tuple[Tensor, None, None, None]:
        logprobs_UV, at_L, labels_L = ctx.saved_tensors
        grad_L = grad_L / ctx.temperature
        grad_U1 = grad_L.new_zeros(len(logprobs_UV), 1).index_add_(0, at_L, grad_L[:, None])
        of_UV = logprobs_UV.exp().mul_(-grad_U1)
        of_UV.index_put_((at_L, labels_L), grad_L, accumulate=True)
        return of_UV.to(ctx.dtype), None, None, None
