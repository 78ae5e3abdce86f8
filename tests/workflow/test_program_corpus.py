"""The checker's verdict on each program of the corpus, against what happens when it is run."""

from __future__ import annotations

import pytest
from program_corpus import Entry, corpus, died, promised_death, runs_of, unchecked
from program_mutants import mutants

from llm_as_judge.operators import registry
from llm_as_judge.types import Sandbox
from llm_as_judge.workflow import parse_program
from llm_as_judge.workflow.context import CheckOptions

ENTRIES = corpus()
VALID = [entry for entry in ENTRIES if entry.valid]
MISTAKES = [entry for entry in ENTRIES if not entry.valid]
OPTIONS = CheckOptions(registry(), "math", 32, wants_tuple=True)


def test_the_corpus_is_large_enough() -> None:
    assert len(VALID) >= 100
    assert len(MISTAKES) >= 100


@pytest.mark.parametrize("entry", VALID, ids=lambda e: e.name)
def test_a_valid_program_is_not_rejected(entry: Entry) -> None:
    program = entry.program
    assert program.diagnostics == ()
    assert program.strictly_valid


@pytest.mark.parametrize("entry", MISTAKES, ids=lambda e: e.name)
def test_each_mistake_is_found_and_named(entry: Entry) -> None:
    program = entry.program
    assert {d.code for d in program.diagnostics} == entry.expect
    assert set(program.repairs) == entry.repairs
    assert bool(program.runnable) == bool(entry.repairs)
    assert all(d.hint and d.message for d in program.diagnostics)


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
async def test_verdict_agrees_with_the_run(entry: Entry, sandbox: Sandbox) -> None:
    program = entry.program
    if program.runnable:
        runs = await runs_of(program, entry.domain, sandbox, entry.executors)
        assert not {name: run.error for name, run in runs.items() if promised_death(run)}
        assert not entry.valid or runs["agreeable"].status == "ok"
        assert all(run.llm_calls <= program.worst_case_calls for run in runs.values())
    if not entry.valid:
        written = unchecked(entry, OPTIONS)
        runs = await runs_of(written, entry.domain, sandbox, entry.executors)
        assert any(died(run) for run in runs.values()) == entry.dies


# ---------------------------------------------------------------------------------------- mutants
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
