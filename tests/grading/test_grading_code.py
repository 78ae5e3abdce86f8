import ast
import textwrap

import pytest

from llm_as_judge.errors import SandboxError
from llm_as_judge.grading import rules
from llm_as_judge.grading.rules import extract_code
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.operators.syntax import parse_python
from llm_as_judge.types import Problem, TestReport


class FakeSandbox:
    """Passes solutions that contain ``passes``; raises if told to be broken."""

    def __init__(self, broken: bool = False) -> None:
        self.broken = broken
        self.seen: list[str] = []

    async def run_tests(
        self, solution: str, entry: str, tests: tuple[str, ...], *_: object
    ) -> object:
        if self.broken:
            raise SandboxError("no jail")
        self.seen.append(solution)
        passed = "passes" in solution
        return TestReport(
            passed, len(tests), () if passed else (0,), "" if passed else "AssertionError"
        )


def judge_with(sandbox: FakeSandbox) -> Judge:
    return Judge(sandbox)  # type: ignore[arg-type]


PROBLEM = Problem(
    "mbpp/t/1", "mbpp", "code", "Write f.", entry_point="f", hidden_tests=("assert f()",)
)
FENCED = "Text\n```python\nx = 1\n```\nthen\n```python\ndef f():\n    passes\n```\nand\n```\nprint(f())\n```"


def test_the_block_that_defines_the_function_is_the_solution() -> None:
    assert extract_code(FENCED, "f") == "def f():\n    passes\n"
    assert extract_code("def f(): pass", "f") == "def f(): pass"
    assert extract_code("```python\ndef f():\n    return 1", "f") == "def f():\n    return 1"
    assert extract_code("```json\n{}\n```", "f") == "```json\n{}\n```"


ADD = "def add(a, b):\n    return a + b\n"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        pytest.param(f"~~~python\n{ADD}~~~", ADD, id="tildes"),
        pytest.param(f"~~~~\n{ADD}~~~~\nDone.", ADD, id="four tildes"),
        pytest.param(f"````python\n{ADD}````", ADD, id="four backticks"),
        pytest.param("```python\ns = '~~~'\n" + ADD + "```", "s = '~~~'\n" + ADD, id="tildes inside"),
        pytest.param(textwrap.indent(ADD, "    ") + "    ", ADD + "\n", id="everything indented"),
        pytest.param(
            "1. So:\n   ```python\n" + textwrap.indent(ADD, "   ") + "   ```", ADD, id="in a list"
        ),
        pytest.param(
            "```python\ndef add(a, b):\n    '''\n    ```\n    add(1, 2)\n    ```\n    '''\n```",
            "def add(a, b):\n    '''\n    ```\n    add(1, 2)\n    ```\n    '''",
            id="a fence in the docstring",
        ),
        pytest.param(f"Here it is:\n\n{ADD}\nIt adds two numbers.", ADD.strip(), id="prose around"),
        pytest.param(f"Add them, like so.\n{ADD}", ADD.strip(), id="prose before"),
        pytest.param(f"{ADD}\nThat's it!", ADD.strip(), id="prose after"),
        pytest.param(
            f"You can import math for it:\nimport math\n\n{ADD}Simple.",
            f"import math\n\n{ADD.strip()}",
            id="an import",
        ),
        pytest.param(f"from the task:\n{ADD}", ADD.strip(), id="prose that begins like code"),
        pytest.param("I cannot do it.", "I cannot do it.", id="no code"),
    ],
)  # fmt: skip
def test_code_is_found_in_any_dress(answer: str, code: str) -> None:
    assert extract_code(answer, "add").strip() == code.strip()


def test_a_long_answer_without_code_is_parsed_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse(text: str) -> ast.Module:
        parsed.append(text)
        return parse_python(text)

    monkeypatch.setattr(rules, "parse_python", parse)
    lines = "".join(f"x{n} = {n}\nthe {n} lines\n" for n in range(500))
    extract_code(f"{lines}def add(\n{lines}", "add")
    assert len(parsed) <= 30


@pytest.mark.parametrize(("answer", "correct"), [(FENCED, True), ("def f(): return 1", False)])
async def test_the_hidden_tests_decide(answer: str, correct: bool) -> None:
    verdict = await judge_with(FakeSandbox()).grade(PROBLEM, answer)
    assert verdict.correct is correct
    assert verdict.stage == "code"


async def test_an_empty_answer_runs_nothing() -> None:
    sandbox = FakeSandbox()
    verdict = await judge_with(sandbox).grade(PROBLEM, "  ")
    assert verdict.correct is False
    assert sandbox.seen == []


async def test_a_broken_sandbox_is_not_a_wrong_answer() -> None:
    with pytest.raises(SandboxError):
        await judge_with(FakeSandbox(broken=True)).grade(PROBLEM, FENCED)


async def test_without_sandbox_or_tests_code_is_not_graded() -> None:
    assert (await Judge().grade(PROBLEM, FENCED)).correct is None
    bare = Problem("mbpp/t/1", "mbpp", "code", "Write f.", entry_point="f")
    assert (await judge_with(FakeSandbox()).grade(bare, FENCED)).correct is None


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
    judge = judge_with(FakeSandbox())
    assert (await judge.grade(PROBLEM, answer)).correct is correct
    await judge.aclose()
