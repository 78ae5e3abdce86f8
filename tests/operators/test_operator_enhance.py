"""Operator hints can be switched off, and the trace shows whether they were on."""

from __future__ import annotations

import pytest

from llm_as_judge.assembly import open_workbench
from llm_as_judge.config import Config
from llm_as_judge.types import Problem

PROBLEM = Problem("t/1", "gsm8k", "math", "What is 9 + 9?", ("18",))
PROGRAM = '```python\nd = await answer_generate(input=problem)\nreturn d["answer"]\n```'


@pytest.mark.slow
@pytest.mark.parametrize("enhance", [True, False])
async def test_the_switch_decides_whether_prompts_are_enhanced(enhance: bool) -> None:
    config = Config.model_validate(
        {
            "executor": {"model": "scripted", "enhance": enhance},
            "judge": {"model": "none"},
            "workflow": {"sandbox": "subprocess"},
            "sampling": {"form": "body"},
        }
    )
    async with open_workbench(config) as bench:
        program = bench.parse(PROGRAM, PROBLEM)
        execution = await bench.run(program, PROBLEM, bench.executor)
    assert execution.status == "ok"
    assert execution.calls[0].notes == (("enhanced: math_bare_number",) if enhance else ())
