"""Draws that a program sees: by request, executor seed and index alone, and the same in a replay."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Literal

import pytest

from llm_as_judge.assembly import open_workbench
from llm_as_judge.config import Config
from llm_as_judge.errors import ModelError
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.rounds import fill_to
from llm_as_judge.types import Problem
from llm_as_judge.workflow.program import parse_program
from written_programs import PROGRAMS, VOTE, written_run

STEPS = (
    (Problem("own/train/1", "gsm8k", "math", "What is 3 x 7?", ("21",)),),
    (Problem("own/train/2", "gsm8k", "math", "What is 3 x 8?", ("24",)),),
)
FILES = ("rollouts.jsonl", "metrics.jsonl")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


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


TWO_EXECUTORS = """\
best = await until_agree(
    ways=[lambda: answer_generate(input=problem, executor="small"), lambda: answer_generate(input=problem)],
    agree=2, most=4,
)
if best["agreed"]:
    return best["answer"]
draft = await programmer(problem=problem, executor="small")
checked = await review(problem=problem, solution=draft["output"])
return draft["output"]"""


@pytest.mark.parametrize("offset", [0, 3])
@pytest.mark.parametrize("apart", [False, True], ids=["one executor", "two executors"])
async def test_a_run_with_draws_and_an_offset_is_replayed_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offset: int, apart: bool
) -> None:
    if apart:
        monkeypatch.setattr("written_programs.PROGRAMS", (*PROGRAMS, TWO_EXECUTORS, TWO_EXECUTORS))
    runs, bills = {}, {}
    for mode in ("record", "replay"):
        given = config(tmp_path / "calls", mode, draw_offset=offset).model_dump()
        if apart:
            given["executors"] = {"small": {"model": "scripted", "price": 0.25}}
            given["workflow"]["draws"] = 2
        _, bills[mode] = await written_run(Config.model_validate(given), STEPS, tmp_path / mode)
        runs[mode] = [(tmp_path / mode / file).read_bytes() for file in FILES]
    assert runs["record"] == runs["replay"]
    if apart:
        costs = [bill["by_role"]["executor small"]["cost"] for bill in bills.values()]
        assert costs[0] == costs[1] > 0
        assert b'"executor":"small"' in runs["replay"][0].replace(b": ", b":")


async def test_a_closed_pool_goes_round_the_draws_of_each_executor(tmp_path: Path) -> None:
    once = (
        'a = await answer_generate(input=problem, executor="small")\n'
        "b = await answer_generate(input=problem)\n"
        'best = await vote(solutions=[a["answer"], b["answer"]])\nreturn best["answer"]'
    )
    answers: dict[tuple[str, int], str] = {}
    modes: tuple[Literal["cache", "replay"], ...] = ("cache", "replay")
    for mode in modes:
        for offset in range(3):
            given = config(tmp_path / "calls", mode, draw_offset=offset).model_dump()
            given["executors"] = {"small": {"model": "scripted", "price": 0.25}}
            settings = Config.model_validate(given)
            async with open_workbench(settings) as bench:
                if mode == "cache":
                    assert isinstance(bench.recording, Pool)
                    for model in ("scripted", "scripted/small"):
                        fill_to(bench.recording, model, 3)
                program = parse_program(once, "math", "body", executors=settings.executors)
                ran = await bench.run(program, STEPS[0][0], bench.executor)
                assert [call.executor for call in ran.calls] == ["small", "", ""]
                answers[mode, offset] = ran.answer
    assert all(answers["replay", o] == answers["cache", o] for o in (0, 1, 2))


async def test_an_offset_beyond_the_recording_is_one_line(tmp_path: Path) -> None:
    await written_run(config(tmp_path / "calls", "record"), STEPS)
    with pytest.raises(
        ModelError,
        match=r"its last recorded draw is \d+: name the policy that was recorded, or lower executor\.draw_offset",
    ) as told:
        await written_run(config(tmp_path / "calls", "replay", draw_offset=40), STEPS)
    assert "\n" not in str(told.value)
    assert "(draw 4" in str(told.value)


async def test_an_offset_asks_for_the_next_draws_and_shares_those_that_are_kept(
    tmp_path: Path,
) -> None:
    first = await traced(config(tmp_path / "calls", "cache"))
    assert first == [(0, 0, 0.7), (1, 1, 0.7), (2, 2, 0.7)]
    both = await traced(config(tmp_path / "calls", "cache", draw_offset=1))
    assert both == [*first, (3, 3, 0.7)]


async def test_another_seed_of_training_shares_the_executors_replies(tmp_path: Path) -> None:
    settings = config(tmp_path / "calls", "cache")
    kept = await traced(settings)
    training = settings.training.model_copy(update={"seed": 5})
    assert await traced(settings.model_copy(update={"training": training})) == kept
    assert len(await traced(config(tmp_path / "calls", "cache", seed=1))) == 2 * len(kept)


async def test_without_a_seed_of_its_own_the_executor_keeps_that_of_the_training(
    tmp_path: Path,
) -> None:
    settings = config(tmp_path / "calls", "cache", seed=None, temperature=None)
    training = settings.training.model_copy(update={"seed": 5})
    kept = await traced(settings.model_copy(update={"training": training}))
    assert kept == [(1, 6, 0.7), (2, 7, 0.7)]
