"""The configuration tree: a value in one place, every field with its meaning and unit."""

from __future__ import annotations

from llm_as_judge.config.data import DataConfig, EvaluationConfig
from llm_as_judge.config.grading import JudgeConfig, RewardConfig
from llm_as_judge.config.output import OutputConfig, TrackingConfig
from llm_as_judge.config.policy import ExperienceConfig, PolicyConfig, SamplingConfig
from llm_as_judge.config.reading import Section
from llm_as_judge.config.running import BudgetConfig, CallsConfig, ExecutorConfig, WorkflowConfig
from llm_as_judge.config.training import TrainingConfig
from llm_as_judge.config.workers import WorkersConfig


class Config(Section):
    """Everything a run needs; written beside every checkpoint."""

    policy: PolicyConfig = PolicyConfig()
    sampling: SamplingConfig = SamplingConfig()
    executor: ExecutorConfig = ExecutorConfig()
    judge: JudgeConfig = JudgeConfig()
    workflow: WorkflowConfig = WorkflowConfig()
    workers: WorkersConfig = WorkersConfig()
    reward: RewardConfig = RewardConfig()
    calls: CallsConfig = CallsConfig()
    budget: BudgetConfig = BudgetConfig()
    experience: ExperienceConfig = ExperienceConfig()
    training: TrainingConfig = TrainingConfig()
    data: DataConfig = DataConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    tracking: TrackingConfig = TrackingConfig()
    output: OutputConfig = OutputConfig()
