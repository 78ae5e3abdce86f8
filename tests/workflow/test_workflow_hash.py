"""Programs that do the same have one hash, whatever they are spelled like."""

from __future__ import annotations

import pytest
from workflow_texts import CLASS, body

from llm_as_judge.workflow import parse_program

EQUAL = {
    "names": CLASS.replace("draft", "first_try").replace("self.answer_generate", "self.solver"),
    "comments": CLASS.replace("draft = ", "# a draft\n        draft = "),
    "layout": CLASS.replace("\n\n", "\n\n\n").replace("input=problem", " input = problem "),
    "annotations": CLASS.replace("problem)", "problem: str) -> tuple", 1).replace(
        "name,", "name: str,"
    ),
    "position": CLASS.replace("input=problem", "problem"),
    "docstring": CLASS.replace("class Workflow:", 'class Workflow:\n    """Drafts."""'),
    "unused wiring": CLASS.replace("self.llm =", "self.name = name\n        self.llm ="),
    "lone return": CLASS.replace(", 0.0", ""),
    "usage summary": CLASS.replace("0.0", 'self.llm.get_usage_summary()["total_cost"]'),
}
DIFFERENT = {
    "another key": CLASS.replace('"answer"', '"thought"'),
    "another text": CLASS.replace("input=problem", "input=problem + '!'"),
    "another operator": CLASS.replace("AnswerGenerate", "Custom"),
    "more calls": CLASS.replace(
        "        return",
        "        draft = await self.answer_generate(input=problem)\n        return",
    ),
}


@pytest.mark.parametrize("text", EQUAL.values(), ids=EQUAL.keys())
def test_programs_that_differ_in_spelling_have_one_hash(text: str) -> None:
    assert parse_program(text, "math").hash == parse_program(CLASS, "math").hash


@pytest.mark.parametrize("text", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_programs_that_do_something_else_have_another_hash(text: str) -> None:
    assert parse_program(text, "math").hash != parse_program(CLASS, "math").hash


def test_keyword_order_does_not_matter() -> None:
    first = body('r = await custom(input=problem, instruction="x")\nreturn r["response"]')
    second = body('q = await custom(instruction="x", input=problem)\nreturn q["response"]')
    assert first.hash == second.hash


def test_constants_that_change_places_change_the_hash() -> None:
    text = CLASS.replace("    def __init__", "    A = 1\n    B = 2\n\n    def __init__", 1)
    text = text.replace("input=problem", "input=problem * self.A")
    swapped = text.replace("    A = 1\n    B = 2", "    B = 1\n    A = 2")
    assert parse_program(text, "math").hash != parse_program(swapped, "math").hash


def test_two_variables_are_not_mixed_up() -> None:
    text = "a = await answer_generate(input=problem)\nb = await custom(input=problem, instruction='x')\n"
    assert body(text + 'return a["answer"]').hash != body(text + 'return b["response"]').hash
