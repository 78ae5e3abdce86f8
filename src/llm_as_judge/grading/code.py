"""Grader of code: the hidden tests in the sandbox decide, finally; nothing is executed here."""

from __future__ import annotations

import re

from llm_as_judge.types import Problem, RunLimits, Sandbox, Verdict

_FENCE = re.compile(
    r"^[ \t]*```[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE
)
_PYTHON = frozenset({"", "python", "py", "python3"})


def extract_code(answer: str, entry_point: str) -> str:
    """The code of an answer: the last fenced Python block that defines ``entry_point``.

    Without such a block the last Python block counts, and without any fence the whole text.
    """
    blocks = [
        match.group(2)
        for match in _FENCE.finditer(answer)
        if match.group(1).lower() in _PYTHON and match.group(2).strip()
    ]
    if not blocks:
        return answer
    defines = re.compile(
        rf"^\s*(?:async\s+)?(?:def|class)\s+{re.escape(entry_point)}\b|^{re.escape(entry_point)}\s*=",
        re.MULTILINE,
    )
    defining = [block for block in blocks if defines.search(block)]
    return (defining or blocks)[-1]


async def grade_code(problem: Problem, answer: str, sandbox: Sandbox, limits: RunLimits) -> Verdict:
    """Verdict of ``problem.hidden_tests``.

    Raises:
        SandboxError: the sandbox is broken; a solution cannot cause that.
    """
    if not problem.hidden_tests:
        return Verdict(None, "code", "code.no_tests", "the problem has no hidden tests")
    solution = extract_code(answer, problem.entry_point)
    report = await sandbox.run_tests(
        solution, problem.entry_point, problem.hidden_tests, limits, problem.setup_code
    )
    if report.passed:
        return Verdict(True, "code", "code.passed", f"{report.total} tests passed", score=1.0)
    explanation = f"{len(report.failed) or 1} of {report.total} tests failed: {report.error}"
    return Verdict(False, "code", "code.failed", explanation, score=0.0)
