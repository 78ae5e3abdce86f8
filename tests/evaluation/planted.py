"""Tables whose truth is known: programs that are right with a given chance on each problem."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from llm_as_judge.evaluation.program_runs import BankRunner, all_runs
from llm_as_judge.evaluation.search.choices import Finalists
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import Domain, Problem

Chance = Callable[[BankProgram, Problem], float]


def problems(count: int, dataset: str = "gsm8k", domain: Domain = "math") -> list[Problem]:
    return [
        Problem(f"{dataset}/val/{n}", dataset, domain, f"{n} + 1?", (str(n + 1),))
        for n in range(count)
    ]


def programs(count: int, domain: Domain = "math") -> list[BankProgram]:
    return [
        BankProgram(domain, f"{n:016x}", f"program {n}", "given", f"return '{n}'")
        for n in range(count)
    ]


class Planted:
    """Runs no program: right by a coin that depends on program, problem, draw and seed alone."""

    def __init__(
        self, chance: Chance, seed: int = 0, cost: Callable[[BankProgram], float] = lambda _: 100.0
    ) -> None:
        self._chance, self._seed, self._cost = chance, seed, cost
        self.runs = 0

    async def __call__(self, program: BankProgram, problem: Problem, draw: int) -> RunRecord:
        self.runs += 1
        coin = random.Random(f"{self._seed}/{program.key}/{problem.id}/{draw}").random()
        right = float(coin < self._chance(program, problem))
        return RunRecord(program.key, problem.id, draw, right, self._cost(program), 200, 1, "ok")


def runner(bank: Bank, run: Planted) -> BankRunner:
    return BankRunner(bank, run, at_once=4)


def everybody(taking: Sequence[BankProgram], draws: int) -> Finalists:
    """A search that keeps all of these programs."""

    async def finalists(
        filling: BankRunner, domain: Domain, seen: Sequence[Problem]
    ) -> Sequence[BankProgram]:
        await filling.fill(all_runs(taking, seen, draws))
        return taking

    return finalists


def number(program: BankProgram) -> int:
    return int(program.hash, 16)


def ids(rows: Sequence[Problem]) -> list[str]:
    return [row.id for row in rows]
