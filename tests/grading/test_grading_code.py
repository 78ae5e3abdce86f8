from collections.abc import Mapping

import pytest

from llm_as_judge.errors import SandboxError
from llm_as_judge.grading.rules import extract_code
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import (
    IsolationReport,
    Json,
    Problem,
    RunLimits,
    SandboxResult,
    ServeOperator,
    TestReport,
)


class FakeSandbox:
    """Passes solutions that contain ``passes``; raises if told to be broken."""

    isolation = IsolationReport("fake", {})

    def __init__(self, broken: bool = False) -> None:
        self.broken = broken
        self.seen: list[str] = []

    async def run_tests(
        self,
        solution: str,
        entry_point: str,
        tests: tuple[str, ...],
        limits: RunLimits,
        setup_code: str = "",
    ) -> TestReport:
        if self.broken:
            raise SandboxError("no jail")
        self.seen.append(solution)
        passed = "passes" in solution
        return TestReport(
            passed, len(tests), () if passed else (0,), "" if passed else "AssertionError"
        )

    async def run_workflow(
        self, source: str, arguments: Mapping[str, Json], serve: ServeOperator, limits: RunLimits
    ) -> SandboxResult:
        raise NotImplementedError

    async def run_function(
        self, source: str, function: str | None, arguments: list[Json], limits: RunLimits
    ) -> SandboxResult:
        raise NotImplementedError

    async def aclose(self) -> None:
        return None


PROBLEM = Problem(
    "mbpp/t/1", "mbpp", "code", "Write f.", entry_point="f", hidden_tests=("assert f()",)
)
FENCED = "Text\n```python\nx = 1\n```\nthen\n```python\ndef f():\n    passes\n```\nand\n```\nprint(f())\n```"


def test_the_block_that_defines_the_function_is_the_solution() -> None:
    assert extract_code(FENCED, "f") == "def f():\n    passes\n"
    assert extract_code("def f(): pass", "f") == "def f(): pass"
    assert extract_code("```python\ndef f():\n    return 1", "f") == "def f():\n    return 1"
    assert extract_code("```json\n{}\n```", "f") == "```json\n{}\n```"


@pytest.mark.parametrize(("answer", "correct"), [(FENCED, True), ("def f(): return 1", False)])
async def test_the_hidden_tests_decide(answer: str, correct: bool) -> None:
    verdict = await Judge(FakeSandbox()).grade(PROBLEM, answer)
    assert verdict.correct is correct
    assert verdict.stage == "code"


async def test_an_empty_answer_runs_nothing() -> None:
    sandbox = FakeSandbox()
    verdict = await Judge(sandbox).grade(PROBLEM, "  ")
    assert verdict.correct is False
    assert sandbox.seen == []


async def test_a_broken_sandbox_is_not_a_wrong_answer() -> None:
    with pytest.raises(SandboxError):
        await Judge(FakeSandbox(broken=True)).grade(PROBLEM, FENCED)


async def test_without_sandbox_or_tests_code_is_not_graded() -> None:
    assert (await Judge().grade(PROBLEM, FENCED)).correct is None
    bare = Problem("mbpp/t/1", "mbpp", "code", "Write f.", entry_point="f")
    assert (await Judge(FakeSandbox()).grade(bare, FENCED)).correct is None


@pytest.mark.parametrize(
    ("answer", "correct"),
    [
        (f"<think>```\ndef f(): fails\n```</think>\n{FENCED}", True),
        (f"{FENCED}\n</think>\n```python\ndef f(): fails\n```", False),
        (f"<think>{FENCED}", False),
        (f"{FENCED}\n</think>\nDone.", False),
        (f"<|channel|>analysis<|message|>{FENCED}<|end|>", False),
    ],
)
async def test_a_block_in_a_thought_is_no_solution(answer: str, correct: bool) -> None:
    judge = Judge(FakeSandbox())
    assert (await judge.grade(PROBLEM, answer)).correct is correct
    await judge.aclose()
