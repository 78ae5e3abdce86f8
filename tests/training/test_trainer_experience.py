"""Training with the experience buffer: it fills, it is shown, it is part of the checkpoint."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tiny_runs import lines, require_same_records, run_config, train

from llm_as_judge.assembly import open_memory
from llm_as_judge.assembly.trainer import TrainingResult
from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import ModelError
from llm_as_judge.runs.runlog import read_steps
from llm_as_judge.types import Problem
from own_config import only_models

ANY_NUMBER = tuple(str(n) for n in range(100))  # what the scripted executor may answer
QUESTIONS = ("How far is it to Oslo?", "Count the red apples now", "Two trains meet, when?")


@pytest.fixture(scope="module")
def remembering(shared_place: Path, fluent_weights: Path, tiny_encoder: Path) -> Path:
    only_models(shared_place / "config", tiny=fluent_weights, encoder=tiny_encoder)
    problems = [
        Problem(f"gsm8k/train/{n}", "gsm8k", "math", text, ANY_NUMBER)
        for n, text in enumerate(QUESTIONS)
    ]
    write_problems(shared_place / "train.jsonl", problems)
    return shared_place


def config(folder: Path, name: str) -> Config:
    experience: dict[str, Any] = {"enabled": True, "embedder": "encoder", "reward_threshold": 0.0}
    return run_config(
        folder,
        name,
        sampling={"examples": False},  # the tiny policy knows short prompts
        experience={**experience, "folder": str(folder / name / "buffer")},
        training={"max_staleness": 0, "save_every": 1},
    )


@pytest.fixture(scope="module")
def unbroken(remembering: Path) -> TrainingResult:
    return asyncio.run(train(config(remembering, "unbroken")))


@pytest.mark.slow
def test_good_programs_are_kept_and_shown_in_the_next_steps(unbroken: TrainingResult) -> None:
    steps, buffer = read_steps(unbroken.run_dir), unbroken.run_dir.with_name("buffer")
    assert steps[0]["prompt/retrieved"] == 0
    assert steps[0]["experience/added"] > 0
    assert max(step["prompt/retrieved"] for step in steps) > 0
    head, *rows = lines(buffer, "math.jsonl")
    assert head["entries"] == len(rows) == steps[-1]["experience/entries"]
    saved = (unbroken.checkpoint / "experience" / "math.jsonl").read_text()
    assert saved == (buffer / "math.jsonl").read_text()
    facts = json.loads((unbroken.run_dir / "run.json").read_text())
    assert (facts["embedder"], facts["experience_entries"]) == ("encoder", 0)


@pytest.mark.slow
async def test_a_resumed_run_has_the_buffer_of_its_checkpoint(
    remembering: Path, unbroken: TrainingResult
) -> None:
    broken = config(remembering, "broken")
    await train(broken, 2)
    # a run that was killed later has left entries which the checkpoint does not know
    (remembering / "broken" / "buffer" / "math.jsonl").write_text("cut")
    resumed = await train(broken, resume=True)
    require_same_records(resumed.run_dir, unbroken.run_dir)


@pytest.mark.slow
def test_an_evaluation_is_shown_its_checkpoints_experience_and_no_other(
    unbroken: TrainingResult,
) -> None:
    saved = yaml.safe_load((unbroken.run_dir / "config.yaml").read_text())
    config = Config.model_validate(saved)
    assert open_memory(config) is None
    trained = open_memory(config, unbroken.checkpoint)
    assert trained is not None
    assert len(trained.buffer) > 0
    fresh = open_memory(config, training=True)
    assert fresh is not None
    assert fresh.buffer.entries("math") == trained.buffer.entries("math")


def test_an_embedder_that_cannot_be_had_says_what_it_is_for(place: Path) -> None:
    only_models(place / "config", gone=place / "nothing")
    config = Config.model_validate(
        {"experience": {"enabled": True, "embedder": "gone"}, "output": {"cache": place}}
    )
    with pytest.raises(ModelError, match=r"embedder: model gone.*experience\.enabled=false"):
        open_memory(config, training=True)
