"""The configuration tree: a value in one place, every field with its meaning and unit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from llm_as_judge.config.data import DataConfig, EvaluationConfig
from llm_as_judge.config.grading import JudgeConfig, RewardConfig
from llm_as_judge.config.policy import ExperienceConfig, PolicyConfig, SamplingConfig
from llm_as_judge.config.reading import Section
from llm_as_judge.config.running import (
    BudgetConfig,
    CallsConfig,
    ExecutorConfig,
    NamedExecutorConfig,
    StopConfig,
    WorkersConfig,
    WorkflowConfig,
    checked_executor_names,
)
from llm_as_judge.config.training import TrainingConfig
from llm_as_judge.plugins import load_plugins
from llm_as_judge.renamed import with_new_keys


class TrackingConfig(Section):
    """Trackers beside metrics.jsonl, which is always written."""

    sinks: tuple[Literal["wandb", "otel"], ...] = Field(
        (), description="Trackers to show the run in; each is an extra of the same name."
    )
    project: str | None = Field(
        None, description="Project of the trackers; default: WANDB_PROJECT, else llm-as-judge."
    )
    online: bool = Field(
        False,
        description="Send figures while the run goes on. false: all stays on this machine.\n"
        "W&B needs WANDB_API_KEY. otel sends to OTEL_EXPORTER_OTLP_ENDPOINT.",
    )


class OutputConfig(Section):
    """Where results go."""

    checkpoints: Path = Field(Path("checkpoints"), description="checkpoints/MODEL/grpo_mixed.")
    logs: Path = Field(Path("logs"), description="Run directories and logs.")
    results: Path = Field(Path("results"), description="results/evaluation/MODEL_results.json.")
    cache: Path | None = Field(
        None, description="Weights and downloads; default ~/.cache/llm-as-judge."
    )

    def cache_dir(self) -> Path:
        if self.cache is not None:
            return self.cache
        return Path(os.environ.get("LLM_AS_JUDGE_CACHE", "~/.cache/llm-as-judge")).expanduser()


class Config(Section):
    """Everything a run needs; written beside every checkpoint."""

    policy: PolicyConfig = PolicyConfig()
    sampling: SamplingConfig = SamplingConfig()
    executor: ExecutorConfig = ExecutorConfig()
    executors: dict[str, NamedExecutorConfig] = Field(
        {},
        description="Further executors, by the names that programs call them (docs/programs.md); keys below.",
    )
    judge: JudgeConfig = JudgeConfig()
    workflow: WorkflowConfig = WorkflowConfig()
    workers: WorkersConfig = WorkersConfig()
    reward: RewardConfig = Field(default_factory=RewardConfig)  # after the plugins
    calls: CallsConfig = CallsConfig()
    budget: BudgetConfig = BudgetConfig()
    stop: StopConfig = StopConfig()
    experience: ExperienceConfig = ExperienceConfig()
    training: TrainingConfig = TrainingConfig()
    data: DataConfig = DataConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    tracking: TrackingConfig = TrackingConfig()
    output: OutputConfig = OutputConfig()
    plugins: tuple[str, ...] = Field(
        (),
        description="Your own Python modules: reward parts, graders, operators, data sets, samplers, "
        "judges.\n"
        "Python finds them as usual, and last in the current folder.\n"
        "Their code is run: name only modules you trust.",
    )

    _commanded: frozenset[str] = PrivateAttr(default=frozenset())
    """Dotted keys that a command line set, by ``--set`` or an option of their own."""

    @property
    def commanded(self) -> frozenset[str]:
        return self._commanded

    def as_commanded(self, keys: Iterable[str]) -> Config:
        """The same configuration, of a command line that set ``keys``."""
        found = self.model_copy()
        found._commanded = frozenset(keys)  # noqa: SLF001 (a copy of this one)
        return found

    @model_validator(mode="after")
    def _fits_together(self) -> Config:
        checked_executor_names(self.executors)
        threshold = self.experience.reward_threshold
        if self.experience.enabled and self.reward.scheme == "priced" and threshold > 1:
            raise ValueError(
                f"experience.reward_threshold: {threshold:g}, but the reward "
                "scheme priced gives at most 1; set it to 0.9 or so, or experience.enabled to false"
            )
        return self

    @model_validator(mode="before")
    @classmethod
    def _with_plugins(cls, given: Any) -> Any:
        """Imported before any section is checked: what they add may be named in it."""
        if not isinstance(given, Mapping):
            return given
        named = given.get("plugins", ())
        if isinstance(named, list | tuple) and all(isinstance(name, str) for name in named):
            load_plugins(named)  # anything else is refused with its key
        return with_new_keys(given)  # a record of an earlier run
