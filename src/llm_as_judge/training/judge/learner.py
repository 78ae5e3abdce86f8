"""The judge learns: binary cross-entropy on the label token alone, prompts packed without padding.

Differs from supervised fine-tuning of the whole text: nothing is learned of the prompt, and the head
is multiplied for two tokens of the vocabulary at one position of each prompt.

Each question is shown in one of the two orders, so that its answers share what stands before them; over
the questions the orders are half and half, as a verdict averages both.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from llm_as_judge.audit.attacks import Case
from llm_as_judge.audit.labeled import cases_sha256
from llm_as_judge.errors import ModelError, TrainingError
from llm_as_judge.files import write_text
from llm_as_judge.judge.scoring import ORDERS, label_prompt
from llm_as_judge.policy.attention import packed_attention
from llm_as_judge.policy.checkpoint import LATEST, latest_checkpoint, load_state, save_checkpoint
from llm_as_judge.policy.label_scores import (
    LabelTokens,
    TokenizedPrompt,
    label_log_odds,
    pack_labels,
)
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.soundness import all_finite
from llm_as_judge.training.judge.rows import question_key
from llm_as_judge.training.optimizer_state import load_optimizer, optimizer_tensors


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """How a judge is trained; a broken off training goes on with the same ones alone."""

    seed: int = 0
    rank: int = 16
    layers: int | None = None
    """Of the base model from the bottom; None = all."""
    learning_rate: float = 3e-4
    epochs: int = 1
    tokens_per_step: int = 512
    warmup: float = 0.02
    """Share of the steps."""
    max_grad_norm: float = 1.0
    start: str | None = None
    """SHA-256 of the judge that it goes on from; None = a new adapter."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Prompts of one step with their labels, 1 = right."""

    prompts_S: tuple[TokenizedPrompt, ...]
    labels_S: tuple[float, ...]

    @property
    def tokens(self) -> int:
        """That go through the model, each shared prefix once, without the root."""
        prefixes = {prompt.prefix for prompt in self.prompts_S}
        return sum(map(len, prefixes)) + sum(len(prompt.rest) for prompt in self.prompts_S)


@dataclass(frozen=True, slots=True)
class StepReport:
    """Of one step; loss in nats."""

    step: int
    steps: int
    loss: float
    right: float
    """Share of the prompts whose label was the likelier one, before the step."""
    grad_norm: float
    tokens: int
    seconds: float


def batches_of(cases: Sequence[Case], tokens: LabelTokens, options: LearnOptions) -> list[Batch]:
    """The steps of a whole training, the same for the same cases and seed."""
    rng = random.Random(options.seed)
    found: list[Batch] = []
    for _ in range(options.epochs):
        groups: dict[str, list[Case]] = {}
        for case in cases:
            groups.setdefault(question_key(case), []).append(case)
        order = list(groups)
        rng.shuffle(order)
        prompts: list[TokenizedPrompt] = []
        labels: list[float] = []
        for key in order:
            side = rng.choice(ORDERS)
            for case in groups[key]:
                prompts.append(tokens.prompt(label_prompt(case.problem, case.candidate, side)))
                labels.append(float(case.correct))
            batch = Batch(tuple(prompts), tuple(labels))
            if batch.tokens >= options.tokens_per_step:
                found.append(batch)
                prompts, labels = [], []
        if prompts:
            found.append(Batch(tuple(prompts), tuple(labels)))
    return found


class JudgeLearner:
    """Trains the adapter of ``policy``; goes on where a killed process stopped.

    Args:
        cases: examples with their labels.
        root: folder of checkpoints.
    Raises:
        ModelError: ``root`` holds the checkpoints of another training.
    """

    def __init__(
        self, policy: Policy, cases: Sequence[Case], options: LearnOptions, root: Path
    ) -> None:
        self._policy, self._options, self._root = policy, options, root
        self._tokens = LabelTokens(policy.tokenizer)
        self._batches = batches_of(cases, self._tokens, options)
        self._parameters = [p for _, p in policy.adapter_parameters()]
        self._optimizer = torch.optim.AdamW(
            self._parameters, lr=options.learning_rate, weight_decay=0.0, betas=(0.9, 0.99)
        )
        said = json.dumps([cases_sha256(cases), asdict(options)], sort_keys=True)
        self._identity = hashlib.sha256(said.encode()).hexdigest()[:16]
        self.step = 0
        self._resume()

    @property
    def steps(self) -> int:
        return len(self._batches)

    @property
    def tokens(self) -> int:
        """Of the whole training."""
        return sum(batch.tokens for batch in self._batches)

    def run(self, told: Callable[[StepReport], None], *, save_every_s: float = 300.0) -> None:
        """All steps that are left, with a checkpoint every while and at the end.

        Raises:
            TrainingError: the gradient is not finite; nothing was changed.
            OutputError: a checkpoint cannot be written.
        """
        saved = time.perf_counter()
        with self._policy.updating(), packed_attention(self._policy.base):
            while self.step < self.steps:
                batch = self._batches[self.step]
                at = time.perf_counter()
                loss, right, norm = self._one_step(batch)
                now = time.perf_counter()
                self.step += 1
                told(StepReport(self.step, self.steps, loss, right, norm, batch.tokens, now - at))
                if now - saved > save_every_s or self.step == self.steps:
                    self._save()
                    saved = now

    def _one_step(self, batch: Batch) -> tuple[float, float, float]:
        for group in self._optimizer.param_groups:
            group["lr"] = self._options.learning_rate * self._rate()
        self._optimizer.zero_grad(set_to_none=True)
        labels_S = torch.tensor(batch.labels_S, device=self._policy.device)
        row = pack_labels(self._tokens.root, batch.prompts_S, self._policy.device)
        log_odds_S = label_log_odds(self._policy.base, row, self._tokens.labels)
        loss = binary_cross_entropy_with_logits(log_odds_S, labels_S)
        torch.autograd.backward(loss)
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, self._options.max_grad_norm)
        if not torch.isfinite(norm):
            raise TrainingError(
                f"step {self.step}: gradient norm is {norm.item()}; nothing was changed. Train with "
                "a lower --learning-rate"
            )
        self._optimizer.step()
        if not all_finite(self._parameters):
            raise TrainingError(
                f"step {self.step}: it made weights that are no finite numbers; nothing was written. Train "
                "with a lower --learning-rate"
            )
        right = ((log_odds_S.detach() > 0) == (labels_S > 0.5)).float().mean().item()
        return loss.item(), right, norm.item()

    def _rate(self) -> float:
        """Linear warm-up, then linear decay to 0."""
        warm = max(1, round(self._options.warmup * self.steps))
        if self.step < warm:
            return (self.step + 1) / warm
        return (self.steps - self.step) / max(1, self.steps - warm)

    # ---------------------------------------------------------------------------- going on later
    def _save(self) -> None:
        tensors = optimizer_tensors(self._optimizer)
        state = {"step": self.step, "training": self._identity}
        config: dict[str, Any] = asdict(self._options)
        save_checkpoint(
            self._root, self.step, self._policy, state=state, tensors=tensors, config=config, keep=1
        )

    def _resume(self) -> None:
        """
        Raises:
            ModelError: the checkpoints are of other rows or options.
        """
        from safetensors.torch import load_file

        from llm_as_judge.policy.adapter import WEIGHTS

        folder = latest_checkpoint(self._root)
        if folder is None:
            return
        saved = load_state(folder)
        if saved.state.get("training") != self._identity:
            raise ModelError(
                f"{folder}: a training with other rows or options; name another --out, or remove it"
            )
        from peft import set_peft_model_state_dict

        set_peft_model_state_dict(self._policy.model, load_file(folder / WEIGHTS))
        load_optimizer(self._optimizer, saved.tensors)
        self.step = int(saved.state["step"])
        write_text(self._root / LATEST, f"{folder.name}\n")  # the disk may have been full before it
