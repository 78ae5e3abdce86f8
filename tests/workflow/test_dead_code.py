"""A program that pays for what it does not use is told from one that uses all it asks for."""

from __future__ import annotations

import textwrap

import pytest

from llm_as_judge.workflow.canonical import has_dead_code

DEAD = {
    "after the return": "r = await custom(input=problem)\nreturn r['response']\nr = await custom(input=problem)",
    "never read": "a = await custom(input=problem)\nb = await custom(input=problem)\nreturn b['response']",
    "not even named": "await custom(input=problem)\nb = await custom(input=problem)\nreturn b['response']",
    "overwritten": "a = await custom(input=problem)\na = await custom(input=problem)\nreturn a['response']",
    "in a branch": "a = await custom(input=problem)\nif a:\n    b = await custom(input=problem)\nreturn a['response']",
}
ALIVE = {
    "one call": "r = await custom(input=problem)\nreturn r['response']",
    "revised": "a = await custom(input=problem)\na = await review(solution=a)\nreturn a['response']",
    "in a list": "all = []\nfor i in range(3):\n    a = await custom(input=problem)\n    all.append(a)\nreturn all[0]",
    "either way": "if problem:\n    a = await custom(input=problem)\nelse:\n    a = await review(problem)\nreturn a",
    "early": "a = await custom(input=problem)\nif a:\n    return a\nb = await custom(input=problem)\nreturn b",
    "maybe better": "a = await custom(input=problem)\nif a:\n    a = await custom(input=problem)\nreturn a",
}


def program(body: str) -> str:
    return "class Workflow:\n    async def __call__(self, problem):\n" + textwrap.indent(
        body, " " * 8
    )


@pytest.mark.parametrize("body", DEAD.values(), ids=DEAD)
def test_dead_code_is_seen(body: str) -> None:
    assert has_dead_code(program(body))


@pytest.mark.parametrize("body", ALIVE.values(), ids=ALIVE)
def test_what_is_used_is_not_called_dead(body: str) -> None:
    assert not has_dead_code(program(body))
