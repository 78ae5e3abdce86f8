"""Runs the (program, problem, draw) triples that the bank lacks."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from llm_as_judge.assembly import Workbench, judge_fingerprint
from llm_as_judge.config import Config
from llm_as_judge.errors import BudgetError, EndpointError, SandboxError
from llm_as_judge.evaluation.conditions import settings_of
from llm_as_judge.evaluation.records import code_digest
from llm_as_judge.grading.answer_hash import AnswerHashes
from llm_as_judge.grading.graders import failed_as_open
from llm_as_judge.grading.version import GRADING_VERSION
from llm_as_judge.llm.kept import model_identity
from llm_as_judge.runs.bank import VERSION, Bank, BankProgram, Cell
from llm_as_judge.types import Domain, Execution, Problem, Program, Verdict
from llm_as_judge.workflow.program import DEFAULT_MAX_CALLS, form_of, parse_program

Wanted = tuple[BankProgram, Problem, int]
"""A program, a problem and the draw that the program begins with."""
_AT_ONCE = 4
"""Runs in hand for each that the sandbox has room for: while some wait for the executor others run."""


class RunProgram(Protocol):
    """Runs a program on a problem."""

    async def __call__(self, program: BankProgram, problem: Problem, draw: int) -> Cell:
        """
        Raises:
            BudgetError: the run may use no more.
            EndpointError: the executor or the judge gave no reply.
            SandboxError: the sandbox broke.
        """
        ...


def conditions(config: Config) -> dict[str, Any]:
    """What decides a cell beside program, problem and draw.

    Raises:
        UserError: there is no such executor or judge.
    """
    settings = settings_of(config.model_dump(mode="json"))
    for of_many_runs in ("workflow.draws", "workflow.group_draws", "executor.draw_offset"):
        settings.pop(of_many_runs, None)
    seed = config.training.seed if config.executor.seed is None else config.executor.seed
    return {
        **settings,
        "executor.seed": seed,
        "weights of the executor": model_identity(config.executor.model),
        **{
            f"weights of the executor {name}": model_identity(one.model)
            for name, one in config.executors.items()
        },
        "rules and model of the judge": judge_fingerprint(config),
        VERSION: GRADING_VERSION,
        "code of sandbox, operators and judge": code_digest(),
    }


def program_runner(bench: Workbench, bank: Bank) -> RunProgram:
    """Runs programs on this workbench, as training and evaluation run them, for this bank.

    Raises:
        OutputError: the folder of the bank cannot be written.
    """
    environment, hashes = bench.environment(), AnswerHashes(bank.folder)
    parsed: dict[str, Program] = {}

    async def run(program: BankProgram, problem: Problem, draw: int) -> Cell:
        if program.key not in parsed:
            parsed[program.key] = environment.parse(program.text, problem)
        later = dataclasses.replace(environment, offset=draw)
        execution = await later.run(parsed[program.key], problem)
        # a grader that fails would fail again: the cell stays open
        verdict = await failed_as_open(later.grade(problem, execution))
        return cell_of(program, problem, draw, execution, verdict, hashes)

    return run


def cell_of(
    program: BankProgram,
    problem: Problem,
    draw: int,
    execution: Execution,
    verdict: Verdict,
    hashes: AnswerHashes,
) -> Cell:
    """What the bank keeps of a run.

    Args:
        hashes: those of its bank.
    """
    return Cell(
        program.key,
        problem.id,
        draw,
        verdict.right,
        round(execution.cost, 2),
        execution.tokens,
        execution.llm_calls,
        execution.status,
        hashes.of(problem, execution.answer) if execution.status == "ok" else "",
    )


@dataclass
class BankRunner:
    """Fills a bank: a cell that it holds is never run again.

    ``asked`` and ``cost`` count what was wanted of it, kept cells too, so that two searches have
    equal budgets whoever came first.
    """

    bank: Bank
    run: RunProgram
    at_once: int
    on_cell: Callable[[Cell, bool], None] | None = None
    """Told of each cell asked for: True, it was run now; False, the bank had it."""
    asked: set[tuple[str, str, int]] = field(default_factory=set)
    cost: float = 0.0
    """In written tokens, of the cells asked for and of what proposed programs."""
    ran: int = 0
    """Cells that were not there."""

    def fresh(self) -> BankRunner:
        """The same bank, nothing asked for yet."""
        return dataclasses.replace(self, asked=set(), cost=0.0, ran=0)

    async def fill(self, wanted: Iterable[Wanted]) -> None:
        """Every one of these cells.

        Raises:
            BudgetError: the run may use no more; what was finished is kept.
            EndpointError: some runs failed by our fault; the others are kept.
        """
        asked = list(wanted)
        for program, problem, _ in asked:
            self.bank.add_program(program)
            self.bank.add_problem(problem)
        places = dict.fromkeys(map(_place, asked))
        missing = [place for place in places if place not in self.bank.cells]
        for place in places.keys() - self.asked:
            if self.on_cell is not None and (kept := self.bank.cells.get(place)):
                self.on_cell(kept, False)
        by_place = {_place(w): w for w in asked}
        failed = await self._run_all([by_place[place] for place in missing])
        for place in places:
            if place not in self.asked and (cell := self.bank.cells.get(place)):
                self.asked.add(place)
                self.cost += cell.cost
        if failed:
            raise EndpointError(
                f"{len(failed)} of {len(missing)} runs failed outside of their programs "
                f"(executor, judge or sandbox); the first: {failed[0]}; the same command tries again, the others are kept"
            )

    async def _run_all(self, wanted: Sequence[Wanted]) -> list[Exception]:
        todo, failed = iter(wanted), list[Exception]()

        async def worker() -> None:
            for program, problem, draw in todo:
                try:
                    cell = await self.run(program, problem, draw)
                except BudgetError:
                    raise
                except (EndpointError, SandboxError) as error:
                    failed.append(error)
                    continue
                self.bank.add(cell)
                self.ran += 1
                if self.on_cell is not None:
                    self.on_cell(cell, True)

        workers = [
            asyncio.ensure_future(worker())
            for _ in range(min(len(wanted), self.at_once * _AT_ONCE))
        ]
        try:
            await asyncio.gather(*workers)
        finally:
            for one in workers:
                one.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return failed


def _place(wanted: Wanted) -> tuple[str, str, int]:
    program, problem, draw = wanted
    return program.key, problem.id, draw


def all_cells(
    programs: Iterable[BankProgram], problems: Sequence[Problem], draws: int
) -> list[Wanted]:
    """Every program on every problem of its domain at every draw."""
    return [
        (program, problem, draw)
        for program in programs
        for problem in problems
        if problem.domain == program.domain
        for draw in range(draws)
    ]


def bank_program(
    domain: Domain,
    text: str,
    name: str,
    origin: str,
    *,
    max_calls: int = DEFAULT_MAX_CALLS,
    executors: Collection[str] = (),
) -> BankProgram | None:
    """A text as a program of the bank; None if it cannot run.

    Args:
        executors: names of those beside the default one.
    """
    form = form_of(text)
    program = parse_program(text, domain, form, max_calls=max_calls, executors=executors)
    return BankProgram(domain, program.hash, name, origin, text) if program.runnable else None
