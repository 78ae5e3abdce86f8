"""Choosing the best program: cross_validated figures are not in_sample, and each scope gets its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

import pytest
from planted import Chance, Planted, number, problems, programs, runner

from llm_as_judge.evaluation.program_runs import BankRunner
from llm_as_judge.evaluation.search.choices import (
    DOMAIN,
    SET,
    SearchResult,
    search_choices,
)
from llm_as_judge.evaluation.search.halving import halve
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import Domain, Problem


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
