"""The rules of the judge: what needs processes of its own, algebra and hidden tests, and no model.

They may run on other machines than the judge model's caller, behind :class:`RuleGrader`.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from typing import Protocol

from llm_as_judge.errors import OverloadError
from llm_as_judge.grading.choice import gold_options, grade_choice, is_choice
from llm_as_judge.grading.extract import declared_answer
from llm_as_judge.grading.graders import own_verdict
from llm_as_judge.grading.math import grade_math
from llm_as_judge.grading.options import problem_options
from llm_as_judge.grading.pool import AlgebraPool
from llm_as_judge.grading.qa import grade_qa, official_score
from llm_as_judge.grading.row_tests import TEST_LIMITS
from llm_as_judge.operators.syntax import UnparsableError, parse_python
from llm_as_judge.types import Problem, RunLimits, Sandbox, Verdict

_FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<mark>`{3,20}|~{3,20})(?![`~])[ \t]*(?P<language>[\w+-]*)[^\n]*\n"
    r"(?P<code>.*?)(?:^(?:(?P=indent))? {0,3}(?P=mark)|\Z)",
    re.DOTALL | re.MULTILINE,
)
_PYTHON = frozenset({"", "python", "py", "python3"})
_FIRST_LINE = re.compile(r"[ \t]*(?:import|from|def|async def|class|@)\b|[ \t]*@\w")
_CUTS = 10
"""Times that code without a fence is cut off before a line that is no Python."""


def extract_code(answer: str, entry_point: str) -> str:
    """The code of an answer: the last fenced Python block that defines ``entry_point``.

    Without such a block the last Python block counts. Without any fence it is what defines
    ``entry_point`` between lines of prose, or else the whole text.
    """
    blocks = [
        textwrap.dedent(match["code"])
        for match in _FENCE.finditer(answer)
        if match["language"].lower() in _PYTHON and match["code"].strip()
    ]
    defines = re.compile(
        rf"^\s*(?:async\s+)?(?:def|class)\s+{re.escape(entry_point)}\b|^{re.escape(entry_point)}\s*=",
        re.MULTILINE,
    )
    if not blocks:
        return _between_prose(textwrap.dedent(answer), defines)
    defining = [block for block in blocks if defines.search(block)]
    return (defining or blocks)[-1]


def _between_prose(text: str, defines: re.Pattern[str]) -> str:
    lines = text.splitlines()
    starts = [0]  # then the first line that looks like code, and the definition itself
    for begins in (_FIRST_LINE, defines):
        starts += [number for number, line in enumerate(lines) if begins.match(line)][:1]
    for start in dict.fromkeys(starts):
        code = _parsable_beginning(textwrap.dedent("\n".join(lines[start:])))
        if defines.search(code):
            return code
    return text


def _parsable_beginning(text: str) -> str:
    """``text`` up to its first line that is no Python; empty where the first line is none."""
    for _ in range(_CUTS):
        try:
            parse_python(text)
        except UnparsableError as error:
            text = "\n".join(text.splitlines()[: max(error.line - 1, 0)])
        else:
            return text
    return ""


async def grade_code(problem: Problem, answer: str, sandbox: Sandbox, limits: RunLimits) -> Verdict:
    """Verdict of ``problem.hidden_tests``; none where the machine had no time to run them.

    Raises:
        SandboxError: the sandbox is broken; a solution cannot cause that.
    """
    if not problem.hidden_tests:
        return Verdict(None, "code", "code.no_tests", "the problem has no hidden tests")
    solution = extract_code(answer, problem.entry_point)
    try:
        report = await sandbox.run_tests(
            solution, problem.entry_point, problem.hidden_tests, limits, problem.setup_code
        )
    except OverloadError as error:
        return Verdict(None, "code", "code.overload", str(error))
    if report.passed:
        return Verdict(True, "code", "code.passed", f"{report.total} tests passed", score=1.0)
    explanation = f"{len(report.failed) or 1} of {report.total} tests failed: {report.error}"
    return Verdict(False, "code", "code.failed", explanation, score=0.0)


def for_the_judge(problem: Problem, answer: str) -> Verdict:
    """The open verdict of a row whose owner wants the judge and no rule to grade it."""
    score = None
    if problem.domain == "qa":
        score = official_score(problem, declared_answer(answer, one_sentence=False).text)
    return Verdict(None, "owner", "owner.judge", "the row says grader: judge", score=score)


def _is_graded_as_choice(problem: Problem) -> bool:
    spec = problem.spec
    return spec.kind in (None, "choice") and spec.grader != "exact" and is_choice(problem)


class RuleGrader(Protocol):
    """What :class:`llm_as_judge.judge.cascade.Judge` asks first."""

    async def verdict(self, problem: Problem, answer: str) -> Verdict:
        """Verdict by rules alone; ``correct`` None where they cannot decide.

        Args:
            answer: cleaned; for code as it is.
        Raises:
            SandboxError: the sandbox is broken (code).
        """
        ...

    async def aclose(self) -> None: ...


class Rules:
    """The rules on this machine.

    Args:
        sandbox: runs hidden tests; None where no code is graded.
        workers: processes for symbolic algebra.
        math_cpu_s: processor seconds after which a comparison is killed.
        test_limits: bounds of one run of hidden tests.
    """

    def __init__(
        self,
        sandbox: Sandbox | None = None,
        *,
        workers: int = 2,
        math_cpu_s: float = 2.0,
        test_limits: RunLimits = TEST_LIMITS,
    ) -> None:
        self._sandbox = sandbox
        self._limits = test_limits
        self._pool = AlgebraPool(workers, math_cpu_s)

    async def verdict(self, problem: Problem, answer: str) -> Verdict:
        """See :class:`RuleGrader`. Graders of one's own come first."""
        own = await own_verdict(problem, answer)
        return own or await self._shipped(problem, answer)

    async def _shipped(self, problem: Problem, answer: str) -> Verdict:
        if problem.domain == "code":
            if self._sandbox is None:
                return Verdict(None, "code", "code.no_sandbox", "no sandbox to run the tests in")
            return await grade_code(problem, answer, self._sandbox, self._limits)
        if problem.spec.grader == "judge":
            return for_the_judge(problem, answer)
        if _is_graded_as_choice(problem):
            return await self._choice(problem, answer)
        if problem.domain == "qa":
            return await grade_qa(problem, answer)
        if not problem.answers:
            return Verdict(None, "math", "math.no_gold", "the problem has no gold answer")
        return await grade_math(problem, answer, self._pool)

    async def _choice(self, problem: Problem, answer: str) -> Verdict:
        """By the options, and where a formula names none of them, as one equal to the right one's."""
        verdict = grade_choice(problem, answer)
        if verdict.rule in ("choice.none", "choice.unclear") and problem.domain == "math":
            verdict = await self._choice_of_formula(problem, answer, verdict)
        if verdict.correct is None and problem.spec.grader == "typed":
            return replace(verdict, correct=False, rule="exact_match", score=0.0)
        return verdict

    async def _choice_of_formula(self, problem: Problem, answer: str, verdict: Verdict) -> Verdict:
        options = problem_options(problem)
        texts = tuple(options[index] for index in sorted(gold_options(problem, options)))
        equal = await grade_math(replace(problem, answers=texts), answer, self._pool)
        return replace(equal, kind="choice") if equal.correct else verdict

    async def aclose(self) -> None:
        """Ends the worker processes."""
        await self._pool.aclose()
