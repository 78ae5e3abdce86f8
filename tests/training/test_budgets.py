"""The budget that a policy is told: a function of seed, moment and problem."""

from __future__ import annotations

from collections import Counter

from llm_as_judge.assembly.learning import prompt_budgets
from llm_as_judge.config import Config
from llm_as_judge.training.budgets import PromptBudgets
from llm_as_judge.types import BUDGETS, Problem

PROBLEMS = [Problem(f"gsm8k/train/{n}", "gsm8k", "math", "?", ("1",)) for n in range(600)]


DRAWN = PromptBudgets(0, "middle", "middle", drawn=True)


def test_a_word_depends_on_seed_moment_and_problem_alone() -> None:
    words = DRAWN.of(PROBLEMS, "step", 7)
    assert DRAWN.of(PROBLEMS[::-1], "step", 7) == words[::-1]
    assert DRAWN.of(PROBLEMS[5:9], "step", 7) == words[5:9]
    assert DRAWN.of(PROBLEMS, "step", 8) != words
    assert PromptBudgets(1, "middle", "middle", drawn=True).of(PROBLEMS, "step", 7) != words


def test_all_words_are_equally_likely() -> None:
    counts = Counter(DRAWN.of(PROBLEMS, "step", 1))
    assert set(counts) == set(BUDGETS)
    assert all(abs(count - 200) < 60 for count in counts.values())  # five deviations


def test_a_configured_word_is_told_for_all_problems_and_none_under_another_scheme() -> None:
    for reward, told in (
        ({"scheme": "priced", "budget": "low"}, "low"),
        ({"budget": "low"}, None),
    ):
        budgets = prompt_budgets(Config.model_validate({"reward": reward}))
        assert set(budgets.of(PROBLEMS, "step", 1)) == {told}
    assert prompt_budgets(Config.model_validate({"reward": {"scheme": "priced"}})) == DRAWN
