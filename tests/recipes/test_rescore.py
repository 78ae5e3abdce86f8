"""Rewards of a run under other weights: worked by hand, and the run stays as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rescore as recipe
from llm_as_judge.config import Config
from llm_as_judge.errors import DataError
from llm_as_judge.reward import RewardOptions, reward_group
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.types import (
    Completion,
    Execution,
    Group,
    OperatorCall,
    Problem,
    Program,
    Rollout,
    Verdict,
)

PROBLEM = Problem("gsm8k/train/1", "gsm8k", "math", "?", ("1",))


def rollout(index: int, correct: bool, tokens: int) -> Rollout:
    execution = Execution("ok", "1", (OperatorCall("Custom", tokens, llm_calls=1),))
    program = Program("a", "a", worst_case_calls=1, hash=f"{index}")
    completion = Completion((1,), (2,), (-1.0,), "a", "stop")
    verdict = Verdict(correct, "exact", "r")
    return Rollout(PROBLEM.id, index, completion, program, execution, verdict)


def run_folder(folder: Path) -> None:
    """Two steps of the same problem: right but dear, wrong but cheap."""
    log = RunLog(folder)
    log.write_config(Config().model_dump(mode="json"))
    rollouts = [rollout(0, True, 4000), rollout(1, False, 100)]
    for step in (1, 2):
        log.groups(step, [Group(PROBLEM, reward_group(rollouts, RewardOptions()))])


def test_rewards_are_those_of_the_other_weights_and_the_run_stays_as_it_is(tmp_path: Path) -> None:
    run_folder(tmp_path)
    before = (tmp_path / "rollouts.jsonl").read_bytes()
    others = dict.fromkeys(("correctness", "simplicity", "format", "repetition"), 0.0)
    cost_alone = RewardOptions(weights={"efficiency": 1.0, **others})
    steps = recipe.rescore(tmp_path, cost_alone)
    assert [(row.step, row.scored, row.reordered) for row in steps] == [(1, 2, 1.0), (2, 2, 1.0)]
    lines = (tmp_path / "rescored.jsonl").read_text().splitlines()
    totals = [json.loads(line)["rollout"]["reward"]["total"] for line in lines]
    # median of 4000 and 100 tokens: 2050; (0 + 10 - 10 * 4000 / 2050) / 2 and so on
    dear = (0.0 + 10 * (1 - 4000 / 2050)) / 2
    cheap = (10 * (1 - 100 / 4000) + 10 * (1 - 100 / 2050)) / 2
    assert totals == pytest.approx([dear, cheap] * 2)
    assert steps[0].after == pytest.approx((dear + cheap) / 2)
    assert (tmp_path / "rollouts.jsonl").read_bytes() == before


def test_the_runs_own_weights_change_nothing(tmp_path: Path) -> None:
    run_folder(tmp_path)
    assert [step.reordered for step in recipe.rescore(tmp_path, RewardOptions())] == [0, 0]
    assert (tmp_path / "rescored.jsonl").read_bytes() == (tmp_path / "rollouts.jsonl").read_bytes()


def test_what_is_no_rollout_is_named_by_its_line(tmp_path: Path) -> None:
    run_folder(tmp_path)
    with (tmp_path / "rollouts.jsonl").open("a") as file:
        file.write('{"step": 3, "rollout": {"index": 1}}\n')
    with pytest.raises(DataError, match=r"rollouts\.jsonl:5: "):
        recipe.rescore(tmp_path, RewardOptions())


def test_a_cut_run_is_refused_because_a_group_lacks_members(tmp_path: Path) -> None:
    run_folder(tmp_path)
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match="ends in half a line"):
        recipe.rescore(tmp_path, RewardOptions())
    assert not (tmp_path / "rescored.jsonl").exists()
