"""Successive halving: finds what is planted, for fewer runs, and pays for nothing twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from planted import Planted, number, problems, programs, runner

from llm_as_judge.errors import BudgetError, EndpointError
from llm_as_judge.evaluation.program_runs import BankRunner, all_runs
from llm_as_judge.evaluation.search.halving import HalvingRound, halve, halving_rounds, mixed_order
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import Problem


def best_is(planted: int, by: float = 0.3) -> Planted:
    return Planted(lambda program, problem: 0.4 + by * (number(program) == planted))


@pytest.mark.parametrize("seed", range(5))
async def test_the_planted_best_program_is_found_for_fewer_runs_than_the_table(
    tmp_path: Path, seed: int
) -> None:
    run = best_is(37)
    with Bank.writing(tmp_path, {}) as bank:
        found = await halve(runner(bank, run), programs(64), problems(80), draws=4, seed=seed)
    assert 37 in map(number, found)
    assert len(found) == 8
    assert run.runs < 64 * 80 * 4 / 5


def test_the_rungs_halve_the_programs_and_double_the_problems() -> None:
    assert halving_rounds(64, 80, 4) == [
        HalvingRound(64, 10, 1),
        HalvingRound(32, 20, 1),
        HalvingRound(16, 40, 1),
        HalvingRound(8, 80, 4),
    ]
    assert halving_rounds(5, 80, 4) == [HalvingRound(5, 80, 4)]


async def test_what_everybody_compares_with_runs_to_the_end(tmp_path: Path) -> None:
    weak = BankProgram("math", "ff", "direct", "shipped", "return ''")
    with Bank.writing(tmp_path, {}) as bank:
        found = await halve(
            runner(bank, Planted(lambda program, _: 0.9 * (program is not weak))),
            [*programs(30), weak],
            problems(40),
            draws=1,
            seed=0,
        )
    assert weak in found


async def test_a_cheap_program_stays_though_a_dear_one_is_more_often_right(tmp_path: Path) -> None:
    run = Planted(
        lambda program, _: 0.6 if number(program) == 3 else 0.65,
        cost=lambda program: 10.0 if number(program) == 3 else 3000.0,
    )
    with Bank.writing(tmp_path, {}) as bank:
        found = await halve(runner(bank, run), programs(32), problems(40), draws=1, seed=0)
    assert 3 in map(number, found)


async def test_a_second_search_runs_nothing_and_an_interrupted_one_goes_on(tmp_path: Path) -> None:
    class Stops(Planted):
        async def __call__(self, program: BankProgram, problem: Problem, draw: int) -> RunRecord:
            if self.runs == 100:
                raise BudgetError("used up")
            return await super().__call__(program, problem, draw)

    taking, rows = programs(16), problems(20)
    first = Stops(lambda program, _: 0.5)
    with Bank.writing(tmp_path, {}) as bank, pytest.raises(BudgetError):
        await halve(runner(bank, first), taking, rows, draws=2, seed=0)
    second = Planted(lambda program, _: 0.5)
    with Bank.writing(tmp_path, {}) as bank:
        kept = len(bank.runs)
        found = await halve(runner(bank, second), taking, rows, draws=2, seed=0)
        assert kept >= 100
        assert second.runs == len(bank.runs) - kept
    third = Planted(lambda program, _: 0.5)
    with Bank.writing(tmp_path, {}) as bank:
        again = runner(bank, third)
        assert await halve(again, taking, rows, draws=2, seed=0) == found
    assert third.runs == 0
    assert again.cost == 100.0 * len(again.asked)  # kept runs count as asked for


async def test_runs_that_failed_by_our_fault_are_told_and_the_others_kept(tmp_path: Path) -> None:
    class Fails(Planted):
        async def __call__(self, program: BankProgram, problem: Problem, draw: int) -> RunRecord:
            if problem.id.endswith("/3"):
                raise EndpointError("no answer within 3 s")
            return await super().__call__(program, problem, draw)

    taking, rows = programs(2), problems(5)
    with Bank.writing(tmp_path, {}) as bank:
        filling = BankRunner(bank, Fails(lambda *_: 1.0), 2)
        with pytest.raises(EndpointError, match=r"2 of 10 runs failed .* no answer within 3 s"):
            await filling.fill(all_runs(taking, rows, 1))
        assert len(bank.runs) == 8


def test_data_sets_take_turns_in_an_order_of_the_seed() -> None:
    rows = [*problems(6), *problems(3, "math")]
    ordered = mixed_order(rows, 0)
    assert [p.dataset for p in ordered[:6]] == ["gsm8k", "math"] * 3
    assert ordered == mixed_order(list(reversed(rows)), 0)
    assert ordered != mixed_order(rows, 1)
