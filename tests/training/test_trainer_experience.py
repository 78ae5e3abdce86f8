"""Training with the experience buffer: it fills, it is shown, it is part of the checkpoint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import test_trainer
import yaml

from llm_as_judge.assembly import open_memory
from llm_as_judge.assembly.trainer import GRPOTrainer, TrainingResult
from llm_as_judge.config import Config, load_models
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import ModelError
from llm_as_judge.runs.runlog import read_steps
from llm_as_judge.types import Problem

place = test_trainer.place
ANY_NUMBER = tuple(str(n) for n in range(100))  # what the scripted executor may answer
QUESTIONS = ("How far is it to Oslo?", "Count the red apples now", "Two trains meet, when?")


@pytest.fixture
def remembering(place: Path, fluent_weights: Path, tiny_encoder: Path) -> Path:
    models = place / "config" / "models.yaml"
    known = yaml.safe_load(models.read_text())
    known["models"]["tiny"]["sources"] = [{"path": str(fluent_weights)}]
    known["models"]["encoder"] = {
        "format": "safetensors",
        "sources": [{"path": str(tiny_encoder)}],
    }
    models.write_text(yaml.safe_dump(known))
    assert "encoder" in load_models()
    problems = [
        Problem(f"gsm8k/train/{n}", "gsm8k", "math", text, ANY_NUMBER)
        for n, text in enumerate(QUESTIONS)
    ]
    write_problems(place / "data" / "mixed" / "train_mixed.jsonl", problems)
    return place


async def train(
    folder: Path, name: str, steps: int, *, resume: bool = False, **experience: Any
) -> TrainingResult:
    plain = test_trainer.config(folder, f"checkpoints_{name}", save_every=1, steps=3)
    changed = plain.model_dump(exclude_unset=True)
    changed["sampling"]["examples"] = False  # the tiny policy knows short prompts
    changed["experience"] = {
        "enabled": True,
        "embedder": "encoder",
        "reward_threshold": 0.0,
        "folder": folder / f"buffer_{name}",
        **experience,
    }
    trainer = GRPOTrainer(
        config=Config.model_validate(changed), run_dir=folder / f"run_{name}", resume=resume
    )
    return await trainer.train(num_steps=steps)


@pytest.mark.slow
async def test_good_programs_are_kept_and_shown_in_the_next_steps(remembering: Path) -> None:
    result = await train(remembering, "one", 3)
    steps = read_steps(result.run_dir)
    assert steps[0]["prompt/retrieved"] == 0
    assert steps[0]["experience/added"] > 0
    assert max(step["prompt/retrieved"] for step in steps) > 0
    head, *rows = test_trainer.lines(remembering / "buffer_one", "math.jsonl")
    assert head["entries"] == len(rows) == steps[-1]["experience/entries"]
    assert result.checkpoint is not None
    saved = (result.checkpoint / "experience" / "math.jsonl").read_text()
    assert saved == (remembering / "buffer_one" / "math.jsonl").read_text()
    facts = json.loads((result.run_dir / "run.json").read_text())
    assert (facts["embedder"], facts["experience_entries"]) == ("encoder", 0)


@pytest.mark.slow
async def test_a_resumed_run_has_the_buffer_of_its_checkpoint(remembering: Path) -> None:
    unbroken = await train(remembering, "unbroken", 3)
    await train(remembering, "broken", 2)
    # a run that was killed later has left entries which the checkpoint does not know
    (remembering / "buffer_broken" / "math.jsonl").write_text("cut")
    resumed = await train(remembering, "broken", 3, resume=True)
    for name in ("rollouts.jsonl", "metrics.jsonl"):
        lines = test_trainer.lines
        assert lines(resumed.run_dir, name) == lines(unbroken.run_dir, name)


@pytest.mark.slow
async def test_an_evaluation_is_shown_its_checkpoints_experience_and_no_other(
    remembering: Path,
) -> None:
    result = await train(remembering, "seen", 1)
    saved = yaml.safe_load((result.run_dir / "config.yaml").read_text())
    config = Config.model_validate(saved)
    assert open_memory(config) is None
    trained = open_memory(config, result.checkpoint)
    assert trained is not None
    assert len(trained.buffer) > 0
    fresh = open_memory(config, training=True)
    assert fresh is not None
    assert fresh.buffer.entries("math") == trained.buffer.entries("math")


def test_an_embedder_that_cannot_be_had_says_what_it_is_for(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = place / "config" / "models.yaml"
    gone = {"format": "safetensors", "sources": [{"path": str(place / "nothing")}]}
    models.write_text(yaml.safe_dump({"models": {"gone": gone}}))
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(models.parent))
    config = Config.model_validate(
        {"experience": {"enabled": True, "embedder": "gone"}, "output": {"cache": place}}
    )
    with pytest.raises(ModelError, match=r"embedder: model gone.*experience\.enabled=false"):
        open_memory(config, training=True)
