"""The part of an update that each process computes: micro-batches in, gradients and reports out.

Losses are sums over global normalizers, so gradients of micro-batches add up to the step's, in
whatever process each was computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from llm_as_judge.policy.attention import attention_named, packed_attention
from llm_as_judge.policy.model import MODELS_OWN, Policy
from llm_as_judge.training.grpo import LossOptions, imitation_loss, policy_loss
from llm_as_judge.training.micro_batches import MicroBatch
from llm_as_judge.training.packing import PackedTree, pack_tree, packed_logprobs
from llm_as_judge.training.reference import UpdatePath, naive_logprobs

ROUNDING_TOKENS = 256
"""Labels at least in :meth:`MicroBatchGradients.rounding_gap`, whole completions; few tokens make
much of its mean."""


@dataclass(frozen=True, slots=True)
class Normalizers:
    """What micro-batches of one step have in common."""

    temperature: float
    """At which the completions were sampled."""
    sequences: int
    tokens: int
    """Completions and their tokens in the whole step: the normalizers of the loss."""
    epochs: int


@dataclass(frozen=True, slots=True)
class MicroBatchReport:
    """Of one micro-batch after its backward pass; sums and means are over its own tokens."""

    tokens: int
    micro_batch_tokens: int
    """That went through the model."""
    fresh: bool
    loss: float
    gap_sum: float
    """Of \\|log-prob now - at sampling\\|, nats."""
    gap_max: float
    entropy_sum: float
    """Nats."""
    statistics: dict[str, float]
    """Of :func:`policy_loss`; none where programs are imitated."""


@dataclass(frozen=True, slots=True)
class PlacedMicroBatch:
    """A micro-batch on the policy's device."""

    micro_batch: MicroBatch
    tree: PackedTree | None
    """None on the naive path: a micro-batch is then one completion."""
    old_logprobs_T: Tensor
    advantages_S: Tensor

    @property
    def tokens(self) -> int:
        if self.tree is not None:
            return self.tree.input_ids_1N.numel()
        return len(self.micro_batch.prompts_P[0]) + sum(self.micro_batch.lengths)


class MicroBatchGradients:
    """Adds the gradients of micro-batches to those of a policy's adapter."""

    def __init__(self, policy: Policy, path: UpdatePath, loss: LossOptions) -> None:
        self._policy = policy
        self._packed = path.name == "packed"
        self._loss = loss

    def place(self, micro_batches: Sequence[MicroBatch]) -> list[PlacedMicroBatch]:
        """The micro-batches on the policy's device; once for all epochs."""
        device = self._policy.device
        return [
            PlacedMicroBatch(
                micro_batch,
                pack_tree(micro_batch.prompts_P, micro_batch.completions_P_K, device)
                if self._packed
                else None,
                torch.tensor(micro_batch.old_logprobs_T, device=device),
                torch.tensor(micro_batch.advantages_S, device=device),
            )
            for micro_batch in micro_batches
        ]

    def attention(self) -> AbstractContextManager[None]:
        """Around every call of :meth:`add`."""
        return packed_attention(self._policy.base) if self._packed else nullcontext()

    def add(
        self, micro_batches: Sequence[PlacedMicroBatch], normalizers: Normalizers
    ) -> list[MicroBatchReport]:
        """One pass over micro-batches."""
        return [self._add(placed, normalizers) for placed in micro_batches]

    def _add(self, placed: PlacedMicroBatch, normalizers: Normalizers) -> MicroBatchReport:
        micro_batch = placed.micro_batch
        logprobs_T, entropy_T = self._logprobs(placed, normalizers.temperature)
        reference_T = self._reference(placed, normalizers.temperature)
        statistics: dict[str, float] = {}
        if micro_batch.imitated:
            gap_T = torch.zeros_like(logprobs_T.detach())
            loss = imitation_loss(logprobs_T, placed.advantages_S, micro_batch.lengths)
        else:
            gap_T = (logprobs_T.detach() - placed.old_logprobs_T).abs()
            loss, statistics = policy_loss(
                logprobs_T,
                placed.old_logprobs_T,
                placed.advantages_S,
                micro_batch.lengths,
                self._loss,
                reference_logprobs_T=reference_T,
                sequences_in_step=normalizers.sequences,
                tokens_in_step=normalizers.tokens,
            )
        torch.autograd.backward(loss)
        return MicroBatchReport(
            tokens=sum(micro_batch.lengths),
            micro_batch_tokens=placed.tokens,
            fresh=micro_batch.fresh,
            loss=loss.item(),
            gap_sum=gap_T.sum(dtype=torch.float64).item(),
            gap_max=gap_T.max().item(),
            entropy_sum=entropy_T.sum(dtype=torch.float64).item(),
            statistics=statistics,
        )

    def _logprobs(self, placed: PlacedMicroBatch, temperature: float) -> tuple[Tensor, Tensor]:
        """(T,) log-probs, with gradient, and (T,) entropies of all completions of a micro-batch."""
        base = self._policy.base
        if placed.tree is not None:
            return packed_logprobs(base, placed.tree, temperature=temperature)
        return self._naive(placed.micro_batch, temperature)

    def _naive(
        self, micro_batch: MicroBatch, temperature: float, tokens: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """The same, one completion after the other, of whole completions until ``tokens`` are done."""
        parts: list[tuple[Tensor, Tensor]] = []
        for prompt, group in zip(micro_batch.prompts_P, micro_batch.completions_P_K, strict=True):
            for completion in group:
                if tokens is not None and sum(len(part[0]) for part in parts) >= tokens:
                    break
                parts.append(
                    naive_logprobs(self._policy.base, prompt, completion, temperature=temperature)
                )
        return torch.cat([p for p, _ in parts]), torch.cat([e for _, e in parts])

    def rounding_gap(
        self, micro_batches: Sequence[PlacedMicroBatch], temperature: float
    ) -> float | None:
        """How far two right ways to the same log-probs are apart: packed, and one completion each.

        Same weights, ids and text, so what differs is rounding alone: the measure of what a sampler,
        whose sums are in yet another order, may differ by. Inside :meth:`attention`.

        Args:
            micro_batches: the first with 256 tokens or more in all are computed again.
        Returns:
            Mean \\|difference\\| in nats; None where there is one way only (naive path).
        """
        if not self._packed:
            return None
        base = self._policy.base
        gaps: list[Tensor] = []
        for placed in micro_batches:
            if placed.tree is None:
                continue
            with torch.no_grad():
                packed_T = packed_logprobs(base, placed.tree, temperature=temperature)[0]
                with attention_named(base, MODELS_OWN):
                    naive_T, _ = self._naive(placed.micro_batch, temperature, ROUNDING_TOKENS)
            gaps.append((packed_T[: len(naive_T)] - naive_T).abs())
            if sum(map(len, gaps)) >= ROUNDING_TOKENS:
                break
        return torch.cat(gaps).mean().item() if gaps else None

    def _reference(self, placed: PlacedMicroBatch, temperature: float) -> Tensor | None:
        if not self._loss.kl_weight or placed.micro_batch.imitated:
            return None
        with torch.no_grad(), self._policy.model.disable_adapter():
            return self._logprobs(placed, temperature)[0]
