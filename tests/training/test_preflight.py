"""Faults that can be seen before a run starts are said before anything is loaded or started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.assembly.preflight import check_before_training, idle_graders
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, DataError, OutputError
from llm_as_judge.grading.graders import GRADERS, GraderFunction


def config(place: Path, **sections: Any) -> Config:
    train_file = place / "train.jsonl"
    train_file.write_text("{}\n")
    whole: dict[str, Any] = {
        "policy": {"name": "smollm2-135m"},
        "executor": {"model": "scripted"},
        "judge": {"model": "none"},
        "data": {"train_file": train_file},
        "output": {"checkpoints": place / "checkpoints", "logs": place / "logs"},
    }
    return Config.model_validate({**whole, **sections})


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ({"domain": "text"}, "domain='text'; there are mine_qa, qa"),
        ({"domain": "qa", "dataset": "mien_qa"}, "domain='qa' and dataset='mien_qa'; there"),
        ({"dataset": "mine_qa"}, None),
        ({}, None),
    ],
)
def test_a_grader_that_no_row_is_asked_of_is_named_with_its_conditions(
    conditions: dict[str, Any], said: str | None
) -> None:
    def shades(problem: object, answer: str) -> None: ...

    with GRADERS.with_also([GraderFunction("shades", shades, **conditions)]):
        lines = idle_graders([("qa", "mine_qa")])
    assert lines == [] if said is None else said in lines[0]


def test_looking_whether_a_run_can_start_leaves_nothing_behind(tmp_path: Path) -> None:
    assert check_before_training(config(tmp_path), run_dir=None, resume=False) is None
    assert [path.name for path in tmp_path.iterdir()] == ["train.jsonl"]


@pytest.mark.parametrize(
    ("section", "value", "message"),
    [
        ("policy", {"name": "gtp"}, r"policy\.name: no model 'gtp'"),
        ("executor", {"model": "gtp"}, r"executor\.model: no 'gtp' \(known: gpt-oss-120b"),
        ("judge", {"model": "gtp"}, r"judge\.model: no 'gtp'"),
        ("executor", {"model": "none"}, r"executor\.model: no 'none'"),
        ("executor", {"model": "qwen25-7b"}, r"'qwen25-7b' is safetensors weights, .*vllm serve"),
        ("sampling", {"backend": "vlm"}, r"backend: no sampler 'vlm'; did you mean 'vllm'"),
        (
            "data",
            {"train_file": "none.jsonl"},
            "no such file; for rows of your own run: llm-as-judge init",
        ),
    ],
)
def test_what_is_unknown_is_named_with_what_is_known(
    tmp_path: Path, section: str, value: dict[str, str], message: str
) -> None:
    with pytest.raises((ConfigError, DataError), match=message):
        check_before_training(config(tmp_path, **{section: value}), run_dir=None, resume=False)


def test_checkpoints_of_other_weights_of_the_same_name_are_not_gone_on_with(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "mine").mkdir(parents=True)
        (tmp_path / name / "mine" / "config.json").write_text("{}")
    first, second = (str(tmp_path / name / "mine") for name in ("a", "b"))
    step = tmp_path / "checkpoints" / "mine" / "grpo_mixed" / "step_1"
    step.mkdir(parents=True)
    (step / "state.json").write_text(json.dumps({"base_model": first}))
    for resume in (False, True):
        own = config(tmp_path, policy={"name": first})
        assert check_before_training(own, run_dir=None, resume=resume) == (step if resume else None)
        other = config(tmp_path, policy={"name": second})
        with pytest.raises(ConfigError, match=f"holds checkpoints of {first}, and the policy is"):
            check_before_training(other, run_dir=None, resume=resume)


@pytest.mark.parametrize("name", ["checkpoints", "logs", "run"])
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a file stands where the folder should be")
    run_dir = tmp_path / "run" if name == "run" else None
    with pytest.raises(OutputError, match=f"{name}: cannot be written: Not a directory"):
        check_before_training(config(tmp_path), run_dir=run_dir, resume=False)


def test_a_used_run_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.jsonl").write_text("")
    with pytest.raises(ConfigError, match="holds a run already"):
        check_before_training(config(tmp_path), run_dir=tmp_path / "run", resume=False)


def test_nothing_to_resume_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no checkpoint to resume from"):
        check_before_training(config(tmp_path), run_dir=None, resume=True)
