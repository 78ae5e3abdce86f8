"""Sanity baselines: known answers, graded as those of any policy. They measure the measuring.

gold    the row's own answer, in code its reference solution: must score 1
empty   no answer: must score 0, on questions that have none, too
wrong   the gold answer of another row of the data set that the rules do not accept: must score 0

No program is written and no executor asked; rows, judge, sandbox of the tests and files are those
of every evaluation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from llm_as_judge.assembly import answers_of_sets, open_grading, policy_prompt, row_options
from llm_as_judge.config import Config
from llm_as_judge.data.selection import RowOptions, evaluated_files, evaluated_problems
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.evaluation.systems import FixedProgram, Keep, Opened, each_ended
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.reward import RewardOptions
from llm_as_judge.rollout import RolloutRunner
from llm_as_judge.types import (
    DOMAINS,
    Budget,
    Domain,
    Execution,
    Problem,
    Program,
    Sampling,
    Verdict,
)

SANITY_BASELINES = ("gold", "empty", "wrong")
UNANSWERABLE = "unanswerable"


def is_sanity_baseline(label: str) -> bool:
    """Whether the system of this label is a sanity baseline."""
    return label in {SanityBaseline(name).label for name in SANITY_BASELINES}


def gold_answer(problem: Problem) -> str:
    """
    Raises:
        DataError: a code problem without a reference solution, or a problem of mathematics
            without an answer.
    """
    if problem.domain == "code":
        if "reference" not in problem.meta:
            raise DataError(f"{problem.id}: no reference solution in meta.reference")
        return problem.meta["reference"]
    if not problem.answers and problem.domain == "math":
        raise DataError(f"{problem.id}: no answer")
    return problem.answers[0] if problem.answers else UNANSWERABLE


@dataclass(frozen=True, slots=True)
class SanityBaseline:
    """Answers by what it knows of the rows; ``kind`` is one of ``SANITY_BASELINES``."""

    kind: str

    @property
    def label(self) -> str:
        return f"control {self.kind}"

    @property
    def domains(self) -> frozenset[Domain]:
        return frozenset(DOMAINS)

    @property
    def is_prompted(self) -> bool:
        return False

    @property
    def adapter(self) -> Path | None:
        return None

    def identity(self) -> Mapping[str, str]:
        return {"control": self.kind}

    def check(self, config: Config) -> None:
        """
        Raises:
            ConfigError: several samples, which would all be the same.
            DataError: a row has no gold answer to give, or is the only one of its data set.
        """
        if config.evaluation.samples > 1:
            raise ConfigError(
                f"evaluation.samples: {config.evaluation.samples} answers of a sanity baseline are all "
                "the same; leave it at 1"
            )
        if self.kind == "gold":
            for problem in evaluated_problems(row_options(config)):
                gold_answer(problem)
        elif self.kind == "wrong":
            for name, answers in _answers(row_options(config)).items():
                if len(answers) < 2:
                    raise DataError(f"{name}: one row has no other whose answer is wrong for it")

    @asynccontextmanager
    async def open(self, config: Config) -> AsyncIterator[Opened]:
        async with open_grading(config) as (judge, work):
            rules = Judge(
                rules=work.rules,
                f1_threshold=config.judge.qa_f1_threshold,
                sets=answers_of_sets(config),
            )
            runner = RolloutRunner(
                _Answers(_answerer(self.kind, row_options(config), rules), judge),
                FixedProgram(""),
                policy_prompt(config),
                RewardOptions(**config.reward.model_dump()),
                timeout_s=config.workflow.rollout_timeout_s,
            )

            async def attempt(wanted: Sequence[tuple[Problem, int]], keep: Keep) -> None:
                problems = [problem for problem, _ in wanted]
                await each_ended(await runner.start(problems, Sampling(1, 0.0, 1, seed=0)), keep)

            yield Opened(attempt, work.isolation)


class _Answers:
    """An environment whose every program gives the same known answer, and asks nobody."""

    def __init__(self, answer: Callable[[Problem], Awaitable[str]], judge: Judge) -> None:
        self._answer, self._judge = answer, judge

    def parse(self, text: str, problem: Problem) -> Program:
        return Program("", "")

    async def run(self, program: Program, problem: Problem) -> Execution:
        given = await self._answer(problem)
        return Execution("ok" if given else "no_answer", given)

    async def grade(self, problem: Problem, execution: Execution) -> Verdict:
        if execution.status != "ok":
            return Verdict(False, "execution", execution.status)
        return await self._judge.grade(problem, execution.answer)

    def of_group(self) -> _Answers:
        return self

    def of_rollout(self, k: int, budget: Budget | None = None) -> _Answers:
        return self


def _answers(options: RowOptions) -> dict[str, dict[str, str]]:
    """By data set and id the gold answers of all rows of the files, limited or not."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for file in evaluated_files(options).values():
        for problem in file:
            found[problem.dataset][problem.id] = gold_answer(problem)
    return found


def _answerer(kind: str, rows: RowOptions, rules: Judge) -> Callable[[Problem], Awaitable[str]]:
    async def gold(problem: Problem) -> str:
        return gold_answer(problem)

    async def empty(problem: Problem) -> str:
        return ""

    if kind != "wrong":
        return gold if kind == "gold" else empty
    known = _answers(rows)
    orders = {name: list(answers) for name, answers in known.items()}

    async def wrong(problem: Problem) -> str:
        of_set, order = known[problem.dataset], orders[problem.dataset]
        # from its own place: neighbors share passages, which makes the hardest wrong answers
        start = order.index(problem.id)
        for other in (*order[start + 1 :], *order[:start]):
            if (await rules.grade(problem, of_set[other])).correct is not True:
                return of_set[other]
        raise DataError(f"{problem.id}: the rules accept the answers of all other rows")

    return wrong
