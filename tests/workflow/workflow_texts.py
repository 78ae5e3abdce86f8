"""A small program in both forms, and a run of one, for tests."""

from __future__ import annotations

from typing import Any

from llm_as_judge.types import ChatModel, Domain, Execution, Problem, Program, RunLimits, Sandbox
from llm_as_judge.workflow import parse_program, run_program

MATH = Problem("t/t/1", "gsm8k", "math", "What is 9 + 9?", ("18",))
CODE = Problem(
    "t/t/2", "humaneval", "code", "Add.", entry_point="add",
    visible_tests=("assert add(1, 2) == 3",), hidden_tests=("assert add(40, 2) == 42",),
)  # fmt: skip
BODY = 'draft = await answer_generate(input=problem)\nreturn draft["answer"]\n'
CLASS = """class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.answer_generate = operator.AnswerGenerate(self.llm)

    async def __call__(self, problem):
        draft = await self.answer_generate(input=problem)
        return draft["answer"], 0.0
"""


def body(text: str, domain: Domain = "math", **options: Any) -> Program:
    return parse_program(text, domain, "body", **options)


async def run(
    program: Program | str,
    sandbox: Sandbox,
    executor: ChatModel,
    problem: Problem = MATH,
    limits: RunLimits = RunLimits(wall_s=30, cpu_s=2),  # noqa: B008 - frozen
    **options: Any,
) -> Execution:
    """What comes of a program, or of the statements of one, on a problem."""
    if isinstance(program, str):
        program = body(program, problem.domain)
    return await run_program(
        program, problem, executor=executor, sandbox=sandbox, limits=limits, **options
    )
