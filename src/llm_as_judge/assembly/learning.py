"""Configuration -> options of training and the learner; settings that a finished rollout depends on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from llm_as_judge.assembly.executor_settings import training_estimate
from llm_as_judge.assembly.trained_prompt import PromptRecord
from llm_as_judge.config import Config
from llm_as_judge.config.grading import reward_keys
from llm_as_judge.config.reading import options_of
from llm_as_judge.data.files import ProblemFile
from llm_as_judge.data.manifest import origins_of
from llm_as_judge.judge.kinds import rules_alone
from llm_as_judge.policy.backends import sampler_backend
from llm_as_judge.renamed import with_new_keys
from llm_as_judge.training.budgets import PromptBudgets
from llm_as_judge.training.judge_watch import WatchOptions
from llm_as_judge.training.options import RunOptions, WarmStartOptions

if TYPE_CHECKING:
    from llm_as_judge.policy.model import Policy
    from llm_as_judge.training.learner import Learner
    from llm_as_judge.training.ranks import Peers

MADE_BY = ("policy", "sampling", "executor", "executors", "reward", "experience", "training")
"""Sections that decide which programs a step writes, what they answer and what is learned from
them. Rollouts that were made under other settings would be taken for what they are not."""
MAY_CHANGE = frozenset(
    {
        "policy.device",
        "policy.gradient_checkpointing",
        "sampling.generation_batch_size",
        "sampling.server",
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


def changed_setting(config: Config, earlier: Mapping[str, Any]) -> tuple[str, Any, Any] | None:
    """(key, then, now) of a setting that finished rollouts depend on and that has changed; None: all are as they were.

    Args:
        earlier: resolved configuration of a run.
    """
    then, now = (rollout_settings(c) for c in (earlier, config.model_dump(mode="json")))
    changed = (key for key in now if key in then and then[key] != now[key])
    return next(((key, then[key], now[key]) for key in changed), None)


def prompt_budgets(config: Config) -> PromptBudgets:
    reward = config.reward
    return PromptBudgets(
        config.training.seed, reward.one_budget, reward.prompt_budget, reward.draws_budgets
    )


def warm_start_options(config: Config) -> WarmStartOptions:
    training = config.training
    return options_of(
        WarmStartOptions,
        training,
        config.sampling,
        bank=training.warm_start,
        mode=training.warm_start_mode,
        epochs=training.warm_start_epochs,
        problems_per_update=training.problems_per_step,
        budgets=prompt_budgets(config),
        max_calls=config.workflow.max_worst_case_calls,
        executors=tuple(config.executors),
        learning_rate=training.warm_start_learning_rate or training.learning_rate,
    )


def run_options(config: Config, problems: ProblemFile) -> RunOptions:
    """Options of a run on these problems.

    Raises:
        DataError: the manifest of the data sets cannot be read.
    """
    origins = origins_of(
        zip(problems.datasets, problems.ids, strict=True), config.data.data_dir / "raw"
    )
    return options_of(
        RunOptions,
        config.training,
        config.sampling,
        config.judge,
        budgets=prompt_budgets(config),
        base_model=config.policy.name,
        resolved=config.model_dump(mode="json"),
        prompt=PromptRecord.of(config).model_dump(mode="json"),
        origins=origins,
        changed_setting=partial(changed_setting, config),
        estimate=lambda steps, measured: training_estimate(config, steps, problems, measured),
    )


def watch_options(config: Config) -> WatchOptions:
    return options_of(WatchOptions, config.judge, rules_alone=rules_alone(config.judge))


def learner_of(config: Config, policy: Policy, steps: int, peers: Peers | None = None) -> Learner:
    """A learner for ``policy``, with a schedule for at least ``steps`` steps."""
    # Imported here: a dry run makes options without torch.
    from llm_as_judge.training.grpo import LossOptions
    from llm_as_judge.training.learner import Learner, OptimizerOptions

    training = config.training
    return Learner(
        policy,
        options_of(LossOptions, training, constant_tokens=config.sampling.max_new_tokens),
        options_of(
            OptimizerOptions,
            training,
            # not `steps` alone: a run in two parts has the learning rates of the whole
            total_steps=max(steps, training.steps),
            epochs=training.epochs_per_step,
            own_sampler=sampler_backend(config.sampling).own_weights,
        ),
        peers=peers,
    )
