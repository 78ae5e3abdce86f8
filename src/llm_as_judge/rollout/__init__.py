"""From a problem to a group of K scored rollouts; ``line.py`` is what to read first."""

from llm_as_judge.rollout.batch import Batch, RolloutEvent
from llm_as_judge.rollout.environment import Environment, WorkflowEnvironment
from llm_as_judge.rollout.runner import RolloutRunner

__all__ = ["Batch", "Environment", "RolloutEvent", "RolloutRunner", "WorkflowEnvironment"]
