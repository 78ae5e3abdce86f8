"""Problems that are always right, always wrong, or right in every second draw, and a pool filled with them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from llm_as_judge.assembly import open_workbench, program_options
from llm_as_judge.config import Config
from llm_as_judge.evaluation.baselines import single_call_baselines
from llm_as_judge.evaluation.filling import Asked, Filling
from llm_as_judge.evaluation.program_runs import conditions
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recorded import RecordedChat
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.runs.table import Bank
from llm_as_judge.types import ChatRequest, Problem

KINDS = ("easy", "hard", "open")


def problem(number: int, kind: str) -> Problem:
    return Problem(
        f"gsm8k/train/{number}",
        "gsm8k",
        "math",
        f"An {kind} one: {number} + 1?",
        (str(number + 1),),
    )


PROBLEMS = [problem(number, KINDS[number % 3]) for number in range(6)]


def reply(request: ChatRequest) -> str:
    """In the form that each way asks for."""
    asked = request.messages[-1].content
    found = re.search(r"An (\w+) one: (\d+) \+ 1\?", asked)
    assert found is not None
    right = found[1] == "easy" or (found[1] == "open" and request.draw % 2 == 0)
    answer = int(found[2]) + 1 if right else -7
    if "```python" in asked:
        return f"```python\ndef solve():\n    return {answer}\n```"
    return f"Thought: so.\nAnswer: {answer}" if "Answer:" in asked else str(answer)


def settings(place: Path, **sections: Any) -> Config:
    return Config.model_validate(
        {
            "executor": {"model": "scripted", "temperature": 0.7, "seed": 0},
            "judge": {"model": "none"},
            "calls": {"mode": "cache", "folder": place / "calls"},
            "output": {"cache": place / "cache", "results": place / "results"},
            **sections,
        }
    )


@asynccontextmanager
async def filling(
    config: Config,
    chat: ScriptedChat,
    draws: int,
    ways: Sequence[str] = (),
    folder: str = "bank",
    **options: Any,
) -> AsyncIterator[tuple[Filling, Bank, Pool]]:
    place = config.calls.folder.parent / folder
    async with open_workbench(config) as bench:
        pool = bench.recording
        assert isinstance(pool, Pool)
        executor = RecordedChat(chat, pool, "cache", ledger=bench.ledger)
        bench = replace(bench, executor=executor)
        with Bank.writing(place, conditions(config)) as bank:
            yield (
                Filling(
                    bench,
                    bank,
                    single_call_baselines(program_options(config), ways),
                    draws,
                    **options,
                ),
                bank,
                pool,
            )


async def filled(
    config: Config, chat: ScriptedChat, draws: int, **options: Any
) -> tuple[Asked, Bank]:
    async with filling(config, chat, draws, **options) as (one, bank, _):
        return await one.fill(PROBLEMS), bank
