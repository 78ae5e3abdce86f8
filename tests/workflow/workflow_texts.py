"""A small program in both forms, for tests."""

from __future__ import annotations

from typing import Any

from llm_as_judge.types import Domain, Program
from llm_as_judge.workflow import parse_program

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
