"""Search: halving finds what is planted and pays for nothing twice; choices, advice, and who takes part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
from planted import Chance, Planted, everybody, number, problems, programs, runner

from llm_as_judge.assembly import program_options
from llm_as_judge.config import Config
from llm_as_judge.errors import BudgetError, ConfigError, DataError, EndpointError
from llm_as_judge.evaluation.baselines import workflows_dir
from llm_as_judge.evaluation.program_runs import BankRunner, all_runs
from llm_as_judge.evaluation.search.audit import Advice, advice, audit_of_search
from llm_as_judge.evaluation.search.choices import (
    DOMAIN,
    SET,
    SearchResult,
    search_choices,
)
from llm_as_judge.evaluation.search.halving import HalvingRound, halve, halving_rounds, mixed_order
from llm_as_judge.evaluation.search.programs import (
    given,
    shipped,
    together,
    widened,
)
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import DOMAINS, Domain, Problem
from llm_as_judge.workflow.program import form_of, parse_program


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


# ---------------------------------------------------------------------------------------- choices
async def searched(
    folder: Path,
    chance: Chance,
    rows: dict[Domain, list[Problem]],
    taking: dict[Domain, list[BankProgram]],
    seed: int = 0,
    draws: int = 1,
    cost: Callable[[BankProgram], float] = lambda _: 100.0,
) -> SearchResult:
    async def finalists(
        filling: BankRunner, domain: Domain, seen: Sequence[Problem]
    ) -> Sequence[BankProgram]:
        return await halve(filling, taking[domain], seen, draws=draws, seed=seed)

    with Bank.writing(folder, {}) as bank:
        asked = runner(bank, Planted(chance, seed, cost))
        return await search_choices(asked, rows, finalists, draws=draws, seed=seed)


@pytest.mark.slow
async def test_on_noise_the_crossed_figure_is_unbiased_and_the_flattered_one_is_not(
    tmp_path: Path,
) -> None:
    """40 programs that are all right half of the time."""
    cross_validated, in_sample = [], []
    for seed in range(30):
        found = await searched(
            tmp_path / str(seed),
            lambda *_: 0.5,
            {"math": problems(30)},
            {"math": programs(40)},
            seed,
        )
        choice = found.chosen(DOMAIN, "math", "high")
        cross_validated.append(choice.cross_validated.right)
        in_sample.append(choice.in_sample.right)
    assert abs(fmean(cross_validated) - 0.5) < 0.04  # two standard errors of 900 verdicts are 0.033
    assert fmean(in_sample) > 0.6


async def test_every_scope_and_budget_gets_its_own_program(tmp_path: Path) -> None:
    """Program 1 is best on gsm8k, 2 on math; 3 is a little worse than both but good everywhere."""
    rights = {(1, "gsm8k"): 1.0, (2, "math"): 1.0, (3, "gsm8k"): 0.9, (3, "math"): 0.9}
    rows: dict[Domain, list[Problem]] = {"math": [*problems(40), *problems(40, "math")]}
    found = await searched(
        tmp_path,
        lambda program, problem: rights.get((number(program), problem.dataset), 0.2),
        rows,
        {"math": programs(5)},
        draws=3,
    )
    assert found.chosen(SET, "gsm8k", "high").name == "program 1"
    assert found.chosen(SET, "math", "high").name == "program 2"  # named as its domain is
    assert found.chosen(DOMAIN, "math", "high").name == "program 3"
    assert found.chosen(SET, "gsm8k", "high").cross_validated.problems == 40
    assert found.chosen(DOMAIN, "math", "high").cross_validated.problems == 80
    assert found.chosen(SET, "gsm8k", "high").cross_validated.right == 1.0
    assert 0.8 < found.chosen(DOMAIN, "math", "high").cross_validated.right < 1.0


async def test_a_low_budget_takes_the_cheaper_program(tmp_path: Path) -> None:
    found = await searched(
        tmp_path,
        lambda program, _: 0.9 if number(program) else 0.7,
        {"math": problems(200)},
        {"math": programs(2)},
        cost=lambda program: 1000.0 if number(program) else 10.0,
    )
    assert found.chosen(DOMAIN, "math", "low").name == "program 0"
    assert found.chosen(DOMAIN, "math", "high").name == "program 1"
    assert found.chosen(DOMAIN, "math", "low").cross_validated.cost == 10.0


# ----------------------------------------------------------------------------------------- advice
DRAWS = 4


async def told(
    folder: Path, chance: Chance, rows: int = 120, *, with_direct: bool = True
) -> Advice:
    direct, *others = programs(4)
    taking = [replace(direct, name="direct") if with_direct else direct, *others]
    with Bank.writing(folder / "bank", {}) as bank:
        found = await search_choices(
            runner(bank, Planted(chance)),
            {"math": problems(rows)},
            everybody(taking, DRAWS),
            draws=DRAWS,
            seed=0,
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


# ------------------------------------------------------------------------ programs that take part
CONFIG = Config()
OPTIONS = program_options(CONFIG)
ASKS = 'reply = await custom(input=problem, instruction="{}")\nreturn reply["response"]\n'


def one(name: str, domain: Domain) -> str:
    return (workflows_dir() / name / f"{domain}.py").read_text()


def test_copies_of_a_program_are_one_and_given_ones_come_first(tmp_path: Path) -> None:
    copy = one("cot", "math").replace("reply", "draft")
    (tmp_path / "math").mkdir()
    (tmp_path / "math" / "copy.py").write_text(copy)
    (tmp_path / "math" / "own.py").write_text(ASKS.format("Count on your fingers."))
    found = together(given(tmp_path, OPTIONS, DOMAINS), shipped(OPTIONS, DOMAINS))
    names = [program.name for program in found["math"]]
    assert names[:2] == [str(tmp_path / "math" / "copy.py"), str(tmp_path / "math" / "own.py")]
    assert "cot" not in names
    assert "cot" in [program.name for program in found["qa"]]


def test_a_folder_without_programs_or_with_a_bad_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        given(tmp_path / "none", OPTIONS, DOMAINS)
    with pytest.raises(DataError, match=r"no program; wanted math\.py, qa\.py, code\.py"):
        given(tmp_path, OPTIONS, DOMAINS)
    (tmp_path / "math.py").write_text("import os\n")
    with pytest.raises(ConfigError, match=r"math\.py:1"):
        given(tmp_path, OPTIONS, DOMAINS)


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_as_many_different_programs_as_wanted_take_part_by_the_seed(domain: Domain) -> None:
    begin = shipped(OPTIONS, [domain])[domain]
    found = widened(begin, 60, OPTIONS, seed=0)
    assert len({program.hash for program in found}) == 60
    assert found[: len(begin)] == begin
    assert {program.origin for program in found} == {"shipped", "drawn"}
    assert widened(begin, 60, OPTIONS, seed=0) == found
    assert widened(begin, 60, OPTIONS, seed=1) != found
    assert widened(begin, 1, OPTIONS, seed=0) == begin  # none is left out


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_only_operators_that_are_shown_are_drawn(domain: Domain) -> None:
    shown = {"AnswerGenerate", "CustomCodeGenerate", "Programmer", "UntilAgree", "Vote"}
    few = CONFIG.model_copy(
        update={"sampling": CONFIG.sampling.model_copy(update={"operators": tuple(shown)})}
    )
    begin = shipped(program_options(few), [domain])[domain]
    made = widened(begin, 40, program_options(few), seed=0)[len(begin) :]
    assert {program.origin for program in made} == {"drawn"}
    for program in made:
        parsed = parse_program(program.text, domain, form_of(program.text))
        assert set(parsed.operators) <= shown
