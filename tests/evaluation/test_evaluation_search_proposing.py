"""Programs that a model proposes: they are scored, checked, limited, and learn no hidden test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from oracle import bench_with
from planted import problems

from llm_as_judge.config import Config
from llm_as_judge.evaluation.search.cells import BankRunner, program_runner
from llm_as_judge.evaluation.search.mutations import SEEDS
from llm_as_judge.evaluation.search.programs import shipped
from llm_as_judge.evaluation.search.proposing import (
    Proposing,
    grow_tree,
    improve_instruction,
    instructed,
)
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.runs.bank import Bank, BankProgram
from llm_as_judge.types import DOMAINS, ChatRequest, Domain, Problem
from llm_as_judge.workflow.program import parse_program

MAGIC = "Count on your fingers."
BETTER = f'```python\nreply = await custom(input=problem, instruction="{MAGIC}")\nreturn reply["response"]\n```'
MATH = problems(4)
CODE = [
    Problem(
        f"mbpp/val/{n}",
        "mbpp",
        "code",
        "Write f.",
        entry_point="f",
        hidden_tests=("assert f() == 73",),
    )
    for n in range(2)
]


def executor(request: ChatRequest) -> str:
    """Right under the magic instruction alone, which it proposes second."""
    asked = request.messages[-1].content
    if "Write a better instruction" in asked:
        return "Try harder." if request.draw == 0 else f'"{MAGIC}"\n'
    if "Change the program in one place" in asked:
        return "I cannot." if request.draw == 0 else BETTER
    number = int(asked.split(" + ")[0]) if " + " in asked else 0
    return str(number + 1) if MAGIC in asked else "-5"


async def proposed(
    tmp_path: Path,
    chat: ScriptedChat,
    domain: Domain,
    rows: list[Problem],
    *,
    tree: bool,
    rounds: int = 2,
    budget: float | None = None,
) -> tuple[list[BankProgram], dict[str, float], float]:
    tree_ = {"executor": {"model": "scripted"}, "judge": {"model": "none"}}
    config = Config.model_validate({**tree_, "output": {"cache": tmp_path}})
    scores: dict[str, float] = {}
    opened: Any = bench_with(chat)
    async with opened(config) as bench:
        with Bank.writing(tmp_path / "bank", {}) as bank:
            runner = BankRunner(bank, program_runner(bench, bank), 2)
            place = Proposing(
                bench,
                runner,
                rows,
                rounds,
                budget,
                0,
                lambda p, share: scores.update({p.key: share}),
            )
            if tree:
                roots = [p for p in shipped(config, [domain])[domain] if p.name == "direct"]
                found = await grow_tree(place, domain, roots)
            else:
                found = await improve_instruction(place, domain)
            return found, scores, runner.cost


async def test_a_better_instruction_is_found_and_its_cost_counts(tmp_path: Path) -> None:
    chat = ScriptedChat(executor)
    found, scores, cost = await proposed(tmp_path, chat, "math", MATH, tree=False)
    assert len(found) == len(SEEDS["math"]) + 2
    assert max(found, key=lambda program: scores[program.key]) is found[-1]
    assert scores[found[-1].key] == 1.0
    assert (MAGIC in found[-1].text, found[-1].origin) == (True, "proposed")
    asked = [r for r in chat.requests if "Write a better instruction" in r.messages[-1].content]
    assert len(asked) == 2
    runs = sum(cell.cost for cell in Bank(tmp_path / "bank").cells.values())
    assert cost > runs  # the proposals themselves


async def test_a_tree_takes_a_program_that_can_run_and_else_a_mutation(tmp_path: Path) -> None:
    found, scores, _ = await proposed(tmp_path, ScriptedChat(executor), "math", MATH, tree=True)
    assert [program.origin for program in found] == ["shipped", "mutated", "proposed"]
    assert scores[found[-1].key] == 1.0
    assert len({program.hash for program in found}) == 3


async def test_no_proposal_is_made_beyond_the_budget(tmp_path: Path) -> None:
    chat = ScriptedChat(executor)
    await proposed(tmp_path, chat, "math", MATH, tree=True, rounds=50, budget=1.0)
    assert not any("Change the program" in r.messages[-1].content for r in chat.requests)


async def test_a_proposal_sees_no_hidden_test(tmp_path: Path) -> None:
    chat = ScriptedChat(lambda request: "```python\ndef f():\n    return 1\n```")
    await proposed(tmp_path / "a", chat, "code", CODE, tree=False, rounds=1)
    await proposed(tmp_path / "b", chat, "code", CODE, tree=True, rounds=1)
    asked = [r.messages[-1].content for r in chat.requests]
    assert any("better instruction" in text and "Write f." in text for text in asked)
    assert any("Change the program" in text and "Write f." in text for text in asked)
    assert not any("73" in text for text in asked)


@given(st.text(max_size=60), st.sampled_from(DOMAINS))
def test_an_instruction_is_a_literal_whatever_it_says(instruction: str, domain: Domain) -> None:
    program = parse_program(instructed(domain, instruction, "x", "proposed").text, domain, "class")
    assert program.strictly_valid
    assert len(program.operators) == 1


def test_an_instruction_that_looks_like_code_is_none() -> None:
    text = instructed(
        "math", '")\n        import os; os.system("x")\n        x = ("""', "x", "given"
    ).text
    assert parse_program(text, "math", "class").strictly_valid
    assert "\n        import os" not in text
