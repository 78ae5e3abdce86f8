"""Advice on rows of one's own, by tables whose truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from planted import Chance, Planted, number, problems, programs, runner

from llm_as_judge.evaluation.program_runs import BankRunner, all_runs
from llm_as_judge.evaluation.search.audit import Advice, advice, audit_of_search
from llm_as_judge.evaluation.search.choices import search_choices
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import Domain, Problem

DRAWS = 4


async def told(
    folder: Path, chance: Chance, rows: int = 120, *, with_direct: bool = True
) -> Advice:
    direct, *others = programs(4)
    taking = [replace(direct, name="direct") if with_direct else direct, *others]

    async def everybody(
        filling: BankRunner, domain: Domain, seen: Sequence[Problem]
    ) -> list[BankProgram]:
        await filling.fill(all_runs(taking, seen, DRAWS))
        return taking

    with Bank.writing(folder / "bank", {}) as bank:
        found = await search_choices(
            runner(bank, Planted(chance)), {"math": problems(rows)}, everybody, draws=DRAWS, seed=0
        )
        room = audit_of_search(found, bank, DRAWS, None)
        return advice(found, room, bank, DRAWS, "high")


def suits(program: BankProgram, problem: Problem) -> float:
    return 0.95 if int(problem.id.rsplit("/", 1)[1]) % 4 == number(program) else 0.1


async def test_programs_that_suit_problems_are_worth_training(tmp_path: Path) -> None:
    answer = await told(tmp_path, suits)
    assert answer.answer == "train"
    assert "There is something to learn for each problem" in answer.reason


async def test_without_a_direct_call_the_others_still_tell_what_there_is_to_learn(
    tmp_path: Path,
) -> None:
    answer = await told(tmp_path / "suits", suits, with_direct=False)
    assert (answer.answer, "Hardly a row" in answer.reason) == ("train", False)
    assert answer.gain == "no row was answered under both the best fixed program and a direct call"
    alike = await told(tmp_path / "alike", lambda *_: 0.5, with_direct=False)
    assert (alike.answer, "Hardly a row" in alike.reason) == ("too few rows to say", False)


async def test_one_program_that_is_better_everywhere_is_to_be_used(tmp_path: Path) -> None:
    answer = await told(tmp_path, lambda program, _: 0.8 if number(program) == 2 else 0.4)
    assert answer.answer == "use this fixed program"
    assert answer.gain.startswith("program 2 +")
    assert answer.gain.endswith(" against a direct call, cross-validated on 120 rows")


async def test_programs_that_are_all_alike_leave_no_room(tmp_path: Path) -> None:
    assert (await told(tmp_path, lambda *_: 0.5)).answer == "no room"


async def test_few_rows_are_said_to_show_little(tmp_path: Path) -> None:
    answer = await told(tmp_path, lambda *_: 0.5, rows=10)
    assert answer.answer == "too few rows to say"
    assert "Hardly a row" not in answer.reason
    assert answer.gain.endswith("cross-validated on 10 rows; 30 or more are wanted")
