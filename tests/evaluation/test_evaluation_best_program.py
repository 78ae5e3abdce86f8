"""The search over whole programs: same rows for all, the most accurate wins, nothing weak slips in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oracle import bench_with

from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, DataError, EndpointError
from llm_as_judge.evaluation.baselines import find_system, workflows_dir
from llm_as_judge.evaluation.best_program import ALWAYS_TRIED, Tried, candidates, choose
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.types import DOMAINS, ChatRequest, Problem

MATH = [Problem(f"gsm8k/val/{n}", "gsm8k", "math", f"{n} + 1?", (str(n + 1),)) for n in range(4)]
ASKS = 'reply = await custom(input=problem, instruction="{}")\nreturn reply["response"]\n'
WISE, WASTEFUL = "Count on your fingers.", "Count on your fingers, and say at length how."


def executor(request: ChatRequest) -> str:
    """Right where fingers are spoken of, and for the first problem."""
    asked = request.messages[-1].content
    number = int(asked.split(" + ")[0][-1])
    return str(number + 1) if "fingers" in asked or number == 0 else "-5"


def settings(tmp_path: Path) -> Config:
    tree = {"executor": {"model": "scripted"}, "judge": {"model": "none"}}
    return Config.model_validate({**tree, "output": {"cache": tmp_path}})


def given(tmp_path: Path, **texts: str) -> Path:
    folder = tmp_path / "exported"
    (folder / "math").mkdir(parents=True)
    for name, text in texts.items():
        (folder / "math" / f"{name}.py").write_text(text)
    return folder


async def test_the_most_accurate_wins_and_among_equals_the_cheapest(tmp_path: Path) -> None:
    folder = given(tmp_path, a_wasteful=ASKS.format(WASTEFUL), wise=ASKS.format(WISE))
    programs = candidates(folder, settings(tmp_path))
    shown: list[Tried] = []
    opened: Any = bench_with(ScriptedChat(executor))
    async with opened(settings(tmp_path)) as bench:
        (found,) = await choose(bench, {"math": MATH}, programs, tmp_path / "out", shown.append)
    assert found.best.source == str(folder / "math" / "wise.py")
    assert (found.best.correct, found.best.problems) == (4, 4)
    scores = {tried.source: tried for tried in shown}
    assert list(found.tried) == shown
    assert scores[str(folder / "math" / "a_wasteful.py")].correct == 4
    assert scores[str(folder / "math" / "a_wasteful.py")].tokens > found.best.tokens
    assert scores["direct"].correct == 1
    assert found.tokens_spent == sum(tried.tokens * 4 for tried in shown)
    assert (tmp_path / "out" / "math.py").read_text() == ASKS.format(WISE)
    assert find_system(str(tmp_path / "out"), Config()).domains == {"math"}


def test_shipped_workflows_are_always_tried_and_copies_of_them_are_not(tmp_path: Path) -> None:
    copy = (workflows_dir() / "cot" / "math.py").read_text().replace("reply", "draft")
    folder = given(tmp_path, copy=copy, wise=ASKS.format(WISE))
    (folder / "qa.py").write_text(ASKS.format(WISE))
    found = candidates(folder, settings(tmp_path))
    assert list(found["math"]) == [*ALWAYS_TRIED, str(folder / "math" / "wise.py")]
    assert str(folder / "qa.py") in found["qa"]
    assert set(found) == set(DOMAINS)
    assert "direct" in found["code"]  # nothing was given for code


def test_a_folder_without_programs_or_with_a_bad_one_is_refused(tmp_path: Path) -> None:
    config = settings(tmp_path)
    with pytest.raises(DataError, match=r"--programs .*none: no such folder"):
        candidates(tmp_path / "none", config)
    with pytest.raises(DataError, match=r"no program; wanted math\.py, qa\.py, code\.py"):
        candidates(given(tmp_path), config)
    (tmp_path / "exported" / "math" / "bad.py").write_text("import os\n")
    with pytest.raises(ConfigError, match=r"bad\.py:1"):
        candidates(tmp_path / "exported", config)


async def test_a_run_that_failed_by_our_fault_is_no_wrong_answer(tmp_path: Path) -> None:
    def broken(request: ChatRequest) -> str:
        raise EndpointError("no answer within 3 s")

    programs = candidates(given(tmp_path, wise=ASKS.format(WISE)), settings(tmp_path))
    opened: Any = bench_with(ScriptedChat(broken))
    async with opened(settings(tmp_path)) as bench:
        with pytest.raises(EndpointError, match=r"4 of 4 runs .* of math failed .*within 3 s"):
            await choose(bench, {"math": MATH}, programs, tmp_path / "out")
        with pytest.raises(DataError, match="no validation problem of math"):
            await choose(bench, {"math": []}, programs, tmp_path / "out")
    assert not (tmp_path / "out" / "math.py").exists()
