"""Graders of one's own: functions that grade a problem before the shipped rules and the judge model.

A grader says True, False or None; None leaves the answer to whatever comes after it.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from llm_as_judge.errors import GraderError
from llm_as_judge.plugins import Defined, Registry, failing
from llm_as_judge.types import Domain, Problem, Verdict

Said = bool | Verdict | None


@dataclass(frozen=True, slots=True)
class GraderFunction:
    """A grader and the problems that it grades: all that meet every condition."""

    name: str
    defined: Callable[[Problem, str], Said | Awaitable[Said]]
    """``(problem, answer)``, async or not: a verdict. ``answer`` is what a model wrote: text to
    compare, never to execute."""
    domain: Domain | None = None
    dataset: str | None = None
    when: Callable[[Problem], bool] | None = None

    def grades(self, problem: Problem) -> bool:
        return (
            self.domain in (None, problem.domain)
            and self.dataset in (None, problem.dataset)
            and (self.when is None or self.when(problem))
        )

    async def verdict(self, problem: Problem, answer: str) -> Verdict | None:
        """None for a problem that is not its own.

        Raises:
            GraderError: it failed, or said something else than a verdict.
        """
        where = f"grader {self.name!r}: {problem.id}"
        with failing(where, "mend the grader", GraderError):
            if not self.grades(problem):
                return None
            if inspect.iscoroutinefunction(self.defined):
                said = await self.defined(problem, answer)
            else:  # not in the loop: meanwhile other rollouts go on
                said = await asyncio.to_thread(self.defined, problem, answer)
        return as_verdict(said, self.name, where)


def as_verdict(said: object, name: str, where: str, score: float | None = None) -> Verdict:
    """What code of one's own called ``name`` says, as a verdict.

    Raises:
        GraderError: it is none; the line begins with ``where``.
    """
    if isinstance(said, Verdict):
        return said
    if said is not None and not isinstance(said, bool):
        raise GraderError(f"{where}: found {said!r}, wanted True, False, None or a Verdict")
    word = {True: "right", False: "wrong", None: "open"}[said]
    return Verdict(said, "grader", f"{name}.{word}", f"says {name}", score)


GRADERS: Registry[GraderFunction] = Registry("grader")


def grader(
    name: str,
    *,
    domain: Domain | None = None,
    dataset: str | None = None,
    when: Callable[[Problem], bool] | None = None,
) -> Callable[[Defined], Defined]:
    """Makes a function a grader; see :class:`GraderFunction`.

    Raises:
        ConfigError: another grader has this name.
    """
    return GRADERS.adding(lambda grade: GraderFunction(name, grade, domain, dataset, when))


async def own_verdict(problem: Problem, answer: str) -> Verdict | None:
    """Of the first grader that decides; None where none does.

    Raises:
        GraderError: see :meth:`GraderFunction.verdict`.
    """
    for one in GRADERS.all().values():
        verdict = await one.verdict(problem, answer)
        if verdict is not None and verdict.correct is not None:
            return verdict
    return None


FAILED = "grader.failed"
"""Rule of a verdict that no grader could give."""


def shipped_grading(problem: Problem) -> AbstractContextManager[None]:
    """A bug of the shipped rules or judges on an answer to ``problem`` as one line.

    Raises:
        GraderError: which problem, what failed in which line, what to do.
    """
    remedy = "report it with this row and its answer; until then grade such rows by a grader (docs/extending.md)"
    return failing(f"grading: {problem.id}", remedy, GraderError)


async def failed_as_open(verdict: Awaitable[Verdict]) -> Verdict:
    """``verdict``; where its grader failed an open one that says why."""
    try:
        return await verdict
    except GraderError as error:
        return Verdict(None, "grader", FAILED, str(error))
