"""The configuration tree: a value in one place, every field with its meaning and unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field, PrivateAttr, model_validator

from llm_as_judge.config.data import DataConfig, EvaluationConfig
from llm_as_judge.config.grading import JudgeConfig, RewardConfig
from llm_as_judge.config.output import OutputConfig, TrackingConfig
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

    @property
    def commanded(self) -> frozenset[str]:
        """Dotted keys that a command line set, by ``--set`` or an option of their own."""
        return self._commanded

    def as_commanded(self, keys: Iterable[str]) -> Config:
        """The same configuration, of a command line that set ``keys``."""
        found = self.model_copy()
        found._commanded = frozenset(keys)  # noqa: SLF001 (a copy of this one)
        return found

    @model_validator(mode="after")
    def _executors_that_can_be_named(self) -> Config:
        checked_executor_names(self.executors)
        return self

    @model_validator(mode="after")
    def _threshold_within_reach(self) -> Config:
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
