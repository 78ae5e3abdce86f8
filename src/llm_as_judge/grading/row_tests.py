"""Tests of code rows, tried before they grade: on functions that do nothing, and on the reference."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from llm_as_judge.quoting import quoted
from llm_as_judge.types import Problem, RunLimits, Sandbox, StubReport

TEST_LIMITS = RunLimits(wall_s=20.0, cpu_s=10.0)
"""Bounds of one run of hidden tests."""


async def faults_of_tests(
    problems: Sequence[Problem], sandbox: Sandbox, limits: RunLimits = TEST_LIMITS
) -> list[str]:
    """Of each code problem what is wrong with its tests, as one line; empty where nothing is.

    Raises:
        SandboxError: the sandbox is broken; tests cannot cause that.
    """
    return await asyncio.gather(*(_fault(problem, sandbox, limits) for problem in problems))


async def _fault(problem: Problem, sandbox: Sandbox, limits: RunLimits) -> str:
    setup, tests, name = problem.setup_code, problem.hidden_tests, problem.entry_point
    shown = tuple(test for test in problem.visible_tests if test not in tests)
    report = await sandbox.try_stubs(name, (*tests, *shown), limits, setup)
    if "raise" not in report.outcomes:
        return report.error
    labels = [f"test {at}, {_first_line(test)}" for at, test in enumerate(tests)]
    labels += [f"visible test {at}, {_first_line(test)}" for at, test in enumerate(shown)]
    if fault := _fault_on_stubs(report, labels, name):  # with another stub a test may loop for ever
        return fault
    if "reference" not in problem.meta:
        return ""
    graded = await sandbox.run_tests(problem.meta["reference"], name, tests, limits, setup)
    return "" if graded.passed else f"the tests fail on the row's own solution: {graded.error}"


def _fault_on_stubs(report: StubReport, labels: Sequence[str], name: str) -> str:
    for outcomes in report.outcomes.values():
        for outcome, test in zip(outcomes, labels, strict=True):
            if outcome not in ("passed", "failed"):
                return f"{test}: {outcome}"
    for outcome, test in zip(report.outcomes["raise"], labels, strict=True):
        if outcome == "passed":
            return f"{test}, passes where {name} only raises an exception: it tests nothing"
    for stub, outcomes in report.outcomes.items():
        if all(outcome == "passed" for outcome in outcomes):
            does = "and returns None" if stub == "none" else f"but {stub}"
            return f"all tests pass where {name} does nothing {does}"
    return ""


def _first_line(test: str) -> str:
    line = next((line for line in test.splitlines() if line.strip()), "")
    return repr(quoted(line, 80))
