"""A real tiny policy through the whole evaluation: its programs, samples and prompt are counted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from listed_system import evaluated

from llm_as_judge.assembly import PromptRecord
from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import ModelError
from llm_as_judge.evaluation.evaluate import open_evaluation
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.evaluation.results import results_of
from llm_as_judge.evaluation.systems import PolicySystem
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recording import Outcome
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.model import load_policy
from llm_as_judge.types import Problem, Rollout
from own_config import with_only_model

ROWS = [
    Problem(f"gsm8k/test/{n}", "gsm8k", "math", f"What is {n} plus 2?", (str(n + 2),))
    for n in range(3)
]


@pytest.fixture
def place(tmp_path: Path, tiny_weights: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with configuration and data; the tiny policy is its only model."""
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(with_only_model(tmp_path, tiny_weights)))
    write_problems(tmp_path / "test" / "gsm8k_test.jsonl", ROWS)
    return tmp_path


def settings(place: Path, **evaluation: Any) -> Config:
    return Config.model_validate(
        {
            "policy": {"name": "tiny", "device": "cpu", "dtype": "float32", "lora_rank": 4},
            "sampling": {"max_new_tokens": 40, "form": "body", "prompt_style": "short"},
            "executor": {"model": "scripted"},
            "judge": {"model": "none"},
            "data": {"data_dir": place, "sets": ["gsm8k"], "train_file": place / "none"},
            "evaluation": evaluation,
            "output": {"results": place / "results", "cache": place / "cache"},
        }
    )


@pytest.mark.slow
async def test_samples_of_a_policy_are_all_there_and_its_tokens_are_counted(place: Path) -> None:
    config = settings(place, samples=3, temperature=1.0)
    record = await evaluated(config, PolicySystem("untrained", None))
    assert [len(group.rollouts) for group in record.groups()] == [3, 3, 3]
    rollouts = [r for group in record.groups() for r in group.rollouts]
    assert len({r.completion.text for r in rollouts}) > 1
    overall = results_of(record).as_json()["overall"]
    written = [len(r.completion.prompt_ids) + len(r.completion.token_ids) for r in rollouts]
    assert overall["policy_tokens"] == pytest.approx(sum(written) / 9)
    assert overall["policy_tokens"] > 20


@pytest.mark.slow
async def test_an_adapter_decides_the_folder_and_is_loaded(place: Path, tiny_weights: Path) -> None:
    policy = load_policy(tiny_weights, adapter=AdapterSpec(4, 8, ("q_proj",)), device="cpu")
    step = place / "step_1"
    policy.save_adapter(step)
    (step / "state.json").write_text('{"base_model": "tiny"}')
    system = PolicySystem(str(step), step)
    record = await evaluated(settings(place), system)
    assert record.missing() == {}
    found = results_of(record).as_json()
    assert (found["checkpoint"], found["judges"]) == (str(step), [])
    with open_evaluation(settings(place), PolicySystem("untrained", None), "tiny") as other:
        assert other.folder != record.folder


def test_a_checkpoint_has_one_folder_of_figures_whatever_prompt_the_configuration_describes(
    place: Path,
) -> None:
    step = place / "step_1"
    step.mkdir()
    (step / "adapter_model.safetensors").write_bytes(b"weights")
    config = settings(place)
    record = PromptRecord.of(config).model_dump(mode="json")
    (step / "state.json").write_text(json.dumps({"base_model": "tiny", "prompt": record}))
    other = config.sampling.model_copy(update={"prompt_style": "signatures", "form": "class"})
    folders = set()
    for one in (config, config.model_copy(update={"sampling": other})):
        with open_evaluation(one, PolicySystem(str(step), step), "tiny") as found:
            folders.add(found.folder)
            assert found.config.sampling == config.sampling
    assert len(folders) == 1


@pytest.mark.slow
async def test_a_recorded_evaluation_is_replayed_without_the_weights_to_the_same_figures(
    place: Path, tiny_weights: Path
) -> None:
    calls = {"mode": "record", "folder": place / "calls"}
    config = settings(place, samples=2, temperature=1.0)
    config = Config.model_validate({**config.model_dump(), "calls": calls})
    record = await evaluated(config, PolicySystem("untrained", None))
    (place / "config" / "models.yaml").write_text(
        yaml.safe_dump({"models": {"tiny": {"format": "safetensors", "sources": []}}})
    )
    tree = {**config.model_dump(), "calls": {**calls, "mode": "replay"}}
    tree["output"]["results"] = place / "again"
    replayed = await evaluated(Config.model_validate(tree), PolicySystem("untrained", None))
    assert replayed.folder.name == record.folder.name
    assert replayed.folder != record.folder
    assert figures(replayed) == figures(record)
    assert rollouts(replayed) == rollouts(record)


def figures(record: EvaluationRecord) -> dict[str, Any]:
    """All but the seconds, which are the machine's, and how many runs have none."""
    return {**results_of(record).as_json()["overall"], "seconds": None, "not_timed": None}


def rollouts(record: EvaluationRecord) -> list[Rollout]:
    return [untimed(rollout) for group in record.groups() for rollout in group.rollouts]


def untimed(rollout: Rollout) -> Rollout:
    execution = rollout.execution
    if execution is None:
        return rollout
    calls = tuple(replace(call, seconds=0.0, cached=0) for call in execution.calls)
    return replace(rollout, execution=replace(execution, calls=calls, seconds=0.0))


async def test_a_replay_of_other_rows_says_so(place: Path) -> None:
    recording = Pool(place / "calls")
    recording.put("0" * 64, {}, Outcome(error="anything"))
    recording.close()
    config = settings(place)
    calls = {"mode": "replay", "folder": place / "calls"}
    config = Config.model_validate({**config.model_dump(), "calls": calls})
    with pytest.raises(ModelError, match=r"replay: the policy was not asked this .* record again"):
        await evaluated(config, PolicySystem("untrained", None))
