"""A damaged checkpoint costs the steps since the one before it, and is said."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.assembly.learning import changed_setting
from llm_as_judge.config import Config
from llm_as_judge.errors import ModelError
from llm_as_judge.policy.checkpoint import LATEST, MANIFEST, save_checkpoint
from llm_as_judge.policy.model import Policy
from llm_as_judge.runs.pending import Kept, PendingRollouts, Place
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.training.resuming import Recovered, resumable
from llm_as_judge.types import (
    Completion,
    Execution,
    Problem,
    Program,
    PromptFacts,
    Rollout,
    Verdict,
)
from tiny_models import tiny_policy

LEARNER = {"scheduler_step": 3, "updates": 2, "policy_version": 2}


@pytest.fixture(scope="module")
def policy(tiny_weights: Path) -> Policy:
    return tiny_policy(tiny_weights)


def save(root: Path, step: int, policy: Policy, run: str = "logs/one", **changes: Any) -> Path:
    state = {
        "step": step,
        "learner": LEARNER,
        "sampler": {"drawn": 2 * step},
        "run_dir": run,
        **changes,
    }
    return save_checkpoint(root, step, policy, state=state, tensors={}, config={}, keep=9)


def damage(folder: Path, name: str) -> None:
    path = folder / name
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def resumed(root: Path) -> tuple[str, list[str]]:
    said: list[str] = []
    return resumable(root, said.append).folder.name, said


def test_a_whole_checkpoint_is_taken_without_a_word(tmp_path: Path, policy: Policy) -> None:
    for step in (0, 2, 4):
        save(tmp_path, step, policy)
    assert resumed(tmp_path) == ("step_4", [])


@pytest.mark.parametrize(
    "name", ["state.json", "optimizer.safetensors", "adapter_model.safetensors", MANIFEST]
)
def test_of_a_damaged_one_the_one_before_it_is_taken_and_this_is_said(
    tmp_path: Path, policy: Policy, name: str
) -> None:
    for step in (0, 2, 4):
        save(tmp_path, step, policy)
    damage(tmp_path / "step_4", name)
    taken, said = resumed(tmp_path)
    assert taken == "step_2"
    assert len(said) == 1
    assert "step_4" in said[0]
    assert name in said[0]
    assert "going on from the one before it, step_2 of logs/one" in said[0]
    damage(tmp_path / "step_2", "state.json")
    assert resumed(tmp_path)[0] == "step_0"


def test_an_older_run_is_not_gone_on_with_in_place_of_a_damaged_new_one(
    tmp_path: Path, policy: Policy
) -> None:
    save(tmp_path, 100, policy, run="logs/older")
    save(tmp_path, 0, policy)
    damage(save(tmp_path, 2, policy), "optimizer.safetensors")
    assert resumed(tmp_path)[0] == "step_0"
    damage(tmp_path / "step_0", "optimizer.safetensors")
    with pytest.raises(ModelError, match=r"step_2: .*no checkpoint under .* can be gone on from"):
        resumed(tmp_path)


def test_with_the_pointer_lost_too_the_one_written_last_is_taken(
    tmp_path: Path, policy: Policy
) -> None:
    for step in (50, 2, 4):
        save(tmp_path, step, policy)
    damage(tmp_path / "step_50", "state.json")
    (tmp_path / LATEST).unlink()
    assert resumed(tmp_path)[0] == "step_4"


@pytest.mark.parametrize(
    "changes",
    [
        {"step": -1},
        {"step": True},
        {"step": 10**30},
        {"learner": None},
        {"learner": {**LEARNER, "updates": "2"}},
        {"sampler": []},
        {"sampler": {"drawn": 10**18}},
        {"run_dir": None},
        {"judges": [3]},
        {"judge_watch": []},
    ],
    ids=str,
)
def test_a_state_that_no_run_could_have_written_is_damage_too(
    tmp_path: Path, policy: Policy, changes: dict[str, Any]
) -> None:
    save(tmp_path, 1, policy)
    folder = save(tmp_path, 2, policy)
    state = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps({**state, **changes}))
    (folder / MANIFEST).unlink()
    taken, said = resumed(tmp_path)
    assert taken == "step_1"
    assert "step_2: not a checkpoint of a run" in said[0]


def test_what_older_rules_graded_is_graded_again_and_not_run_again(tmp_path: Path) -> None:
    log, config = RunLog(tmp_path), Config()
    log.write_config(config.model_dump(mode="json"))
    completion = Completion((1,), (2,), (-1.0,), "t", "stop")
    verdict, execution = Verdict(True, "exact", "r"), Execution("ok", "4")
    done = Rollout("m/1", 0, completion, Program("a", "a"), execution, verdict)
    PendingRollouts(tmp_path, 2).add(Place(1, 0, 0), Kept(done, PromptFacts()))
    row = Problem("m/1", "m", "math", "2 + 2?", ("4",))
    for again, wanted in ((False, verdict), (True, None)):
        recovered, _ = Recovered.after(
            0,
            PendingRollouts(tmp_path, 2),
            log,
            partial(changed_setting, config),
            grade_again=again,
        )
        (kept,) = recovered.take(1, [row]).values()
        assert (kept.rollout.execution, kept.rollout.verdict) == (execution, wanted)
