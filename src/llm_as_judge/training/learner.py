"""The update: groups in, one optimizer step per epoch out.

Only groups that can teach enter the forward pass: those with at least two scored rollouts whose
rewards differ. Ids and log-probs are those of sampling; nothing is tokenised again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from llm_as_judge.errors import ModelError, TrainingError
from llm_as_judge.policy.attention import packed_attention
from llm_as_judge.policy.model import Policy
from llm_as_judge.training.grpo import LossOptions, has_variance, policy_loss, step_advantages
from llm_as_judge.training.oracle import UpdatePath, choose_path, naive_logprobs
from llm_as_judge.training.packing import PackedTree, pack_tree, packed_logprobs
from llm_as_judge.types import Completion, Group


@dataclass(frozen=True, slots=True)
class OptimizerOptions:
    learning_rate: float = 5e-6
    warmup_steps: int = 0
    schedule: str = "constant"
    """``constant``, ``linear`` or ``cosine`` decay to 0 over ``total_steps``."""
    total_steps: int = 500
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    epochs: int = 1
    row_tokens: int = 32768
    max_logprob_gap: float | None = None
    own_sampler: bool = True
    """False: another engine wrote the completions, whose sums are rounded otherwise."""


@dataclass(frozen=True, slots=True)
class _Row:
    """Completions computed together, with what the loss needs of them."""

    prompts_P: Sequence[Sequence[int]]
    completions_P_K: Sequence[Sequence[Sequence[int]]]
    lengths_S: tuple[int, ...]
    tree: PackedTree | None
    """None on the naive path: a row is then one completion."""
    old_logprobs_T: Tensor
    advantages_S: Tensor
    fresh: bool
    """Every completion was sampled by the very weights that are being updated."""

    @property
    def tokens(self) -> int:
        """Tokens that go through the model."""
        if self.tree is not None:
            return self.tree.input_ids_1N.numel()
        return len(self.prompts_P[0]) + sum(self.lengths_S)


class Learner:
    """Owns the optimizer and the schedule of one policy's adapter."""

    def __init__(
        self,
        policy: Policy,
        loss: LossOptions,
        options: OptimizerOptions,
        *,
        path: UpdatePath | None = None,
    ) -> None:
        """
        Args:
            path: how log-probs are computed; default: what the self-check finds right.
        """
        self.policy = policy
        self.path = path or choose_path(policy)
        self._loss = loss
        self._options = options
        self._parameters = [p for _, p in policy.adapter_parameters()]
        self._optimizer = torch.optim.AdamW(
            self._parameters,
            lr=options.learning_rate,
            weight_decay=options.weight_decay,
            betas=(0.9, 0.99),
        )
        self._scheduler = torch.optim.lr_scheduler.LambdaLR(self._optimizer, self._rate_factor)
        self._updates = 0

    def _rate_factor(self, update: int) -> float:
        warmup, total = self._options.warmup_steps, self._options.total_steps
        if update < warmup:
            return (update + 1) / (warmup + 1)
        done = min(1.0, (update - warmup) / max(1, total - warmup))
        if self._options.schedule == "linear":
            return 1.0 - done
        if self._options.schedule == "cosine":
            return 0.5 * (1.0 + math.cos(math.pi * done))
        return 1.0

    def update(self, groups: Sequence[Group], *, temperature: float) -> dict[str, float]:
        """One step of training.

        Args:
            groups: of one step; those that cannot teach are counted and left out.
            temperature: at which the completions were sampled.
        Returns:
            Metrics (nats, tokens, seconds); ``update/loss`` is absent if no group could teach.
        Raises:
            TrainingError: log-probs differ from those at sampling, or the gradient is not finite.
        """
        started = time.perf_counter()
        teaching = [group for group in groups if has_variance(group.rewards)]
        metrics = {
            "update/groups": float(len(teaching)),
            "update/groups_without_variance": float(
                sum(len(g.rewards) >= 2 and not has_variance(g.rewards) for g in groups)
            ),
            "update/learning_rate": float(self._optimizer.param_groups[0]["lr"]),
        }
        if teaching:
            rows = self._rows(teaching)
            with self.policy.updating(), self._attention():
                for epoch in range(self._options.epochs):
                    metrics.update(self._epoch(rows, temperature, first=epoch == 0))
            self._scheduler.step()
            self.policy.version += 1
            self._updates += 1
        metrics["time/update_s"] = time.perf_counter() - started
        return metrics

    def _rows(self, groups: Sequence[Group]) -> list[_Row]:
        advantages = step_advantages(
            [g.rewards for g in groups], centre=self._loss.centre, scale=self._loss.scale
        )
        scored = [[r.completion for r in group.scored] for group in groups]
        if self.path.name == "naive":
            return [
                self._row([([completion], [advantage])])
                for completions, advantages_G in zip(scored, advantages, strict=True)
                for completion, advantage in zip(completions, advantages_G, strict=True)
            ]
        rows: list[_Row] = []
        batch: list[tuple[list[Completion], list[float]]] = []
        size = 0
        for completions, advantages_G in zip(scored, advantages, strict=True):
            tokens = len(completions[0].prompt_ids) + sum(len(c.token_ids) for c in completions)
            if batch and size + tokens > self._options.row_tokens:
                rows.append(self._row(batch))
                batch, size = [], 0
            batch.append((completions, advantages_G))
            size += tokens
        rows.append(self._row(batch))
        return rows

    def _row(self, batch: Sequence[tuple[list[Completion], list[float]]]) -> _Row:
        device = self.policy.device
        completions = [c for group, _ in batch for c in group]
        prompts_P = [group[0].prompt_ids for group, _ in batch]
        ids_P_K = [[c.token_ids for c in group] for group, _ in batch]
        packed = self.path.name == "packed"
        return _Row(
            prompts_P=prompts_P,
            completions_P_K=ids_P_K,
            lengths_S=tuple(len(c.token_ids) for c in completions),
            tree=pack_tree(prompts_P, ids_P_K, device) if packed else None,
            old_logprobs_T=torch.tensor(
                [p for c in completions for p in c.logprobs], device=device
            ),
            advantages_S=torch.tensor([a for _, group in batch for a in group], device=device),
            fresh=all(c.policy_version == self.policy.version for c in completions),
        )

    def _attention(self) -> AbstractContextManager[None]:
        return packed_attention(self.policy.base) if self.path.name == "packed" else nullcontext()

    def _logprobs(self, row: _Row, temperature: float) -> tuple[Tensor, Tensor]:
        """(T,) log-probs, with gradient, and (T,) entropies of all completions of a row."""
        base = self.policy.base
        if row.tree is not None:
            return packed_logprobs(base, row.tree, temperature=temperature)
        parts = [
            naive_logprobs(base, prompt, completion, temperature=temperature)
            for prompt, group in zip(row.prompts_P, row.completions_P_K, strict=True)
            for completion in group
        ]
        return torch.cat([p for p, _ in parts]), torch.cat([e for _, e in parts])

    def _epoch(self, rows: Sequence[_Row], temperature: float, *, first: bool) -> dict[str, float]:
        self._optimizer.zero_grad(set_to_none=True)
        sequences = sum(len(row.lengths_S) for row in rows)
        tokens = sum(sum(row.lengths_S) for row in rows)
        gaps, entropies, loss_sum = [], [], 0.0
        statistics: list[dict[str, float]] = []
        for row in rows:
            logprobs_T, entropy_T = self._logprobs(row, temperature)
            gaps.append((logprobs_T.detach() - row.old_logprobs_T).abs())
            entropies.append(entropy_T)
            loss, stats = policy_loss(
                logprobs_T,
                row.old_logprobs_T,
                row.advantages_S,
                row.lengths_S,
                self._loss,
                reference_logprobs_T=self._reference(row, temperature),
                sequences_in_step=sequences,
                tokens_in_step=tokens,
            )
            torch.autograd.backward(loss)
            loss_sum += loss.item()
            statistics.append(stats)
        gap_T = torch.cat(gaps)
        if first and all(row.fresh for row in rows):
            self._check_gap(gap_T)
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, self._options.max_grad_norm)
        if not torch.isfinite(norm):
            raise TrainingError(
                f"update {self._updates}: gradient norm is {norm.item()}; nothing was changed. "
                "Lower training.learning_rate or resume from the last checkpoint"
            )
        self._optimizer.step()
        metrics = {
            "update/loss": loss_sum,
            "update/grad_norm": norm.item(),
            "update/entropy": torch.cat(entropies).mean().item(),
            "update/tokens": float(tokens),
            "update/row_tokens": float(sum(row.tokens for row in rows)),
        }
        shares = [sum(row.lengths_S) / tokens for row in rows]
        for key in statistics[0]:
            values = [stats[key] for stats in statistics]
            metrics[f"update/{key}"] = (
                max(values)
                if key.endswith("max")
                else sum(v * share for v, share in zip(values, shares, strict=True))
            )
        if first:
            metrics["update/logprob_gap_mean"] = gap_T.mean().item()
            metrics["update/logprob_gap_max"] = gap_T.max().item()
        return metrics

    def _reference(self, row: _Row, temperature: float) -> Tensor | None:
        if not self._loss.kl_weight:
            return None
        with torch.no_grad(), self.policy.model.disable_adapter():
            return self._logprobs(row, temperature)[0]

    def _check_gap(self, gap_T: Tensor) -> None:
        """On the first pass the policy ratio must be 1: same weights, same ids, same text."""
        own = self._options.own_sampler
        exact = own and self.policy.dtype == torch.float32
        usual = 1e-4 if exact else 1e-2 if own else 5e-2
        limit = self._options.max_logprob_gap or usual
        found = (gap_T.max() if exact else gap_T.mean()).item()
        if not found <= limit:
            kind = "greatest" if exact else "mean"
            raise TrainingError(
                f"update {self._updates}: {kind} log-prob gap between sampling and update is "
                f"{found:.2e}, wanted <= {limit:.0e}: the policy ratio is not 1 on the first "
                "pass, so the update would be wrong; nothing was changed"
            )

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """What a resumed run needs: plain values, and the optimizer's tensors by name."""
        saved = self._optimizer.state_dict()
        tensors = {
            f"{index}.{key}": value.detach().cpu().contiguous()
            for index, entry in saved["state"].items()
            for key, value in entry.items()
        }
        plain = {
            "scheduler_step": self._scheduler.last_epoch,
            "updates": self._updates,
            "policy_version": self.policy.version,
        }
        return plain, tensors

    def load_state(self, plain: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """The inverse of :meth:`state`; the adapter itself is loaded by the policy.

        Raises:
            ModelError: a tensor that is of no weight of this policy.
        """
        saved = self._optimizer.state_dict()
        shapes = [p.shape for group in self._optimizer.param_groups for p in group["params"]]
        entries: dict[int, dict[str, Tensor]] = {}
        for name, value in tensors.items():
            index, _, key = name.partition(".")
            known = index.isdecimal() and int(index) < len(shapes)
            if not known or value.shape not in ((), shapes[int(index)]):
                raise ModelError(
                    f"optimizer: {name} of shape {tuple(value.shape)} is of no weight of this "
                    "policy; resume with the model and adapter of the checkpoint"
                )
            entries.setdefault(int(index), {})[key] = value
        self._optimizer.load_state_dict({**saved, "state": entries})
        self._updates = plain["updates"]
        self.policy.version = plain["policy_version"]
        self._scheduler.last_epoch = plain["scheduler_step"]
        for group, base in zip(self._optimizer.param_groups, self._scheduler.base_lrs, strict=True):
            group["lr"] = base * self._rate_factor(self._scheduler.last_epoch)
