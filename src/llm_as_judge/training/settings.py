"""Configuration -> the learner, and which settings a finished rollout depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llm_as_judge.config import Config, LossKeys
from llm_as_judge.config.grading import reward_keys
from llm_as_judge.policy.backends import sampler_backend
from llm_as_judge.policy.model import Policy
from llm_as_judge.renamed import with_new_keys
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.learner import Learner, OptimizerOptions
from llm_as_judge.training.ranks import Peers
from llm_as_judge.training.reference import UpdatePath

MADE_BY = ("policy", "sampling", "executor", "executors", "reward", "experience", "training")
"""Sections that decide which programs a step writes, what they answer and what is learned from
them. Rollouts that were made under other settings would be taken for what they are not."""
MAY_CHANGE = frozenset(
    {
        "policy.device",
        "policy.gradient_checkpointing",
        "sampling.generation_batch_size",
        "sampling.replicas",
        "sampling.adapters",
        "sampling.outage_s",
        "sampling.timeout_s",
        "executor.concurrency",
        "executor.context_tokens",
        "executor.slots",
        "executor.start_timeout_s",
        "executor.timeout_s",
        "executor.retries",
        "experience.folder",
        "training.steps",
        "training.tokens_per_micro_batch",
        "training.max_logprob_gap",
        "training.max_failed_fraction",
        "training.max_staleness",
        "training.save_every",
        "training.keep_checkpoints",
        "training.grace_s",
        "training.rank_timeout_s",
    }
)
"""Settings of these sections that do not."""


def rollout_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a resolved configuration that a finished rollout depends on, by dotted key."""
    whole = {**with_new_keys(config), "reward": reward_keys(config.get("reward", {}))}
    found = {
        f"{section}.{key}": value
        for section in MADE_BY
        for key, value in whole.get(section, {}).items()
    }
    if "draws" in whole.get("workflow", {}):
        found["workflow.draws"] = whole["workflow"]["draws"]
    if found.get("reward.scheme") != "priced":  # the other schemes tell and pay none
        found.pop("reward.budget", None)
    return {key: value for key, value in found.items() if key not in MAY_CHANGE}


def imitator_of(
    config: Config, policy: Policy, updates: int, path: UpdatePath, peers: Peers | None = None
) -> Learner:
    """A learner for the stage of ``updates`` before the first step: its rate falls to 0."""
    training = config.training
    return Learner(
        policy,
        LossOptions(),
        OptimizerOptions(
            learning_rate=training.warm_start_learning_rate or training.learning_rate,
            schedule="linear",
            total_steps=updates,
            weight_decay=training.weight_decay,
            max_grad_norm=training.max_grad_norm,
            tokens_per_micro_batch=training.tokens_per_micro_batch,
        ),
        path=path,
        peers=peers,
    )


def learner_of(config: Config, policy: Policy, steps: int, peers: Peers | None = None) -> Learner:
    """A learner for ``policy``, with a schedule for at least ``steps`` steps."""
    training = config.training
    return Learner(
        policy,
        LossOptions(
            **{key: getattr(training, key) for key in LossKeys.model_fields},
            constant_tokens=config.sampling.max_new_tokens,
            entropy_floor=training.entropy_floor,
        ),
        OptimizerOptions(
            learning_rate=training.learning_rate,
            warmup_steps=training.warmup_steps,
            schedule=training.schedule,
            # not `steps` alone: a run in two parts has the learning rates of the whole
            total_steps=max(steps, training.steps),
            weight_decay=training.weight_decay,
            max_grad_norm=training.max_grad_norm,
            epochs=training.epochs_per_step,
            tokens_per_micro_batch=training.tokens_per_micro_batch,
            max_logprob_gap=training.max_logprob_gap,
            own_sampler=sampler_backend(config.sampling).own_weights,
        ),
        peers=peers,
    )
