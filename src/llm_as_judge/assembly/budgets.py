"""The budget that a policy is told for a problem that it learns from.

The word is a function of seed, moment and problem: nothing is remembered, so that a run that goes on from a
checkpoint tells what the unbroken one would have told.
"""

from __future__ import annotations

from collections.abc import Sequence

from llm_as_judge.config import Config
from llm_as_judge.data.mix import named_rng
from llm_as_judge.types import BUDGETS, Budget, Problem


def budgets_told(
    config: Config, problems_P: Sequence[Problem], *moment: str | int
) -> list[Budget | None]:
    """The word of each problem; None where the reward has no budget. All three are equally likely.

    Args:
        moment: names step or epoch: at another one a problem has a word of its own.
    """
    if not config.reward.draws_budgets:
        return [config.reward.told_budget] * len(problems_P)
    return [budget_of(config, problem.id, *moment) for problem in problems_P]


def budget_of(config: Config, problem_id: str, *moment: str | int) -> Budget:
    """The word that is drawn for a problem, where words are drawn."""
    return named_rng(config.training.seed, "budget", *moment, problem_id).choice(BUDGETS)
