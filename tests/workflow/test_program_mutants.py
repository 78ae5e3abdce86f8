"""Whatever a policy writes, the check gives a verdict: it never raises, and says the same again."""

from __future__ import annotations

import pytest
from program_mutants import mutants

from llm_as_judge.workflow import parse_program


@pytest.mark.parametrize("seed", range(3))
def test_every_mutant_of_the_corpus_gets_a_verdict(seed: int) -> None:
    found = 0
    for entry, text in mutants(seed, 100):
        program = parse_program(text, entry.domain, entry.form, executors=entry.executors)
        assert bool(program.runnable) or program.diagnostics, text
        found += bool(program.diagnostics)
    assert found > 40  # most changes are mistakes


@pytest.mark.parametrize(
    "body",
    [
        "draft = await answer_generate\nagain = await draft(input=problem)\nreturn again['answer']",
        "import asyncio\nr = await asyncio.gather(**{'a': problem})\nreturn r[0]",
    ],
    ids=["awaited operator", "gather by name"],
)
def test_what_once_raised_is_a_finding(body: str) -> None:
    program = parse_program(body, "math", "body")
    assert program.diagnostics
    assert not program.runnable


def test_a_verdict_is_the_same_each_time() -> None:
    for entry, text in mutants(9, 60):
        first = parse_program(text, entry.domain, entry.form, executors=entry.executors)
        assert parse_program(text, entry.domain, entry.form, executors=entry.executors) == first
