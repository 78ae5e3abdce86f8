"""Runs of programs on problems: what decides one, how it is made, and a search's account of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm_as_judge.assembly import Workbench, judge_fingerprint, library_facts
from llm_as_judge.config import Config
from llm_as_judge.errors import EndpointError, SandboxError
from llm_as_judge.evaluation.conditions import settings_of
from llm_as_judge.evaluation.records import code_digest
from llm_as_judge.grading.answer_hash import AnswerHashes
from llm_as_judge.grading.graders import FAILED
from llm_as_judge.grading.version import GRADING_VERSION
from llm_as_judge.llm.recorded import model_identity
from llm_as_judge.rollout.environment import WorkflowEnvironment
from llm_as_judge.rollout.line import grader_failed, rollout, written
from llm_as_judge.rollout.wrappers import Billed
from llm_as_judge.runs.record import RunKey, RunRecord
from llm_as_judge.runs.runner import Keep, at_most, fill
from llm_as_judge.runs.table import VERSION, Bank, BankProgram
from llm_as_judge.types import Completion, Domain, Problem, Rollout, Verdict
from llm_as_judge.workflow.program import ProgramOptions

Wanted = tuple[BankProgram, Problem, int]
"""A program, a problem and the draw that the program begins with."""
RunProgram = Callable[[BankProgram, Problem, int], Awaitable[RunRecord]]
"""Runs a program on a problem. May raise BudgetError; EndpointError or SandboxError, if it failed by our fault."""
_AT_ONCE = 4
"""Runs in hand for each that the sandbox has room for: while some wait for the executor others run."""


def conditions(config: Config) -> dict[str, Any]:
    """What decides a run beside program, problem and draw.

    Raises:
        UserError: there is no such executor or judge, or a document cannot be read.
    """
    settings = settings_of(config.model_dump(mode="json"))
    for of_many_runs in ("workflow.draws", "executor.draw_offset"):
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
        **library_facts(config),
    }


async def run_program(
    env: WorkflowEnvironment,
    program: BankProgram,
    problem: Problem,
    draw: int,
    hashes: AnswerHashes,
) -> tuple[Rollout, RunRecord | None]:
    """One run, as training and evaluation make it, from a draw of the executor's on, and what a bank keeps
    of it; nothing where it failed by our fault.

    Where a grader raises, it would raise again: the answer stays open, and ``failure`` says why.

    Args:
        hashes: those of the bank.
    Raises:
        SandboxError: the sandbox broke on the visible tests.
    """
    later = Billed(dataclasses.replace(env, offset=env.offset + draw), problem, draw)
    completion = Completion((), (), (), program.text, "stop")
    ended = await rollout(later, problem, written(later, problem, draw, completion))
    if grader_failed(ended):
        ended = dataclasses.replace(ended, verdict=Verdict(None, "grader", FAILED))
    if ended.verdict is None:
        return ended, None
    execution = ended.execution
    answer = execution.answer if execution is not None and execution.status == "ok" else None
    passed = await _passes_visible(env, problem, answer or "")
    hashed = hashes.of(problem, answer) if answer is not None else ""
    return ended, RunRecord.of(program.key, ended, GRADING_VERSION, hashed, passed, whole=False)


async def _passes_visible(env: WorkflowEnvironment, problem: Problem, answer: str) -> bool | None:
    """Whether code passes the tests that a program may run; None: there are none, a grader of one's own
    stands before tests, or the machine had no time for them."""
    if problem.domain != "code" or not problem.visible_tests:
        return None
    if not answer:
        return False
    shown = dataclasses.replace(problem, hidden_tests=problem.visible_tests)
    verdict = await env.work.rules.verdict(shown, answer)
    return verdict.correct if verdict.stage == "code" else None


def program_runner(bench: Workbench, bank: Bank) -> RunProgram:
    """Runs programs on this workbench for this bank.

    Raises:
        OutputError: the folder of the bank cannot be written.
    """
    environment, hashes = bench.environment(), AnswerHashes(bank.folder)

    async def run(program: BankProgram, problem: Problem, draw: int) -> RunRecord:
        ended, record = await run_program(environment, program, problem, draw, hashes)
        if record is None:
            assert ended.failure is not None
            raise EndpointError(ended.failure.message)
        return record

    return run


@dataclass
class BankRunner:
    """Fills a bank, and counts what was wanted of it.

    ``asked`` and ``cost`` count kept runs, too, so that two searches have equal budgets whoever came
    first.
    """

    bank: Bank
    run: RunProgram
    at_once: int
    on_run: Callable[[RunRecord, bool], None] | None = None
    """Told of each run asked for: True, it was made now; False, the bank had it."""
    asked: set[RunKey] = field(default_factory=set)
    cost: float = 0.0
    """In written tokens, of the runs asked for."""
    ran: int = 0
    """Runs that were not there."""

    def fresh(self) -> BankRunner:
        """The same bank, nothing asked for yet."""
        return dataclasses.replace(self, asked=set(), cost=0.0, ran=0)

    async def fill(self, wanted: Iterable[Wanted]) -> None:
        """Every one of these runs.

        Raises:
            BudgetError: the run may use no more; what was finished is kept.
            EndpointError: some runs failed by our fault; the others are kept.
        """
        by_key = {key_of(*one): one for one in wanted}
        for program, problem, _ in by_key.values():
            self.bank.add_program(program)
            self.bank.add_problem(problem)
        lacking = [key for key in by_key if not self.bank.holds(key)]
        if self.on_run is not None:
            for key in by_key.keys() - self.asked - set(lacking):
                self.on_run(self.bank.runs[key], False)
        failed: list[Exception] = []

        async def env(missing: Mapping[RunKey, Wanted], keep: Keep) -> None:
            async def one(run: Wanted) -> None:
                try:
                    record = await self.run(*run)
                except (EndpointError, SandboxError) as error:
                    failed.append(error)
                    return
                keep(record)

            await at_most(self.at_once * _AT_ONCE, missing.values(), one)

        await fill(self.bank, by_key, env, self._made)
        for key in by_key:
            if key not in self.asked and (record := self.bank.runs.get(key)):
                self.asked.add(key)
                self.cost += record.cost
        if failed:
            raise EndpointError(
                f"{len(failed)} of {len(lacking)} runs failed outside of their programs "
                f"(executor, judge or sandbox); the first: {failed[0]}; the same command tries again, the others are kept"
            )

    def _made(self, record: RunRecord) -> None:
        self.ran += 1
        if self.on_run is not None:
            self.on_run(record, True)


def key_of(program: BankProgram, problem: Problem, draw: int) -> RunKey:
    return RunKey(program.key, problem.id, draw)


def all_runs(
    programs: Iterable[BankProgram], problems: Sequence[Problem], draws: int
) -> list[Wanted]:
    """Every program on every problem of its domain at every draw, problem after problem: each stretch holds
    all programs, so that its time tells that of the rest."""
    programs = list(programs)
    return [
        (program, problem, draw)
        for problem in problems
        for program in programs
        if problem.domain == program.domain
        for draw in range(draws)
    ]


def by_turns(problems: Mapping[Domain, Sequence[Problem]]) -> list[Problem]:
    """All of them, each domain with its share of every stretch."""
    at = [(n / len(rows), row) for rows in problems.values() for n, row in enumerate(rows)]
    return [row for _, row in sorted(at, key=lambda one: one[0])]


def bank_program(
    domain: Domain, text: str, name: str, origin: str, options: ProgramOptions
) -> BankProgram:
    """A text that passes the check as a program of the bank."""
    program = options.parse(text, domain)
    assert program.runnable, "whoever reads or draws programs checks them"
    return BankProgram(domain, program.hash, name, origin, text)
