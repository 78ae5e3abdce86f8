"""Exports: ranked with care, checked again, and a merged model that says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from transformers import AutoModelForCausalLM

from adapter_checkpoints import logits, told_of, trained
from llm_as_judge.accuracy import Accuracy
from llm_as_judge.config import Config, load_config
from llm_as_judge.errors import DataError, ModelError, OutputError
from llm_as_judge.export.card import model_card
from llm_as_judge.export.programs import best_programs, write_programs
from llm_as_judge.policy.merged import save_base, save_merged
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.statistics import wilson
from llm_as_judge.types import (
    Completion,
    Execution,
    Group,
    OperatorCall,
    Problem,
    Reward,
    RewardPart,
    Rollout,
    Verdict,
)
from llm_as_judge.workflow.program import parse_program
from run_folders import results
from written_programs import ONE_CALL, THREE_CALLS


def log_runs(
    log: RunLog, text: str, outcomes: dict[str, bool | None], domain: Any = "math"
) -> None:
    """Rollouts of one program: problem -> verdict."""
    for name, correct in outcomes.items():
        rollout = Rollout(
            name,
            0,
            Completion((), (), (), text, "stop"),
            parse_program(text, domain),
            Execution("ok", "4", (OperatorCall("Custom", 10, 20, 0.0, llm_calls=2),)),
            Verdict(correct, "exact", "x"),
            Reward({"correctness": RewardPart(1.0, 1.0)}, 3.0),
        )
        log.groups(1, [Group(Problem(name, "gsm8k", domain, "?"), (rollout,))])


def test_a_program_right_often_stands_above_one_right_once(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "run")
    log_runs(log, THREE_CALLS, {"a": True, "b": True, "c": True, "d": False, "e": True})
    log_runs(log, ONE_CALL, {"a": True})
    log_runs(log, ONE_CALL, {"q": False, "r": True, "s": None}, "qa")
    best = best_programs(log.folder, top=5, min_problems=1).programs
    assert [(d, len(found)) for d, found in best.items()] == [("math", 2), ("qa", 1)]
    statistics = best["math"][0][1].statistics()
    assert (statistics["correct"], statistics["graded"], statistics["problems"]) == (4, 5, 5)
    assert (statistics["calls"], statistics["tokens"], statistics["reward"]) == (2.0, 30.0, 3.0)
    ends = wilson(1, 3)[0], wilson(2, 3)[1]
    assert best["qa"][0][1].accuracy == Accuracy(1 / 3, 2 / 3, *ends, 3, 1)
    assert len(best_programs(log.folder, top=1, min_problems=1).programs["math"]) == 1
    assert list(best_programs(log.folder, top=5, min_problems=4).programs) == ["math"]


def test_a_program_that_never_solved_anything_is_not_among_the_best(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "run")
    log_runs(log, THREE_CALLS, {"a": True, "b": False})
    log_runs(log, ONE_CALL, {"a": False, "b": False})
    log_runs(log, ONE_CALL, {"q": False, "r": None}, "qa")
    best = best_programs(log.folder, top=5, min_problems=1)
    assert [(d, len(found)) for d, found in best.programs.items()] == [("math", 1)]
    assert best.never_right == {"math": 1, "qa": 1}
    only_wrong = RunLog(tmp_path / "wrong")
    log_runs(only_wrong, ONE_CALL, {"a": False})
    with pytest.raises(DataError, match="none of its 1 programs was ever right"):
        best_programs(only_wrong.folder, top=5, min_problems=1)
    log_runs(only_wrong, THREE_CALLS, {"b": True})
    with pytest.raises(DataError, match="lower --min-problems"):
        best_programs(only_wrong.folder, top=5, min_problems=2)
    with pytest.raises(DataError, match="no run here"):
        best_programs(tmp_path, top=5, min_problems=1)


def test_exported_files_are_clean_programs_with_their_statistics(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "run")
    log_runs(log, THREE_CALLS, {"a": True, "b": False})
    out = tmp_path / "out"
    best = best_programs(log.folder, top=5, min_problems=2).programs
    (path,) = write_programs(best, log.folder, out)
    text = path.read_text()
    assert "# Right on 1 of 2 runs over 2 problems; mean over problems 50% [9%, 91%]" in text
    assert parse_program(text, "math").strictly_valid
    (entry,) = json.loads((out / "programs.json").read_text())
    assert (entry["file"], entry["accuracy"]) == (f"math/{path.name}", 0.5)


def test_a_tampered_log_exports_no_program_that_the_check_refuses(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "run")
    log_runs(log, ONE_CALL, {"a": True})
    file = log.folder / "rollouts.jsonl"
    row = json.loads(file.read_text())
    row["rollout"]["program"]["runnable"] = "import os\nos.system('id')\n"
    file.write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=r"right programs: 1, and none of them passes"):
        best_programs(log.folder, top=5, min_problems=1)


# ------------------------------------------------------------------------------------------- model
def test_the_merged_model_computes_what_base_and_adapter_compute(
    tiny_weights: Path, tmp_path: Path
) -> None:
    policy = trained(tiny_weights)
    wanted = logits(policy.model)
    with policy.model.disable_adapter():
        base = logits(policy.model)
    out = tmp_path / "new" / "merged"
    save_merged(policy, out, {"README.md": "card"})
    merged = AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32)
    assert torch.allclose(logits(merged), wanted, atol=1e-4)
    assert not torch.allclose(base, wanted, atol=1e-2)
    names = {path.name for path in out.iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json", "README.md"} <= names
    assert not any(name.startswith("adapter") for name in names)
    assert (out / "model.safetensors").stat().st_mode & 0o044  # an engine may be another user
    with pytest.raises(OutputError, match="is there already"):
        save_merged(policy, out)
    assert [path.name for path in out.parent.iterdir()] == ["merged"]


def test_base_weights_are_written_as_the_policy_is_loaded_from_them(
    tiny_weights: Path, tmp_path: Path
) -> None:
    out = tmp_path / "base"
    save_base(tiny_weights, out, {"README.md": "card"})
    assert (out / "README.md").read_text() == "card"
    for file in tiny_weights.iterdir():
        assert (out / file.name).read_bytes() == file.read_bytes()
    assert (out / "model.safetensors").stat().st_mode & 0o044
    with pytest.raises(OutputError, match="is there already"):
        save_base(tiny_weights, out)


def test_the_card_says_what_the_model_is_and_what_is_not_known(tmp_path: Path) -> None:
    forced = {"judge": "rules", "audit": "missing", "reason": "no audit", "from_step": 1}
    base, files = model_card(told_of(tmp_path, judges=[forced]), {})
    card = files["README.md"]
    assert base == "tiny"
    assert "base_model" not in yaml.safe_load(card.split("---")[1])  # no hub has it
    assert "after 7 GRPO steps" in card
    assert "No results were given" in card
    assert "**Warning**: unaudited judge: rules" in card
    assert yaml.safe_load(files["training_config.yaml"])["policy"]["lora_rank"] == 64


def test_the_card_of_an_adapter_says_that_it_is_one(tmp_path: Path) -> None:
    checkpoint = told_of(tmp_path)
    _, files = model_card(checkpoint, {}, merged=False)
    assert list(files) == ["README.md"]
    card = files["README.md"]
    assert yaml.safe_load(card.split("---")[1])["library_name"] == "peft"
    assert "\nLoRA adapter of rank 64 (alpha 64) for tiny, after 7 GRPO steps" in card
    assert "`config.yaml`" in card
    merged = model_card(checkpoint, {})[1]["README.md"]
    assert "(alpha 64) merged into its weights, after 7 GRPO steps" in merged


def test_the_card_shows_results_with_intervals(tmp_path: Path) -> None:
    checkpoint = told_of(tmp_path)
    card = model_card(checkpoint, {"ours": results(0.5, 100.0)})[1]
    assert "| gsm8k | 50% [40%, 60%] |" in card["README.md"]
    figures = {**results(0.5, 100.0).overall, "accuracy_if_open_right": 1.0}
    nothing = ({"dataset": "math", "metrics": figures},)
    card = model_card(checkpoint, {"ours": results(0.5, 100.0, datasets=nothing)})[1]
    assert "| math | 50% to 100% [40%, 60%] |" in card["README.md"]
    assert "**Warning**" not in card["README.md"]


def test_the_card_names_the_base_models_place_and_license(tmp_path: Path) -> None:
    card = model_card(told_of(tmp_path, "qwen25-7b", step=1), {})[1]["README.md"]
    head = yaml.safe_load(card.split("---")[1])
    assert head["base_model"] == "Qwen/Qwen2.5-7B-Instruct"
    assert head["license"] == "apache-2.0"
    assert "after 1 GRPO step with" in card
    assert f"| judge | {Config().judge.label} |" in card
    scoring = load_config("quickstart")  # judge.model is none, the judge is not
    (tmp_path / "config.yaml").write_text(scoring.model_dump_json())
    assert "| judge | scoring |" in model_card(tmp_path, {})[1]["README.md"]


@pytest.mark.parametrize("state", [None, "{", "[]", '{"step": 1}'])
def test_a_folder_that_is_no_checkpoint_is_the_users(tmp_path: Path, state: str | None) -> None:
    if state is not None:
        (tmp_path / "state.json").write_text(state)
        (tmp_path / "config.yaml").write_text("training: {}\n")
    with pytest.raises(ModelError, match="not a checkpoint of a run"):
        model_card(tmp_path, {})
