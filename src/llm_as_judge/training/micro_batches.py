"""Micro-batches of an update as plain values, and which process computes which.

A tree is a prompt with its scored completions. Trees are never split: a micro-batch holds whole
ones, and so does the share of a process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llm_as_judge.training.grpo import LossOptions, step_advantages, with_bonus
from llm_as_judge.types import Completion, Group

Tree = tuple[list[Completion], list[float]]
"""The scored completions of one prompt with their advantages; or programs given for it, without
log-probs, with their weights."""


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Completions computed together, with what the loss needs of them."""

    prompts_P: tuple[tuple[int, ...], ...]
    completions_P_K: tuple[tuple[tuple[int, ...], ...], ...]
    old_logprobs_T: tuple[float, ...]
    """At sampling, completion after completion; empty: nobody sampled them, they are imitated."""
    advantages_S: tuple[float, ...]
    fresh: bool
    """Every completion was sampled by the very weights that are being updated."""

    @property
    def imitated(self) -> bool:
        """Programs that were given, not sampled."""
        return not self.old_logprobs_T

    @property
    def lengths(self) -> tuple[int, ...]:
        """Tokens of each completion."""
        return tuple(len(ids) for group in self.completions_P_K for ids in group)


def trees_of(groups: Sequence[Group], loss: LossOptions, entropy_bonus: float = 0.0) -> list[Tree]:
    """The groups of a whole step with their advantages.

    Args:
        groups: each with two scored rollouts at least.
        entropy_bonus: advantage of a nat that a program is rarer than its group.
    """
    advantages = step_advantages([group.rewards for group in groups], loss)
    if entropy_bonus:
        surprises = [[-sum(r.completion.logprobs) for r in group.scored] for group in groups]
        advantages = with_bonus(advantages, surprises, entropy_bonus)
    scored = [[rollout.completion for rollout in group.scored] for group in groups]
    return list(zip(scored, advantages, strict=True))


def shares_of_trees(
    trees: Sequence[Tree],
    *,
    version: int,
    tokens_per_micro_batch: int,
    packed: bool,
    shares: int = 1,
) -> list[list[MicroBatch]]:
    """Micro-batches of each of ``shares`` processes; a process may have none.

    Args:
        version: of the policy that is about to be updated.
        tokens_per_micro_batch: of one micro-batch at most, as far as whole trees allow it.
        packed: several completions to a micro-batch; otherwise one.
    """
    micro_batches = []
    for share in _share_out(trees, shares):
        batches = _packed(share, tokens_per_micro_batch) if packed else _single(share)
        micro_batches.append([_micro_batch(batch, version) for batch in batches])
    return micro_batches


def _share_out(trees: Sequence[Tree], shares: int) -> list[list[Tree]]:
    """Each tree to the share with the fewest tokens so far, the longest trees first; inside a share
    they keep their order."""
    loads = [0] * shares
    share_of = {}
    for index in sorted(range(len(trees)), key=lambda i: (-_tokens(trees[i]), i)):
        share_of[index] = loads.index(min(loads))
        loads[share_of[index]] += _tokens(trees[index])
    return [[t for i, t in enumerate(trees) if share_of[i] == share] for share in range(shares)]


def _packed(trees: Sequence[Tree], tokens_per_micro_batch: int) -> list[list[Tree]]:
    batches: list[list[Tree]] = []
    size = 0
    for tree in trees:
        tokens = _tokens(tree)
        if not batches or size + tokens > tokens_per_micro_batch:
            batches.append([])
            size = 0
        batches[-1].append(tree)
        size += tokens
    return batches


def _single(trees: Sequence[Tree]) -> list[list[Tree]]:
    return [
        [([completion], [advantage])]
        for completions_K, advantages_K in trees
        for completion, advantage in zip(completions_K, advantages_K, strict=True)
    ]


def _tokens(tree: Tree) -> int:
    completions_K, _ = tree
    return len(completions_K[0].prompt_ids) + sum(len(c.token_ids) for c in completions_K)


def _micro_batch(trees: Sequence[Tree], version: int) -> MicroBatch:
    completions = [c for completions_K, _ in trees for c in completions_K]
    return MicroBatch(
        prompts_P=tuple(tuple(completions_K[0].prompt_ids) for completions_K, _ in trees),
        completions_P_K=tuple(
            tuple(tuple(c.token_ids) for c in completions_K) for completions_K, _ in trees
        ),
        old_logprobs_T=tuple(p for c in completions for p in c.logprobs),
        advantages_S=tuple(a for _, advantages_K in trees for a in advantages_K),
        fresh=all(c.logprobs and c.policy_version == version for c in completions),
    )
