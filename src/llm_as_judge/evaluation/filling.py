"""Pool filler: several draws of each single-call program on each problem, ahead of their use.

    first draws of each way -> the replies share a verdict? -> no more draws; else the rest

What is drawn is kept at once, replies in the pool and verdicts in a bank: the same again asks for what
is missing.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean

from llm_as_judge.assembly import Workbench
from llm_as_judge.assembly.documents import longest_statement
from llm_as_judge.assembly.executor_settings import estimate_of
from llm_as_judge.config import Config
from llm_as_judge.data.mix import named_rng, schedule
from llm_as_judge.data.selection import RowOptions, evaluated_problems, problem_file
from llm_as_judge.errors import NotRecordedError
from llm_as_judge.evaluation.program_runs import Wanted, all_runs, key_of, run_program
from llm_as_judge.grading.answer_hash import AnswerHashes
from llm_as_judge.llm.estimate import BYTES_PER_TOKEN, Estimate, Means
from llm_as_judge.llm.gathered import neighbors
from llm_as_judge.rollout.environment import WorkflowEnvironment
from llm_as_judge.rollout.line import grader_failed
from llm_as_judge.runs.record import RunKey
from llm_as_judge.runs.runner import Keep, at_most, fill
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import ChatModel, ChatReply, ChatRequest, Domain, Problem

FIRST_REPLIES = 4
"""Of a problem: where so many share a verdict, it gets no more draws."""
_PROBLEMS_AT_ONCE = 16
_INSTRUCTION_TOKENS = 50
"""What a way adds to the problem's text."""

Ways = Mapping[Domain, Sequence[BankProgram]]


def problems_to_fill(rows: RowOptions) -> list[Problem]:
    """Of the split ``train`` the problems that training reads, or those of ``evaluation.sets``, each once; of the
    others those that ``evaluate`` takes. ``evaluation.limit_per_set`` limits each set, of ``train`` the sum.

    Raises:
        UserError: a file is missing or not as wanted.
    """
    if rows.split != "train":
        return evaluated_problems(rows)
    found = (
        problem_file(rows.train_file)
        if rows.sets is None
        else evaluated_problems(replace(rows, limit_per_set=None))
    )
    once = {problem.id: problem for problem in found}
    return _first(list(once.values()), rows.limit_per_set, rows.seed)


def _first(rows: Sequence[Problem], limit: int | None, seed: int) -> list[Problem]:
    """At most ``limit`` rows, each data set with its share. A higher limit takes these and more: nothing
    that was paid for is left behind."""
    if limit is None or limit >= len(rows):
        return list(rows)
    by_set: dict[str, list[Problem]] = {}
    for row in rows:
        by_set.setdefault(row.dataset, []).append(row)
    for name, members in by_set.items():
        named_rng(seed, "fill", name).shuffle(members)
    turns = islice(schedule({name: len(members) for name, members in by_set.items()}), limit)
    return [by_set[name].pop() for name in turns]


def first_draws(ways: Sequence[BankProgram], draws: int) -> int:
    """Of each of these ways, before their verdicts are looked at."""
    return min(draws, math.ceil(FIRST_REPLIES / len(ways)))


def filled_estimate(
    config: Config, problems: Sequence[Problem], ways: Ways, draws: int, bank: Bank
) -> Estimate:
    """What the missing draws will ask, if no problem ends early."""
    programs = [way for of_domain in ways.values() for way in of_domain]
    missing = sum(not bank.holds(key_of(*run)) for run in all_runs(programs, problems, draws))
    lengths = [longest_statement(config, problem) for problem in problems]
    prompt = sum(lengths) / max(1, len(lengths)) / BYTES_PER_TOKEN + _INSTRUCTION_TOKENS
    return estimate_of(
        config, missing, problems, Means(1.0, prompt, config.executor.max_tokens / 2)
    )


@dataclass(slots=True)
class Asked:
    """What a filling did."""

    draws: int = 0
    failed: int = 0
    """Draws lost by our fault; the same again asks for them."""
    ungradable: int = 0
    """Draws on whose answers a grader raised: not graded, and not asked for again."""
    not_recorded: int = 0
    """Draws whose replies a replayed pool lacks."""
    first_failure: str = ""
    agreed: int = 0
    """Problems that got no more draws."""


class Filling:
    """Fills a bank through a workbench whose calls are kept in a pool.

    Args:
        bank: for this process to write.
        draws: of each way.
        everything: problems whose first replies share a verdict get all draws, too.
        on_draw: called as each ends.
        on_skipped: called with how many draws a problem will not get.
    """

    def __init__(
        self,
        bench: Workbench,
        bank: Bank,
        ways: Ways,
        draws: int,
        *,
        everything: bool = False,
        on_draw: Callable[[], None] = lambda: None,
        on_skipped: Callable[[int], None] = lambda _: None,
    ) -> None:
        # draw k is draw k: filling asks for those that a round would come back from
        self._env = replace(bench.environment(), rotated=None)
        self._hashes = AnswerHashes(bank.folder)
        self._bank, self._ways, self._draws = bank, ways, draws
        self._everything = everything
        self._on_draw, self._on_skipped = on_draw, on_skipped
        self.asked = Asked()

    async def fill(self, problems: Sequence[Problem]) -> Asked:
        """Draw what is missing.

        Raises:
            BudgetError: the run has used what it may use; what was drawn is kept.
            DataError: the bank has another problem of the same id.
            OutputError: the bank cannot be written.
        """
        for way in (way for ways in self._ways.values() for way in ways):
            self._bank.add_program(way)
        for problem in problems:
            self._bank.add_problem(problem)
        await at_most(_PROBLEMS_AT_ONCE, problems, self._problem)
        return self.asked

    async def _problem(self, problem: Problem) -> None:
        first = first_draws(self._ways[problem.domain], self._draws)
        wanted = self._wanted(problem, first)
        await fill(self._bank, wanted, self._run)
        seen = [self._bank.runs[key] for key in wanted if self._bank.holds(key)]
        if len(seen) < len(wanted):
            return  # some failed by our fault, or are not recorded: the same again begins with them
        every = self._wanted(problem, self._draws)
        graded = [run.right for run in seen if run.right is not None]
        if self._everything or (graded and 0 < fmean(graded) < 1):
            await fill(self._bank, every, self._run)
        elif left := sum(not self._bank.holds(key) for key in every):
            self.asked.agreed += 1
            self._on_skipped(left)

    def _wanted(self, problem: Problem, draws: int) -> dict[RunKey, Wanted]:
        ways = self._ways[problem.domain]
        return {key_of(*run): run for run in all_runs(ways, [problem], draws)}

    async def _run(self, missing: Mapping[RunKey, Wanted], keep: Keep) -> None:
        """Draws that follow each other. The first asks for the others' first requests with its own: they
        go out as one request where the endpoint takes it, and the others find their replies."""

        async def together(way: BankProgram, problem: Problem, draws: Sequence[int]) -> None:
            ahead = self._env.asking(FirstTogether(self._env.executor, len(draws)))
            await self._draw(ahead, (way, problem, draws[0]), keep)
            rest = (self._draw(self._env, (way, problem, n), keep) for n in draws[1:])
            await asyncio.gather(*rest)

        by_way: dict[str, list[Wanted]] = defaultdict(list)
        for run in missing.values():
            by_way[run[0].key].append(run)
        await asyncio.gather(
            *(
                together(runs[0][0], runs[0][1], draws)
                for runs in by_way.values()
                for draws in neighbors([draw for _, _, draw in runs], self._draws)
            )
        )

    async def _draw(self, env: WorkflowEnvironment, run: Wanted, keep: Keep) -> None:
        way, problem, number = run
        try:
            ended, record = await run_program(env, way, problem, number, self._hashes)
        except NotRecordedError:
            self.asked.not_recorded += 1
            self._on_skipped(1)
            return
        if ended.failure is not None:
            self.asked.first_failure = self.asked.first_failure or ended.failure.message
            self.asked.ungradable += grader_failed(ended)
            self.asked.failed += not grader_failed(ended)
        if record is not None:
            keep(record)
            self.asked.draws += 1
        self._on_draw()


class FirstTogether:
    """ChatModel that, with the first sampled request, asks for the draws that follow it; their replies
    are for those who ask later, of the pool.

    Args:
        draws: in all.
    """

    def __init__(self, model: ChatModel, draws: int) -> None:
        self._model = model
        self._draws = draws
        self._first = True

    @property
    def name(self) -> str:
        return self._model.name

    async def chat(self, request: ChatRequest) -> ChatReply:
        """One reply, as the wrapped model gives it.

        Raises:
            EndpointError: from the wrapped model.
        """
        together = self._first and request.temperature > 0
        self._first = False
        if not together:
            return await self._model.chat(request)
        asking = (self._model.chat(request.later(k)) for k in range(self._draws))
        first, *others = await asyncio.gather(*asking, return_exceptions=True)
        for reply in (first, *others):
            if isinstance(reply, BaseException) and not isinstance(reply, Exception):
                raise reply
        if isinstance(first, BaseException):
            raise first
        return first
