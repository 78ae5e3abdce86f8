"""Environment of a rollout, in which a program is checked, run and graded: the interface, and that of workflows."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from llm_as_judge.errors import RefusedRequestError
from llm_as_judge.judge.rows import Grader
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recorded import recorded_run
from llm_as_judge.llm.shared import OffsetDraws, SharedDraws
from llm_as_judge.operators.retrieval import Library
from llm_as_judge.reward import PRICES
from llm_as_judge.types import Budget, ChatModel, ChatRequest, Execution, Problem, Program, Verdict
from llm_as_judge.workers import RunSettings, Work
from llm_as_judge.workflow.program import ProgramForm, form_of, parse_program


class Environment(Protocol):
    """Takes a program from its text to its verdict."""

    def parse(self, text: str, problem: Problem) -> Program:
        """The text of a reply, checked; a text that is no program is a value, too."""
        ...

    async def run(self, program: Program, problem: Problem) -> Execution:
        """
        Raises:
            EndpointError: the executor gave no reply.
            SandboxError: the sandbox broke.
        """
        ...

    async def grade(self, problem: Problem, execution: Execution) -> Verdict:
        """
        Raises:
            EndpointError: the judge gave no reply.
            GraderError: a grader or rule raised.
            SandboxError: the sandbox broke.
        """
        ...

    def of_group(self, budget: Budget | None = None) -> Environment:
        """For the programs of one group, whose prompt named this budget: they may share what they ask."""
        ...


@dataclass(frozen=True, slots=True)
class WorkflowEnvironment:
    """Workflows: checked by static analysis, run in a sandbox, graded by rules and a judge."""

    work: Work
    """Where programs run: this machine, or workers of a cluster."""
    executor: ChatModel
    judge: Grader
    settings: RunSettings
    max_calls: int
    """A program that could make more executor calls is rejected."""
    form: ProgramForm | None = None
    """In which programs are written; None = each in the form that it is in."""
    offset: int = 0
    """A program sees the executor's draws from this one on."""
    runs: int = 1
    """Of a program on its problem: each from the next draw on."""
    ledger: Ledger | None = None
    """Counts the calls that shared draws save."""
    recording: Pool | None = None
    """Keeps runs that the clock cut off; None = every run is live."""
    documents: Library | None = None
    """Passages for questions that come without any; None = no such folder is named."""
    rotated: Callable[[str, ChatRequest, int], ChatRequest] | None = None
    """The draw of a model that comes so many after that of a request, where a pool's go round;
    None = the next ones, without end."""

    def parse(self, text: str, problem: Problem) -> Program:
        form = self.form or form_of(text)
        executors = self.settings.operators.executors
        return parse_program(
            text, problem.domain, form, max_calls=self.max_calls, executors=executors
        )

    async def run(self, program: Program, problem: Problem) -> Execution:
        """See :class:`Environment`. A program that built a text too long for the executor crashed."""
        if self.documents is not None:
            problem = self.documents.opened(problem)
        if self.runs == 1 or not program.runnable:
            return await self._run_from(self.offset, program, problem)
        runs = [
            asyncio.ensure_future(self._run_from(self.offset + k, program, problem))
            for k in range(self.runs)
        ]
        try:
            first, *others = await asyncio.gather(*runs)
        finally:  # one that failed by our fault ends the others
            for run in runs:
                run.cancel()
            await asyncio.gather(*runs, return_exceptions=True)
        return dataclasses.replace(first, again=tuple(others))

    async def _run_from(self, offset: int, program: Program, problem: Problem) -> Execution:
        executor = self.executor
        if offset:
            rotated = self._rotated if self.rotated is not None else None
            executor = OffsetDraws(executor, offset, rotated)

        def live() -> Awaitable[Execution]:
            return self.work.run(program, problem, executor, self.settings)

        limits = self.settings.limits
        try:
            if self.recording is None:
                return await live()
            return await recorded_run(self.recording, program, problem, limits, live, offset)
        except RefusedRequestError as error:
            return Execution("crashed", error=str(error))

    def _rotated(self, model: str, request: ChatRequest, offset: int) -> ChatRequest:
        """The same of the executor that the request names."""
        assert self.rotated is not None
        executor = request.executor
        if not executor:
            return self.rotated(model, request, offset)
        asked = dataclasses.replace(request, executor="")
        named = self.settings.operators.executors[executor].model
        turned = self.rotated(named, asked, offset)
        return dataclasses.replace(turned, executor=executor)

    async def grade(self, problem: Problem, execution: Execution) -> Verdict:
        return await grade_runs(self.judge, problem, execution)

    def asking(self, executor: ChatModel) -> WorkflowEnvironment:
        return dataclasses.replace(self, executor=executor)

    def of_group(self, budget: Budget | None = None) -> WorkflowEnvironment:
        """Of a budget ``until_worth`` takes its price."""
        settings, operators = self.settings, self.settings.operators
        if budget is not None and operators.stop is not None and not operators.stop.fixed:
            stop = dataclasses.replace(operators.stop, price=PRICES[budget])
            operators = dataclasses.replace(operators, stop=stop)
            settings = dataclasses.replace(settings, operators=operators)
        shared = SharedDraws(self.executor, self.ledger)
        return dataclasses.replace(self, executor=shared, settings=settings)


async def grade_runs(judge: Grader, problem: Problem, execution: Execution) -> Verdict:
    """The verdict of an execution, and of the further runs in it. What gave no answer is wrong, and
    no judge is asked.

    Raises:
        EndpointError, GraderError, SandboxError: see :class:`Environment`.
    """
    verdict = await _grade_once(judge, problem, execution)
    if not execution.again:
        return verdict
    others = [await _grade_once(judge, problem, other) for other in execution.again]
    right = [v.correct for v in (verdict, *others) if v.correct is not None]
    share = sum(right) / len(right) if right else None
    return dataclasses.replace(verdict, share=share, again=tuple(others))


async def _grade_once(judge: Grader, problem: Problem, execution: Execution) -> Verdict:
    if execution.status != "ok":
        return Verdict(False, "execution", execution.status, execution.error)
    return await judge.grade(problem, execution.answer)
