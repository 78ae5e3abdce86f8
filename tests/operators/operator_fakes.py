"""A sandbox that runs nothing, and short ways to call one operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llm_as_judge.llm.scripted import Answers, ScriptedChat
from llm_as_judge.operators import (
    ExecutionContext,
    OperatorService,
    OperatorSettings,
    Registry,
    registry,
)
from llm_as_judge.operators.base import StopSettings
from llm_as_judge.operators.prompts import Enhancement
from llm_as_judge.operators.stopping import FEATURES, StopRule, StopTable
from llm_as_judge.types import (
    DOMAINS,
    IsolationReport,
    Json,
    OperatorCall,
    Problem,
    RunLimits,
    SandboxResult,
    ServeOperator,
    StubReport,
    TestReport,
)

MATH = Problem("t/t/1", "gsm8k", "math", "What is 9 + 9?", ("18",))
CODE = Problem(
    "t/t/2",
    "humaneval",
    "code",
    "Add two numbers.",
    entry_point="add",
    visible_tests=("assert add(1, 2) == 3",),
    hidden_tests=("assert add(2, 2) == 4",),
)

ARGUMENTS: dict[str, dict[str, Any]] = {
    "Custom": {"input": "p", "instruction": "i"},
    "AnswerGenerate": {"input": "p"},
    "CustomCodeGenerate": {"problem": "p", "entry_point": "add", "instruction": ""},
    "ScEnsemble": {"solutions": ["1", "2", "3"], "problem": "p"},
    "MdEnsemble": {"solutions": ["1", "2", "3"], "problem": "p"},
    "Programmer": {"problem": "p"},
    "Test": {"problem": "p", "solution": "def add(a, b): return 0", "entry_point": "add"},
    "Format": {"problem": "p", "solution": "s"},
    "Review": {"problem": "p", "solution": "s"},
    "Revise": {"problem": "p", "solution": "s", "feedback": "f"},
    "Retrieve": {"problem": "p", "keep": 4},
    "UntilAgree": {"ways": ["1", "2", "1"], "agree": 2, "most": 3},
    "UntilPassed": {"problem": "p", "entry_point": "add", "most": 3},
    "UntilWorth": {"ways": ["1", "2", "1"], "most": 3},
    "Vote": {"solutions": ["1", "2", "3"]},
}
"""Of one call of each shipped operator."""


_RULE = StopRule(((-1.0, *[0.0] * len(FEATURES)),), ())
STOPS = StopSettings(StopTable({}, {}, {}, {domain: {"0.1": _RULE} for domain in DOMAINS}), 0.1)
"""A learned stop after the first draw."""


class FakeSandbox:
    """Gives the results it was made with, one for each run, and notes what it was asked."""

    def __init__(
        self,
        functions: list[SandboxResult] | None = None,
        reports: list[TestReport] | None = None,
    ) -> None:
        self.functions = functions or []
        self.reports = reports or []
        self.sources: list[str] = []
        self.called: list[str | None] = []
        self.tests: list[tuple[str, ...]] = []

    @property
    def isolation(self) -> IsolationReport:
        return IsolationReport("fake", {})

    async def run_workflow(
        self, source: str, arguments: Mapping[str, Json], serve: ServeOperator, limits: RunLimits
    ) -> SandboxResult:
        raise NotImplementedError

    async def run_function(
        self, source: str, function: str | None, arguments: list[Json], limits: RunLimits
    ) -> SandboxResult:
        self.sources.append(source)
        self.called.append(function)
        return self.functions[len(self.sources) - 1]

    async def run_tests(
        self,
        solution: str,
        entry_point: str,
        tests: tuple[str, ...],
        limits: RunLimits,
        setup_code: str = "",
    ) -> TestReport:
        self.sources.append(solution)
        self.tests.append(tests)
        return self.reports[len(self.sources) - 1]

    async def try_stubs(
        self, entry_point: str, tests: tuple[str, ...], limits: RunLimits, setup_code: str = ""
    ) -> StubReport:
        raise NotImplementedError

    async def aclose(self) -> None: ...


def service(
    answers: Answers,
    *,
    problem: Problem = MATH,
    sandbox: FakeSandbox | None = None,
    settings: OperatorSettings | None = None,
    operators: Registry | None = None,
    enhancements: tuple[Enhancement, ...] = (),
    name: str = "scripted",
) -> tuple[OperatorService, ScriptedChat]:
    chat = ScriptedChat(answers, name=name)
    context = ExecutionContext(
        chat,
        sandbox or FakeSandbox(),
        problem,
        settings or OperatorSettings(stop=STOPS),
        enhancements,
    )
    return OperatorService(operators or registry(), context), chat


async def called(
    operator: str,
    answers: Answers,
    *,
    context_problem: Problem = MATH,
    sandbox: FakeSandbox | None = None,
    **arguments: Json,
) -> tuple[dict[str, Json], OperatorCall]:
    """(result, trace) of one call with these arguments."""
    serve, _ = service(answers, problem=context_problem, sandbox=sandbox)
    result = await serve(operator, [], arguments)
    assert isinstance(result, dict)
    (call,) = serve.calls
    return result, call
