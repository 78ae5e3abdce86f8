"""Which draws a program sees: by request, executor seed and index alone, and the same in a replay."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Literal

import pytest

from llm_as_judge.assembly import open_workbench
from llm_as_judge.config import Config
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recording import Recording
from llm_as_judge.types import Problem
from llm_as_judge.workflow.program import parse_program
from written_programs import VOTE, written_run

STEPS = (
    (Problem("own/train/1", "gsm8k", "math", "What is 3 x 7?", ("21",)),),
    (Problem("own/train/2", "gsm8k", "math", "What is 3 x 8?", ("24",)),),
)
FILES = ("rollouts.jsonl", "metrics.jsonl")


def config(calls: Path, mode: Literal["cache", "record", "replay"], **executor: object) -> Config:
    given = {"model": "scripted", "temperature": 0.7, "seed": 0, **executor}
    return Config.model_validate(
        {
            "executor": given,
            "judge": {"model": "none"},
            "sampling": {"form": "body", "prompt_style": "short"},
            "calls": {"mode": mode, "folder": calls},
        }
    )


async def traced(settings: Config) -> list[tuple[int, int, float]]:
    """(draw, seed, temperature) of each kept request for the prompt of ``answer_generate``."""
    problem = STEPS[0][0]
    async with open_workbench(settings) as bench:
        program = parse_program(VOTE, problem.domain, "body", max_calls=12)
        await bench.run(program, problem, bench.executor)
    with closing(Pool(settings.calls.folder)) as pool:
        asked = [one["request"] for one in pool.asked()]
    return sorted((a["draw"], a["seed"], a["temperature"]) for a in asked if a["temperature"])


@pytest.mark.parametrize("offset", [0, 2])
async def test_a_run_with_draws_and_an_offset_is_replayed_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offset: int
) -> None:
    monkeypatch.chdir(tmp_path)
    calls = tmp_path / "calls"
    runs = {}
    for mode in ("record", "replay"):
        settings = config(calls, mode, draw_offset=offset)
        await written_run(settings, STEPS, tmp_path / mode)
        runs[mode] = [(tmp_path / mode / file).read_bytes() for file in FILES]
    assert runs["record"] == runs["replay"]
    assert len(Recording(calls)) > 0


async def test_an_offset_asks_for_the_next_draws_and_shares_those_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = await traced(config(tmp_path / "calls", "cache"))
    assert first == [(0, 0, 0.7), (1, 1, 0.7), (2, 2, 0.7)]
    both = await traced(config(tmp_path / "calls", "cache", draw_offset=1))
    assert both == [*first, (3, 3, 0.7)]


async def test_another_seed_of_training_shares_the_executors_replies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = config(tmp_path / "calls", "cache")
    kept = await traced(settings)
    training = settings.training.model_copy(update={"seed": 5})
    assert await traced(settings.model_copy(update={"training": training})) == kept
    assert len(await traced(config(tmp_path / "calls", "cache", seed=1))) == 2 * len(kept)


async def test_without_a_seed_of_its_own_the_executor_keeps_that_of_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = config(tmp_path / "calls", "cache", seed=None, temperature=None)
    training = settings.training.model_copy(update={"seed": 5})
    kept = await traced(settings.model_copy(update={"training": training}))
    assert kept == [(1, 6, 0.7), (2, 7, 0.7)]
