"""Prompt-only optimization: finds a better instruction, counts what it spends, executes no text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import bench_with

from llm_as_judge.config import Config
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.baselines import find_system
from llm_as_judge.evaluation.search import SEEDS, Candidate, program_text, search, search_domains
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.types import DOMAINS, ChatRequest, Domain, Problem
from llm_as_judge.workflow.program import parse_program

MAGIC = "Count on your fingers."
MATH = [Problem(f"gsm8k/val/{n}", "gsm8k", "math", f"{n} + 1?", (str(n + 1),)) for n in range(4)]
CODE = Problem(
    "mbpp/val/0", "mbpp", "code", "Write f.", entry_point="f", hidden_tests=("assert f() == 73",)
)


def executor(request: ChatRequest) -> str:
    """Right under the magic instruction alone, which it proposes second."""
    asked = request.messages[-1].content
    if "Write a better instruction" in asked:
        return "Try harder." if request.draw == 0 else f'"{MAGIC}"\n'
    number = int(asked.split(" + ")[0]) if " + " in asked else 0
    return str(number + 1) if MAGIC in asked else "-5"


def settings(tmp_path: Path) -> Config:
    tree = {"executor": {"model": "scripted"}, "judge": {"model": "none"}}
    return Config.model_validate({**tree, "output": {"cache": tmp_path}})


async def test_the_search_keeps_what_scores_best_and_counts_its_tokens(tmp_path: Path) -> None:
    chat = ScriptedChat(executor)
    shown: list[Candidate] = []
    opened: Any = bench_with(chat)
    async with opened(settings(tmp_path)) as bench:
        (found,) = await search_domains(bench, {"math": MATH}, 2, tmp_path / "out", shown.append)
    assert found.best.instruction == MAGIC
    assert (found.best.correct, found.best.problems, found.best.origin) == (4, 4, "proposed")
    assert [c.instruction for c in found.tried] == [*SEEDS["math"], "Try harder.", MAGIC]
    assert list(found.tried) == shown
    assert found.tokens_spent > sum(c.tokens * c.problems for c in shown)
    assert MAGIC in (tmp_path / "out" / "math.py").read_text()
    assert find_system(str(tmp_path / "out"), Config()).domains == {"math"}


async def test_a_proposal_sees_wrong_answers_but_no_hidden_test(tmp_path: Path) -> None:
    chat = ScriptedChat(lambda request: "```python\ndef f():\n    return 1\n```")
    opened: Any = bench_with(chat)
    async with opened(settings(tmp_path)) as bench:
        await search(bench, "code", [CODE], 1)
        with pytest.raises(DataError, match="no validation problem of qa"):
            await search(bench, "qa", [], 1)
    asked = [r.messages[-1].content for r in chat.requests]
    assert any("return 1" in text and "better instruction" in text for text in asked)
    assert not any("73" in text for text in asked)


@given(st.text(max_size=60), st.sampled_from(DOMAINS))
def test_an_instruction_is_a_literal_whatever_it_says(instruction: str, domain: Domain) -> None:
    text = program_text(domain, instruction)
    program = parse_program(text, domain, "class")
    assert program.strictly_valid
    assert len(program.operators) == 1


def test_an_instruction_that_looks_like_code_is_none() -> None:
    text = program_text("math", '")\n        import os; os.system("x")\n        x = ("""')
    assert parse_program(text, "math", "class").strictly_valid
    assert "\n        import os" not in text
