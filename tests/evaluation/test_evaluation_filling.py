"""Filling pool and bank: what agrees gets no more draws, nothing is asked twice, nothing is lost."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.assembly import open_workbench, program_options, row_options
from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import BudgetError, ConfigError, DataError, EndpointError
from llm_as_judge.evaluation.baselines import single_call_baselines
from llm_as_judge.evaluation.filling import (
    Asked,
    Filling,
    FirstTogether,
    filled_estimate,
    first_draws,
    problems_to_fill,
)
from llm_as_judge.evaluation.program_runs import conditions
from llm_as_judge.llm.gathered import GatheredDraws
from llm_as_judge.llm.ledger import Budget, Ledger
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recorded import RecordedChat
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.runs.table import Bank
from llm_as_judge.types import ChatReply, ChatRequest, Message, Problem, Usage

FIRST, DRAWS, WAYS = 2, 4, 3
MATH = ("direct", "cot", "program_of_thought")
KINDS = ("easy", "hard", "open")
"""Always right, always wrong, right in every second draw."""


def problem(number: int, kind: str) -> Problem:
    question, answer = f"An {kind} one: {number} + 1?", str(number + 1)
    return Problem(f"gsm8k/train/{number}", "gsm8k", "math", question, (answer,))


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
            chosen = single_call_baselines(program_options(config), ways)
            yield Filling(bench, bank, chosen, draws, **options), bank, pool


async def filled(
    config: Config, chat: ScriptedChat, draws: int, **options: Any
) -> tuple[Asked, Bank]:
    async with filling(config, chat, draws, **options) as (one, bank, _):
        return await one.fill(PROBLEMS), bank


def draws_by_problem(bank: Bank) -> Counter[str]:
    return Counter(cell.problem for cell in bank.runs.values())


@pytest.mark.slow
async def test_problems_whose_first_replies_share_a_verdict_get_no_more_draws(
    tmp_path: Path,
) -> None:
    chat, skipped = ScriptedChat(reply), list[int]()
    asked, bank = await filled(settings(tmp_path), chat, DRAWS, on_skipped=skipped.append)
    agreed, disputed = WAYS * FIRST, WAYS * DRAWS
    assert draws_by_problem(bank) == {
        p.id: disputed if "open" in p.question else agreed for p in PROBLEMS
    }
    assert (asked.draws, asked.agreed, asked.failed) == (4 * agreed + 2 * disputed, 4, 0)
    assert sum(skipped) == 4 * (disputed - agreed)
    again, bank = await filled(settings(tmp_path), ScriptedChat([]), DRAWS, everything=False)
    assert (again.draws, again.agreed) == (0, 4)
    asked, bank = await filled(settings(tmp_path), ScriptedChat(reply), DRAWS, everything=True)
    assert (asked.draws, set(draws_by_problem(bank).values())) == (4 * 6, {disputed})


def test_of_few_ways_more_draws_come_first() -> None:
    math = single_call_baselines(program_options(Config()))["math"]
    assert [first_draws(math[:n], 8) for n in (1, 2, 3)] == [4, 2, 2]
    assert first_draws(math[:1], 3) == 3


async def test_the_ways_are_what_programs_ask_first(tmp_path: Path) -> None:
    chat = ScriptedChat(reply)
    await filled(settings(tmp_path), chat, 2)
    for one in PROBLEMS:
        texts = {
            r.messages[-1].content for r in chat.requests if one.question in r.messages[-1].content
        }
        assert len(texts) == WAYS  # one prompt a way, its draws apart
    assert {(r.draw, r.seed) for r in chat.requests} == {(0, 0), (1, 1)}


async def test_a_draw_that_fails_is_counted_and_asked_again(tmp_path: Path) -> None:
    def down(request: ChatRequest) -> str:
        if "1 + 1" in request.messages[-1].content and request.draw == 1:
            raise EndpointError("the endpoint is down")
        return reply(request)

    asked, bank = await filled(settings(tmp_path), ScriptedChat(down), DRAWS)
    assert (asked.failed, asked.first_failure) == (WAYS, "the endpoint is down")
    assert draws_by_problem(bank)[PROBLEMS[1].id] == WAYS  # not taken for one that agrees
    asked, bank = await filled(settings(tmp_path), ScriptedChat(reply), DRAWS)
    assert (asked.failed, draws_by_problem(bank)[PROBLEMS[1].id]) == (0, WAYS * FIRST)


async def test_a_bank_says_which_code_passes_the_visible_tests(tmp_path: Path) -> None:
    def written(request: ChatRequest) -> str:
        return f"```python\ndef add(a, b):\n    return a + {'ab'[request.draw == 0]}\n```"

    row = Problem(
        "mbpp/train/1", "mbpp", "code", "Add.", entry_point="add",
        visible_tests=("assert add(1, 2) == 3",), hidden_tests=("assert add(2, 2) == 5",),
    )  # fmt: skip
    async with filling(settings(tmp_path), ScriptedChat(written), 2) as (one, bank, _):
        await one.fill([row])
    runs = {run.draw: (run.right, run.passed) for run in Bank(bank.folder).runs.values()}
    assert runs == {0: (0.0, True), 1: (0.0, False)}


async def test_a_spent_budget_stops_it_and_what_was_drawn_is_kept(tmp_path: Path) -> None:
    chat = ScriptedChat(reply, ledger=Ledger(Budget(calls=10)))
    async with filling(settings(tmp_path), chat, DRAWS) as (one, _, pool):
        with pytest.raises(BudgetError):
            await one.fill(PROBLEMS)
        assert len(pool) == 10


@pytest.mark.slow
async def test_other_golds_or_settings_make_verdicts_anew_from_the_replies_that_are_there(
    tmp_path: Path,
) -> None:
    config = settings(tmp_path)
    _, bank = await filled(config, ScriptedChat(reply), 2)
    nobody = ScriptedChat([])
    other = settings(tmp_path, workflow={"max_calls": 7, "memory_mb": 300})
    every = (
        r"filled by other conditions \(workflow.max_calls: .* here; workflow.memory_mb: .*--bank"
    )
    with pytest.raises(DataError, match=every):
        await filled(other, nobody, 2)
    asked, again = await filled(other, nobody, 2, folder="other")
    assert (asked.draws, again.runs.keys()) == (36, bank.runs.keys())
    changed = replace(problem(1, "hard"), answers=("-7",))
    async with filling(config, nobody, 2) as (one, _, _):
        with pytest.raises(DataError, match="not the same problem as before; name another --bank"):
            await one.fill([changed])
    async with filling(config, nobody, 2, folder="golds") as (one, golds, _):
        await one.fill([changed])
        assert {cell.right for cell in golds.runs.values()} == {1.0}


async def test_each_executor_has_its_ways_and_a_way_can_be_chosen_of_one(tmp_path: Path) -> None:
    config = settings(tmp_path, executors={"small": {"model": "scripted", "price": 0.1}})
    ways = single_call_baselines(program_options(config))["math"]
    assert [way.name for way in ways] == [f"{way}{of}" for of in ("", "@small") for way in MATH]
    chat = ScriptedChat(reply)
    asked, bank = await filled(config, chat, 2, everything=True)
    assert (asked.draws, asked.failed) == (2 * 6 * len(PROBLEMS), 0)
    assert Counter(r.executor for r in chat.requests) == {"": 36, "small": 36}
    assert {program.name for program in bank.programs.values()} == {way.name for way in ways}
    (chosen,) = single_call_baselines(program_options(config), ["cot@small"])["math"]
    assert chosen.key in bank.programs
    with pytest.raises(ConfigError, match=r"--way 'cot@large': wanted some of direct, .*cot@small"):
        single_call_baselines(program_options(config), ["cot@large"])


async def test_the_estimate_is_of_the_draws_that_are_missing(tmp_path: Path) -> None:
    config = settings(tmp_path)
    ways = single_call_baselines(program_options(config))
    async with filling(config, ScriptedChat(reply), 2) as (one, bank, _):
        before = filled_estimate(config, PROBLEMS, ways, DRAWS, bank)
        await one.fill(PROBLEMS[:2])
        after = filled_estimate(config, PROBLEMS, ways, DRAWS, bank)
    assert (before.rollouts, before.calls) == (6 * WAYS * DRAWS, 6 * WAYS * DRAWS)
    assert after.rollouts == before.rollouts - 2 * WAYS * 2


# ------------------------------------------------------------------------------------- requests
class Several:
    """Answers draws together; keeps how many were asked for in each request."""

    name = "m"

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []

    async def chat(self, request: ChatRequest) -> ChatReply:
        return (await self.draws(request, 1))[0]

    async def draws(self, request: ChatRequest, wanted: int) -> list[ChatReply]:
        self.asked.append((request.draw, wanted))
        if request.draw == 99:
            raise EndpointError("down")
        return [ChatReply(str(request.draw + k), "stop", Usage()) for k in range(wanted)]


async def test_first_requests_of_neighboring_draws_go_out_as_one() -> None:
    model = Several()
    chat = FirstTogether(GatheredDraws(model), 4)
    request = ChatRequest((Message("user", "2+2?"),), 16, temperature=0.7, seed=0)
    assert (await chat.chat(request.later(2))).text == "2"
    assert (await chat.chat(request.later(9))).text == "9"
    assert model.asked == [(2, 4), (9, 1)]
    greedy = ChatRequest((Message("user", "2+2?"),), 16)
    assert (await FirstTogether(GatheredDraws(model), 4).chat(greedy)).text == "0"
    assert model.asked[2:] == [(0, 1)]
    with pytest.raises(EndpointError, match="down"):
        await FirstTogether(model, 1).chat(request.later(99))


# ------------------------------------------------------------------------------------- selection
def test_the_problems_of_training_are_those_of_the_mix_each_once(tmp_path: Path) -> None:
    rows = [*PROBLEMS, *PROBLEMS[:3]]
    write_problems(tmp_path / "mix.jsonl", rows)
    data = {"train_file": tmp_path / "mix.jsonl"}
    every = settings(tmp_path, data=data, evaluation={"split": "train"})
    assert problems_to_fill(row_options(every)) == PROBLEMS
    few = settings(tmp_path, data=data, evaluation={"split": "train", "limit_per_set": 2})
    assert len(problems_to_fill(row_options(few))) == 2
    assert problems_to_fill(row_options(few)) == problems_to_fill(row_options(few))


def test_a_higher_limit_takes_the_same_problems_and_more(tmp_path: Path) -> None:
    """Replies that were paid for stay in use when the pool grows; each set keeps its share."""
    mix = [
        Problem(f"{name}/{n}", name, "math", "?", ("1",))
        for name in ("gsm8k", "math")
        for n in range(30)
    ]
    write_problems(tmp_path / "mix.jsonl", mix[:50])
    taken: list[list[str]] = []
    for limit in (5, 17, 40, 50):
        few = settings(
            tmp_path,
            data={"train_file": tmp_path / "mix.jsonl"},
            evaluation={"split": "train", "limit_per_set": limit},
        )
        taken.append([one.id for one in problems_to_fill(row_options(few))])
        of_gsm8k = sum(id_.startswith("gsm8k") for id_ in taken[-1])
        assert abs(of_gsm8k - 0.6 * limit) < 1
    for smaller, larger in itertools.pairwise(taken):
        assert set(smaller) < set(larger)


def test_a_limit_of_training_problems_is_that_of_all_sets_together(tmp_path: Path) -> None:
    rows = {
        name: [Problem(f"{name}/{n}", name, "math", "?", ("1",)) for n in range(9)]
        for name in ("gsm8k", "math")
    }
    for name, of_set in rows.items():
        write_problems(tmp_path / "processed" / f"{name}_train.jsonl", of_set)
    options = row_options(
        settings(
            tmp_path,
            data={"data_dir": tmp_path, "sets": []},
            evaluation={"split": "train", "sets": ["gsm8k", "math"], "limit_per_set": 6},
        )
    )
    assert Counter(one.dataset for one in problems_to_fill(options)) == {"gsm8k": 3, "math": 3}


def test_held_out_problems_are_those_that_evaluate_takes(tmp_path: Path) -> None:
    write_problems(tmp_path / "test" / "gsm8k_test.jsonl", PROBLEMS)
    data = {"data_dir": tmp_path, "sets": ["gsm8k"]}
    chosen = settings(tmp_path, data=data, evaluation={"split": "test", "limit_per_set": 2})
    assert len(problems_to_fill(row_options(chosen))) == 2


def test_a_way_is_one_operator_call_and_another_name_is_refused() -> None:
    ways = single_call_baselines(program_options(Config()))
    assert {domain: [way.name for way in found] for domain, found in ways.items()} == {
        "math": ["direct", "cot", "program_of_thought"],
        "qa": ["direct", "cot"],
        "code": ["direct"],
    }
    with pytest.raises(ConfigError, match=r"--way 'vote_of_3': wanted some of direct, cot"):
        single_call_baselines(program_options(Config()), ["direct", "vote_of_3"])
