"""Break-even worked by hand; a run whose tokens are not known has none."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from evaluation_values import problem as made
from evaluation_values import rollout
from written_results import system

from break_even import break_even, training_tokens
from llm_as_judge.errors import DataError
from llm_as_judge.runs.runlog import ROLLOUTS, RunLog
from llm_as_judge.types import Group


def test_training_is_paid_back_by_what_a_query_saves(tmp_path: Path) -> None:
    trained = system(tmp_path, "t", "yy", 30, overall={"policy_tokens": 20.0})
    other = system(tmp_path, "o", "yy", 90)
    assert break_even(trained, other, 4000) == 4000 / (90 - 50)
    assert break_even(other, trained, 4000) is None


def test_training_tokens_are_all_of_them(tmp_path: Path) -> None:
    of = made(0)
    # each rollout: 2 prompt and 1 written token of the policy, 40 of the executor
    RunLog(tmp_path).groups(1, [Group(of, (rollout(of), rollout(of, index=1)))])
    assert training_tokens(tmp_path) == 2 * 43


def test_a_run_without_the_policys_tokens_has_no_break_even(tmp_path: Path) -> None:
    of = made(0)
    bare = replace(rollout(of).completion, prompt_ids=(), token_ids=(), logprobs=(), text="0f3a")
    RunLog(tmp_path).groups(1, [Group(of, (replace(rollout(of), completion=bare),))])
    with pytest.raises(DataError, match="tokens of the policy are not in it"):
        training_tokens(tmp_path)


def test_a_run_without_rollouts_has_no_break_even(tmp_path: Path) -> None:
    for said in (f"no run there (no {ROLLOUTS}); ", "no rollout in it; "):
        wanted = "wanted the folder of a training run, logs/train_MODEL_TIME"
        with pytest.raises(DataError, match=re.escape(said + wanted)):
            training_tokens(tmp_path)
        (tmp_path / ROLLOUTS).touch()
