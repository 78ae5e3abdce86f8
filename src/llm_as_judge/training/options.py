"""Options of a training run, and the live objects that it works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from llm_as_judge.llm.estimate import Estimate, Means
from llm_as_judge.training.budgets import PromptBudgets

if TYPE_CHECKING:  # options are made, and a bank is read, before torch is loaded
    from llm_as_judge.judge.cascade import Judge
    from llm_as_judge.llm.ledger import Ledger
    from llm_as_judge.policy.memory import Memory
    from llm_as_judge.policy.model import Policy
    from llm_as_judge.policy.prompt import PolicyPrompt
    from llm_as_judge.policy.thread import PolicyThread
    from llm_as_judge.rollout import RolloutRunner
    from llm_as_judge.types import PolicySampler
    from llm_as_judge.workers import Work


WarmStartMode = Literal["best", "form"]


@dataclass(frozen=True, slots=True)
class WarmStartOptions:
    """The stage before the first step."""

    bank: Path | None
    """Folder; None = no such stage."""
    mode: WarmStartMode
    """``best``: the best programs of each problem; ``form``: programs of all kinds, alike on every problem."""
    epochs: int
    problems_per_update: int
    save_every: int
    """Updates between two checkpoints."""
    budgets: PromptBudgets
    temperature: float
    max_new_tokens: int
    max_calls: int
    """A program that could make more executor calls is not taught."""
    form: Literal["class", "body"]
    operators: tuple[str, ...] | None
    """That the prompt shows; None = all."""
    executors: tuple[str, ...]
    """Names of those beside the default one."""
    learning_rate: float
    weight_decay: float
    max_grad_norm: float
    tokens_per_micro_batch: int


@dataclass(frozen=True, slots=True)
class RunOptions:
    """A run made of steps."""

    seed: int
    samples_per_problem: int
    temperature: float
    max_new_tokens: int
    max_staleness: int
    save_every: int
    keep_checkpoints: int
    max_failed_fraction: float
    max_ungraded_fraction: float
    budgets: PromptBudgets
    base_model: str
    resolved: Mapping[str, Any]
    """The configuration as it is written down."""
    prompt: Mapping[str, Any]
    """Record of the prompt that the policy is trained under."""
    origins: Mapping[str, Mapping[str, Any]]
    """Set -> how many of its problems are trained on, and where its rows came from."""
    changed_setting: Callable[[Mapping[str, Any]], tuple[str, Any, Any] | None]
    """Of an earlier resolved configuration: (key, then, now) of a setting that finished rollouts depend on."""
    estimate: Callable[[int, Means | None], Estimate]
    """Of so many steps, by what a call took so far."""


@dataclass(frozen=True, slots=True)
class TrainingContext:
    """Policy, executor, judge and where programs run, open."""

    policy: Policy
    prompt: PolicyPrompt
    sampler: PolicySampler
    runner: RolloutRunner
    on_policy: PolicyThread
    """Sampling and updates take turns on it."""
    memory: Memory | None
    ledger: Ledger
    judge: Judge
    work: Work
