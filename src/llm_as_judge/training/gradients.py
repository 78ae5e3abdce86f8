"""The part of an update that each process computes: rows in, gradients and a report of each row out.

Losses are sums over global normalisers, so gradients of rows add up to the step's, in whatever process
each was computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from llm_as_judge.policy.attention import attention_named, packed_attention
from llm_as_judge.policy.launched import launched
from llm_as_judge.policy.model import MODELS_OWN, Policy
from llm_as_judge.training.grpo import LossOptions, policy_loss
from llm_as_judge.training.oracle import UpdatePath, naive_logprobs
from llm_as_judge.training.packing import PackedTree, pack_tree, packed_logprobs
from llm_as_judge.training.rows import Row

ROUNDING_TOKENS = 256
"""Labels at least in :meth:`RowGradients.rounding_gap`, whole completions; few tokens make much of its mean."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What rows of one step have in common."""

    temperature: float
    """At which the completions were sampled."""
    sequences: int
    tokens: int
    """Completions and their tokens in the whole step: the normalisers of the loss."""
    epochs: int


@dataclass(frozen=True, slots=True)
class RowReport:
    """What is said of a row after its backward pass; sums and means are over its own tokens."""

    tokens: int
    row_tokens: int
    """That went through the model."""
    fresh: bool
    loss: float
    gap_sum: float
    """Of \\|log-prob now - at sampling\\|, nats."""
    gap_max: float
    entropy_sum: float
    """Nats."""
    statistics: dict[str, float]
    """Of :func:`policy_loss`."""


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row on the policy's device."""

    row: Row
    tree: PackedTree | None
    """None on the naive path: a row is then one completion."""
    old_logprobs_T: Tensor
    advantages_S: Tensor

    @property
    def tokens(self) -> int:
        """Tokens that go through the model."""
        if self.tree is not None:
            return self.tree.input_ids_1N.numel()
        return len(self.row.prompts_P[0]) + sum(self.row.lengths)


class RowGradients:
    """Adds the gradients of rows to those of a policy's adapter."""

    def __init__(self, policy: Policy, path: UpdatePath, loss: LossOptions) -> None:
        self._policy = policy
        self._packed = path.name == "packed"
        self._loss = loss

    def place(self, rows: Sequence[Row]) -> list[PlacedRow]:
        """The rows on the policy's device; once for all epochs."""
        device = self._policy.device
        return [
            PlacedRow(
                row,
                pack_tree(row.prompts_P, row.completions_P_K, device) if self._packed else None,
                torch.tensor(row.old_logprobs_T, device=device),
                torch.tensor(row.advantages_S, device=device),
            )
            for row in rows
        ]

    def attention(self) -> AbstractContextManager[None]:
        """Around every call of :meth:`add`."""
        return packed_attention(self._policy.base) if self._packed else nullcontext()

    def add(self, rows: Sequence[PlacedRow], terms: Terms) -> list[RowReport]:
        """One pass over rows; fillers have no report."""
        reports = [self._add(placed, terms) for placed in rows]
        return [report for report in reports if report is not None]

    def _add(self, placed: PlacedRow, terms: Terms) -> RowReport | None:
        row = placed.row
        logprobs_T, entropy_T = self._logprobs(placed, terms.temperature)
        reference_T = self._reference(placed, terms.temperature)
        if row.filler:
            torch.autograd.backward(logprobs_T.sum() * 0.0)
            return None
        gap_T = (logprobs_T.detach() - placed.old_logprobs_T).abs()
        loss, statistics = policy_loss(
            logprobs_T,
            placed.old_logprobs_T,
            placed.advantages_S,
            row.lengths,
            self._loss,
            reference_logprobs_T=reference_T,
            sequences_in_step=terms.sequences,
            tokens_in_step=terms.tokens,
        )
        torch.autograd.backward(loss)
        return RowReport(
            tokens=sum(row.lengths),
            row_tokens=placed.tokens,
            fresh=row.fresh,
            loss=loss.item(),
            gap_sum=gap_T.sum(dtype=torch.float64).item(),
            gap_max=gap_T.max().item(),
            entropy_sum=entropy_T.sum(dtype=torch.float64).item(),
            statistics=statistics,
        )

    def _logprobs(self, placed: PlacedRow, temperature: float) -> tuple[Tensor, Tensor]:
        """(T,) log-probs, with gradient, and (T,) entropies of all completions of a row."""
        base = self._policy.base
        if placed.tree is not None:
            return packed_logprobs(base, placed.tree, temperature=temperature)
        return self._naive(placed.row, temperature)

    def _naive(
        self, row: Row, temperature: float, tokens: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """The same, one completion after the other, of whole completions until ``tokens`` are done."""
        parts: list[tuple[Tensor, Tensor]] = []
        for prompt, group in zip(row.prompts_P, row.completions_P_K, strict=True):
            for completion in group:
                if tokens is not None and sum(len(part[0]) for part in parts) >= tokens:
                    break
                parts.append(
                    naive_logprobs(self._policy.base, prompt, completion, temperature=temperature)
                )
        return torch.cat([p for p, _ in parts]), torch.cat([e for _, e in parts])

    def rounding_gap(self, rows: Sequence[PlacedRow], temperature: float) -> float | None:
        """How far two right ways to the same log-probs are apart: packed rows and one row a completion.

        Same weights, ids and text, so what differs is rounding alone: the measure of what a sampler,
        whose sums are in yet another order, may differ by. Inside :meth:`attention`.

        Args:
            rows: the first with 256 tokens or more in all are computed again.
        Returns:
            Mean \\|difference\\| in nats; None where there is one way only (naive path, sharded weights).
        """
        if not self._packed or launched().sharded:
            return None
        base = self._policy.base
        gaps: list[Tensor] = []
        for placed in rows:
            if placed.tree is None or placed.row.filler:
                continue
            with torch.no_grad():
                packed_T = packed_logprobs(base, placed.tree, temperature=temperature)[0]
                with attention_named(base, MODELS_OWN):
                    naive_T = self._naive(placed.row, temperature, tokens=ROUNDING_TOKENS)[0]
            gaps.append((packed_T[: len(naive_T)] - naive_T).abs())
            if sum(map(len, gaps)) >= ROUNDING_TOKENS:
                break
        return torch.cat(gaps).mean().item() if gaps else None

    def _reference(self, placed: PlacedRow, temperature: float) -> Tensor | None:
        if not self._loss.kl_weight:
            return None
        with torch.no_grad(), self._policy.model.disable_adapter():
            return self._logprobs(placed, temperature)[0]
