"""Rollouts not yet learned from: whatever moment a process dies at, the next one has them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from llm_as_judge.errors import DataError, OutputError
from llm_as_judge.runs.pending import Kept, PendingRollouts, Place
from llm_as_judge.runs.runlog import PENDING, ROLLOUTS, RunLog
from llm_as_judge.types import (
    Completion,
    Execution,
    Failure,
    Group,
    Problem,
    Program,
    PromptFacts,
    Reward,
    RewardPart,
    Rollout,
    Verdict,
)

PROBLEM = Problem("gsm8k/train/0", "gsm8k", "math", "2 + 2?", ("4",))
BARE = Rollout(PROBLEM.id, 0, Completion((1,), (2,), (-0.5,), "t", "stop"), Program("t", "t"))
SHOWN = PromptFacts(examples=2, retrieved=("gsm8k/train/9",))
ENDED = replace(
    BARE, execution=Execution("ok", "4", seconds=2.5), verdict=Verdict(True, "exact", "r")
)
REWARDED = replace(ENDED, reward=Reward({"all": RewardPart(10.0, 1.0)}, 10.0))


def test_the_last_word_on_a_place_holds(tmp_path: Path) -> None:
    pending = PendingRollouts(tmp_path, 2)
    pending.add(Place(1, 0, 0), Kept(BARE, SHOWN))
    pending.add(Place(1, 1, 0), Kept(BARE, SHOWN))
    pending.add(Place(1, 0, 0), Kept(ENDED, SHOWN))
    found = PendingRollouts(tmp_path, 2).recover(0)
    assert found == {Place(1, 0, 0): Kept(ENDED, SHOWN), Place(1, 1, 0): Kept(BARE, SHOWN)}


def test_a_line_cut_by_a_kill_is_the_state_before_it(tmp_path: Path) -> None:
    pending = PendingRollouts(tmp_path, 2)
    pending.add(Place(1, 0, 0), Kept(BARE, SHOWN))
    with (tmp_path / PENDING).open("a") as file:
        file.write('{"step": 1, "group": 0, "roll')
    again = PendingRollouts(tmp_path, 2)
    assert again.recover(0) == {Place(1, 0, 0): Kept(BARE, SHOWN)}
    again.add(Place(1, 0, 0), Kept(ENDED, SHOWN))  # not glued to the torn line
    assert PendingRollouts(tmp_path, 2).recover(0) == {Place(1, 0, 0): Kept(ENDED, SHOWN)}


def test_a_step_that_is_logged_leaves_and_the_next_stays(tmp_path: Path) -> None:
    pending = PendingRollouts(tmp_path, 2)
    for step in (1, 2):
        pending.add(Place(step, 0, 0), Kept(ENDED, SHOWN))
    pending.drop(1)
    assert list(PendingRollouts(tmp_path, 2).recover(0)) == [Place(2, 0, 0)]
    pending.drop(2)
    assert not (tmp_path / PENDING).exists()


def test_logged_steps_after_the_checkpoint_come_back_unrewarded(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    for step in (1, 2, 3):
        log.groups(step, [Group(PROBLEM, (REWARDED,), SHOWN)] * 2)
    PendingRollouts(tmp_path, 2).add(
        Place(3, 1, 0), Kept(ENDED, SHOWN)
    )  # killed before it was dropped
    found = PendingRollouts(tmp_path, 2).recover(1)
    assert sorted(found) == [Place(2, 0, 0), Place(2, 1, 0), Place(3, 0, 0), Place(3, 1, 0)]
    assert {kept.rollout.reward for kept in found.values()} == {None}
    assert found[Place(3, 1, 0)] == Kept(ENDED, SHOWN)  # with its seconds
    log.cut_after(1)
    assert PendingRollouts(tmp_path, 2).recover(1) == found


@pytest.mark.parametrize(
    ("rollout", "kept"),
    [
        (replace(BARE, failure=Failure("execute", "EndpointError", "down")), BARE),
        (
            replace(BARE, execution=ENDED.execution, failure=Failure("grade", "SandboxError", "x")),
            replace(BARE, execution=ENDED.execution),
        ),
        (
            replace(ENDED, verdict=Verdict(None, "llm", "unreadable")),
            replace(BARE, execution=ENDED.execution),
        ),
        (
            replace(ENDED, verdict=Verdict(False, "exact", "r")),
            replace(ENDED, verdict=Verdict(False, "exact", "r")),
        ),
    ],
    ids=["endpoint down", "sandbox broke while grading", "not graded", "wrong"],
)
def test_what_failed_by_our_fault_is_done_again_from_where_it_failed(
    tmp_path: Path, rollout: Rollout, kept: Rollout
) -> None:
    PendingRollouts(tmp_path, 2).add(Place(1, 0, 0), Kept(rollout, SHOWN))
    assert PendingRollouts(tmp_path, 2).recover(0) == {Place(1, 0, 0): Kept(kept, SHOWN)}


def test_an_empty_folder_has_nothing_and_gets_no_file(tmp_path: Path) -> None:
    assert PendingRollouts(tmp_path, 2).recover(0) == {}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("row", [{"step": 1, "rollout": {}, "prompt": {}}, {"step": 1, "group": 0}])
def test_a_row_that_is_no_rollout_is_named_by_file_and_line(
    tmp_path: Path, row: dict[str, object]
) -> None:
    (tmp_path / PENDING).write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=r"pending\.jsonl:1: not a rollout of a step"):
        PendingRollouts(tmp_path, 2).recover(0)


def test_a_learned_row_that_is_no_rollout_is_named_by_file_and_line(tmp_path: Path) -> None:
    RunLog(tmp_path).groups(1, [Group(PROBLEM, (REWARDED,), SHOWN)])
    with (tmp_path / ROLLOUTS).open("a") as file:
        file.write('{"step": 2, "group": 0}\n')
    with pytest.raises(DataError, match=r"rollouts\.jsonl:2: not a rollout of a step"):
        PendingRollouts(tmp_path, 2).recover(0)


def test_a_folder_that_is_gone_is_an_output_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        PendingRollouts(tmp_path / "gone", 2).add(Place(1, 0, 0), Kept(BARE, SHOWN))
