"""The update: groups in, one optimizer step per epoch out.

Only groups that can teach enter the forward pass: those with at least two scored rollouts whose
rewards differ. Ids and log-probs are those of sampling; nothing is tokenized again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from llm_as_judge.errors import TrainingError
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.soundness import all_finite
from llm_as_judge.training.gradients import (
    MicroBatchGradients,
    MicroBatchReport,
    Normalizers,
    PlacedMicroBatch,
)
from llm_as_judge.training.grpo import LossOptions, entropy_bonus, has_variance
from llm_as_judge.training.micro_batches import Tree, shares_of_trees, trees_of
from llm_as_judge.training.optimizer_state import load_optimizer, optimizer_tensors
from llm_as_judge.training.ranks import Peers
from llm_as_judge.training.reference import UpdatePath, choose_path
from llm_as_judge.types import Group

ROUNDING_FACTOR, ROUNDING_LIMIT = 1.5, 0.1
"""Sampler and update may differ by this much of what two ways of the update do; never by more nats."""


@dataclass(frozen=True, slots=True)
class OptimizerOptions:
    learning_rate: float = 2e-5
    warmup_steps: int = 0
    schedule: str = "constant"
    """``constant``, ``linear`` or ``cosine`` decay to 0 over ``total_steps``."""
    total_steps: int = 500
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    epochs: int = 1
    tokens_per_micro_batch: int = 32768
    max_logprob_gap: float | None = None
    own_sampler: bool = True
    """False: another engine wrote the completions, whose sums are rounded otherwise."""


class Learner:
    """Owns the optimizer and the schedule of one policy's adapter; of several processes only the
    first has one, and the others compute gradients for it."""

    def __init__(
        self,
        policy: Policy,
        loss: LossOptions,
        options: OptimizerOptions,
        *,
        path: UpdatePath | None = None,
        peers: Peers | None = None,
    ) -> None:
        """
        Args:
            path: how log-probs are computed; default: what the self-check finds right.
            peers: other processes that compute a part of each update; default: none.
        """
        self.policy = policy
        self.path = path or choose_path(policy)
        self._loss = loss
        self._options = options
        self._peers = peers or Peers()
        self._gradients = MicroBatchGradients(policy, self.path, loss)
        self._parameters = [p for _, p in policy.adapter_parameters()]
        self._optimizer = torch.optim.AdamW(
            self._parameters,
            lr=options.learning_rate,
            weight_decay=options.weight_decay,
            betas=(0.9, 0.99),
        )
        self._scheduler = torch.optim.lr_scheduler.LambdaLR(self._optimizer, self._rate_factor)
        self._updates = 0

    @property
    def processes(self) -> int:
        """That compute gradients, this one included."""
        return self._peers.count

    def prepare(self) -> None:
        """Have the other processes load the policy; before the first update.

        Raises:
            TrainingError: one of them cannot.
        """
        self._peers.prepare(self.policy.adapter_spec, self.path, self._loss)

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
        scored = [group for group in groups if len(group.rewards) >= 2]
        written = [r.completion.logprobs for group in scored for r in group.scored]
        bonus = entropy_bonus(written, self._loss.entropy_floor)
        teaching = [g for g in scored if has_variance(g.rewards) or (bonus and _differ(g))]
        metrics = {
            "update/groups": float(len(teaching)),
            "update/groups_without_variance": float(len(scored) - len(teaching)),
            "update/learning_rate": float(self._optimizer.param_groups[0]["lr"]),
        }
        if self._loss.entropy_floor:
            metrics["update/entropy_bonus"] = bonus
        if teaching:
            metrics.update(self._passes(trees_of(teaching, self._loss, bonus), temperature))
        metrics["time/update_s"] = time.perf_counter() - started
        return metrics

    def imitate(self, trees: Sequence[Tree], *, temperature: float) -> dict[str, float]:
        """One step toward given programs: their weighted negative log-likelihood.

        Args:
            trees: for each prompt its programs, without log-probs, and what each weighs.
            temperature: at which the policy samples.
        Returns:
            As :meth:`update`; ``update/loss`` is the mean over tokens, each by its program's weight.
        Raises:
            TrainingError: the gradient is not finite.
        """
        tokens = sum(w * len(c.token_ids) for tree in trees for c, w in zip(*tree, strict=True))
        weighted = [(completions, [w / tokens for w in weights]) for completions, weights in trees]
        return self._passes(weighted, temperature)

    def _passes(self, trees: Sequence[Tree], temperature: float) -> dict[str, float]:
        """All epochs; then the weights are a version on. Metrics of the last, the gap of the first."""
        shares = shares_of_trees(
            trees,
            version=self.policy.version,
            tokens_per_micro_batch=self._options.tokens_per_micro_batch,
            packed=self.path.name == "packed",
            shares=self._peers.count,
        )
        lengths = [n for share in shares for micro_batch in share for n in micro_batch.lengths]
        epochs = self._options.epochs
        normalizers = Normalizers(temperature, len(lengths), sum(lengths), epochs)
        metrics: dict[str, float] = {}
        with self.policy.updating(), self._gradients.attention():
            self._peers.begin(shares, normalizers)
            micro_batches = self._gradients.place(shares[0])
            for epoch in range(epochs):
                self._optimizer.zero_grad(set_to_none=True)
                reports = self._peers.one_pass(
                    self._parameters, lambda: self._gradients.add(micro_batches, normalizers)
                )
                if epoch == 0:
                    metrics.update(self._gap_checked(reports, micro_batches, temperature))
                metrics.update(self._step(reports))
        self._scheduler.step()
        self.policy.version += 1
        self._updates += 1
        return metrics

    def _step(self, reports: Sequence[MicroBatchReport]) -> dict[str, float]:
        """One step of the optimizer on the gradients that are there.

        Args:
            reports: of all micro-batches.
        """
        tokens = sum(report.tokens for report in reports)
        loss = sum(report.loss for report in reports)
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, self._options.max_grad_norm)
        for name, value in (("loss", loss), ("gradient norm", norm.item())):
            if not math.isfinite(value):
                raise TrainingError(
                    f"update {self._updates}: {name} is {value}; nothing was changed. "
                    "Lower training.learning_rate or resume from the last checkpoint"
                )
        self._optimizer.step()
        if not all_finite(self._parameters):
            raise TrainingError(
                f"update {self._updates}: its step made weights that are no finite numbers; nothing was "
                "written. Lower training.learning_rate and resume from the last checkpoint"
            )
        metrics = {
            "update/loss": loss,
            "update/grad_norm": norm.item(),
            "update/entropy": sum(report.entropy_sum for report in reports) / tokens,
            "update/tokens": float(tokens),
            "update/micro_batch_tokens": float(
                sum(report.micro_batch_tokens for report in reports)
            ),
        }
        for key in reports[0].statistics:
            values = [report.statistics[key] for report in reports]
            metrics[f"update/{key}"] = (
                _greatest(values)
                if key.endswith("max")
                else sum(v * r.tokens for v, r in zip(values, reports, strict=True)) / tokens
            )
        return metrics

    def _gap_checked(
        self,
        reports: Sequence[MicroBatchReport],
        micro_batches: Sequence[PlacedMicroBatch],
        temperature: float,
    ) -> dict[str, float]:
        """On the first pass the policy ratio must be 1: same weights, same ids, same text.

        In half precision it is so but for rounding, which grows with the depth of a model and the size
        of its logits. A mean gap above the usual bar is therefore held against what the update's own
        two ways differ by on the same completions (docs/results/training-speed.md).

        Args:
            reports: of all micro-batches of the step.
            micro_batches: of this process.
        """
        tokens = sum(report.tokens for report in reports)
        mean = sum(report.gap_sum for report in reports) / tokens
        greatest = _greatest([report.gap_max for report in reports])
        metrics = {"update/logprob_gap_mean": mean, "update/logprob_gap_max": greatest}
        if not all(report.fresh for report in reports):
            return metrics
        own = self._options.own_sampler
        exact = own and self.policy.dtype == torch.float32
        limit = self._options.max_logprob_gap or (1e-4 if exact else 3e-2 if own else 5e-2)
        found, kind, because = (greatest, "greatest", "") if exact else (mean, "mean", "")
        if not found <= limit and self._options.max_logprob_gap is None and not exact:
            rounding = self._gradients.rounding_gap(micro_batches, temperature)
            if rounding is not None:
                metrics["update/rounding_gap"] = rounding
                limit = max(limit, min(ROUNDING_FACTOR * rounding, ROUNDING_LIMIT))
                because = f" (rounding alone makes {rounding:.2e})"
        if not found <= limit:
            raise TrainingError(
                f"update {self._updates}: {kind} log-prob gap between sampling and update is "
                f"{found:.2e}, wanted <= {limit:.1e}{because}: the policy ratio is not 1 on the "
                "first pass, so the update would be wrong; nothing was changed"
            )
        return metrics

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """What a resumed run needs: plain values, and the optimizer's tensors by name."""
        plain = {
            "scheduler_step": self._scheduler.last_epoch,
            "updates": self._updates,
            "policy_version": self.policy.version,
        }
        return plain, optimizer_tensors(self._optimizer)

    def load_state(self, plain: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """The inverse of :meth:`state`; the adapter itself is loaded by the policy.

        Raises:
            ModelError: a tensor that is of no weight of this policy.
        """
        load_optimizer(self._optimizer, tensors)
        self._updates = plain["updates"]
        self.policy.version = plain["policy_version"]
        self._scheduler.last_epoch = plain["scheduler_step"]
        for group, base in zip(self._optimizer.param_groups, self._scheduler.base_lrs, strict=True):
            group["lr"] = base * self._rate_factor(self._scheduler.last_epoch)


def _differ(group: Group) -> bool:
    return len({tuple(r.completion.token_ids) for r in group.scored}) > 1


def _greatest(values: Sequence[float]) -> float:
    """The maximum, not a number if one of the values is none."""
    return next((value for value in values if math.isnan(value)), max(values))
