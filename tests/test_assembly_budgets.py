"""The budget that a policy is told: a function of seed, moment and problem."""

from __future__ import annotations

from collections import Counter

from llm_as_judge.assembly.budgets import budgets_told
from llm_as_judge.config import Config
from llm_as_judge.types import BUDGETS, Problem

PROBLEMS = [Problem(f"gsm8k/train/{n}", "gsm8k", "math", "?", ("1",)) for n in range(600)]


def config(seed: int = 0, **reward: str) -> Config:
    return Config.model_validate({"reward": reward, "training": {"seed": seed}})


def test_a_word_depends_on_seed_moment_and_problem_alone() -> None:
    priced = config(scheme="priced")
    words = budgets_told(priced, PROBLEMS, "step", 7)
    assert budgets_told(priced, PROBLEMS[::-1], "step", 7) == words[::-1]
    assert budgets_told(priced, PROBLEMS[5:9], "step", 7) == words[5:9]
    assert budgets_told(priced, PROBLEMS, "step", 8) != words
    assert budgets_told(config(1, scheme="priced"), PROBLEMS, "step", 7) != words


def test_all_words_are_equally_likely() -> None:
    counts = Counter(budgets_told(config(scheme="priced"), PROBLEMS, "step", 1))
    assert set(counts) == set(BUDGETS)
    assert all(abs(count - 200) < 60 for count in counts.values())  # five deviations


def test_a_configured_word_is_told_for_all_problems_and_none_under_another_scheme() -> None:
    low = config(scheme="priced", budget="low")
    assert set(budgets_told(low, PROBLEMS, "step", 1)) == {"low"}
    assert set(budgets_told(config(budget="low"), PROBLEMS, "step", 1)) == {None}
