"""Outlines: two programs differ in one operator call exactly where removing its mark says so."""

from __future__ import annotations

import pytest

from llm_as_judge.types import Domain
from llm_as_judge.workflow.outline import Outline, outline, without_one
from llm_as_judge.workflow.program import parse_program

DRAFT = 'draft = await answer_generate(input=problem)\nreturn draft["answer"]\n'
FORMATTED = (
    "a = await answer_generate(input=problem)\n"
    'b = await format(problem=problem, solution=a["answer"])\n'
    'return b["solution"]\n'
)
VOTED = (
    "found = []\nfor _ in range(3):\n    a = await answer_generate(input=problem)\n"
    '    found.append(a["answer"])\nb = await vote(solutions=found)\nreturn b["answer"]\n'
)
AGREED = (
    "b = await until_agree(ways=[lambda: answer_generate(input=problem)], agree=2, most=5)\n"
    'return b["answer"]\n'
)
ASKED = 'a = await custom(input=problem, instruction="Go.")\nreturn a["response"]\n'
ASKED_OTHERWISE = 'a = await custom(input=problem, instruction="Think.")\nreturn a["response"]\n'
GUARDED = (
    'a = await programmer(problem=problem)\nif a["output"]:\n    return a["output"]\n'
    'b = await answer_generate(input=problem)\nreturn b["answer"]\n'
)
COMPUTED = 'a = await programmer(problem=problem)\nreturn a["output"]\n'
IN_A_BRANCH = (
    'a = await programmer(problem=problem)\nif not a["output"]:\n'
    '    a = await programmer(problem=problem, analysis="Again.")\nreturn a["output"]\n'
)


def of(body: str, domain: Domain = "math") -> Outline:
    found = parse_program(body, domain, "body")
    assert found.runnable, found.diagnostics
    return outline(found.runnable)


@pytest.mark.parametrize(
    ("having", "lacking", "operators"),
    [
        (FORMATTED, DRAFT, ["Format"]),
        (VOTED, DRAFT, ["Vote"]),
        (AGREED, DRAFT, ["UntilAgree"]),
        (GUARDED, DRAFT, ["Programmer"]),
        (GUARDED, COMPUTED, ["AnswerGenerate"]),
        (IN_A_BRANCH, COMPUTED, ["Programmer"]),
        (FORMATTED, COMPUTED, []),
        (VOTED, FORMATTED, []),
        (DRAFT, FORMATTED, []),
        (DRAFT, DRAFT, []),
    ],
    ids=["format", "vote", "agree", "first", "last", "branch", "two", "both", "less", "same"],
)
def test_a_pair_differs_in_one_operator_call(
    having: str, lacking: str, operators: list[str]
) -> None:
    found = [name for name, shorter in without_one(of(having)) if shorter == of(lacking)]
    assert found == operators


def test_names_and_layout_are_not_in_an_outline_and_fixed_arguments_are() -> None:
    assert of(DRAFT) == of(DRAFT.replace("draft", "x") + "\n")
    assert of(ASKED) != of(ASKED_OTHERWISE)
    assert of(VOTED) != of(VOTED.replace("range(3)", "range(5)"))


def test_no_outline_of_a_lone_call_is_shorter() -> None:
    assert list(without_one(of(DRAFT))) == []


def test_every_shorter_outline_has_whole_blocks_and_one_call_less() -> None:
    for body in (FORMATTED, VOTED, AGREED, GUARDED, IN_A_BRANCH):
        whole = of(body)
        for operator, shorter in without_one(whole):
            calls = [mark.operator for mark in whole if mark.operator]
            calls.remove(operator)
            assert [mark.operator for mark in shorter if mark.operator] == calls
            ends = [mark for mark in shorter if not mark.operator and mark.fixed == "end"]
            assert 2 * len(ends) == sum(not mark.operator for mark in shorter)
