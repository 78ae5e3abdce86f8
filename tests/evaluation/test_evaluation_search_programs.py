"""Programs that take part: shipped, given, written by a policy, drawn and mutated; equal ones once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from llm_as_judge.assembly import program_options
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.evaluation.baselines import workflows_dir
from llm_as_judge.evaluation.search.mutations import mutated
from llm_as_judge.evaluation.search.programs import (
    given,
    shipped,
    together,
    widened,
)
from llm_as_judge.types import DOMAINS, Domain
from llm_as_judge.workflow.program import form_of, parse_program

CONFIG = Config()
OPTIONS = program_options(CONFIG)
ASKS = 'reply = await custom(input=problem, instruction="{}")\nreturn reply["response"]\n'


def one(name: str, domain: Domain) -> str:
    return (workflows_dir() / name / f"{domain}.py").read_text()


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_mutation_passes_the_check_and_no_two_are_equal(domain: Domain) -> None:
    for program in shipped(OPTIONS, [domain])[domain]:
        found = mutated(program, OPTIONS)
        hashes = {program.hash, *(other.hash for other in found)}
        assert len(hashes) == len(found) + 1
        for other in found:
            assert parse_program(
                other.text, domain, form_of(other.text), max_calls=OPTIONS.max_calls
            ).runnable


def test_operators_draws_agreement_and_instructions_are_changed() -> None:
    (stops,) = (p for p in shipped(OPTIONS, ["math"])["math"] if p.name == "until_two_agree")
    calls = [
        ast.unparse(node)
        for other in mutated(stops, OPTIONS)
        for node in ast.walk(ast.parse(other.text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "self.until_agree"
    ]
    assert any("agree=3" in call for call in calls)
    assert any("most=7" in call for call in calls)
    assert any("self.answer_generate(input=problem)" in call for call in calls)
    (direct,) = (p for p in shipped(OPTIONS, ["math"])["math"] if p.name == "direct")
    texts = [other.text for other in mutated(direct, OPTIONS)]
    assert any("End with a line" in text for text in texts)
    assert any("return (reply['output'], 0.0)" in text for text in texts)  # of programmer


def test_copies_of_a_program_are_one_and_given_ones_come_first(tmp_path: Path) -> None:
    copy = one("cot", "math").replace("reply", "draft")
    (tmp_path / "math").mkdir()
    (tmp_path / "math" / "copy.py").write_text(copy)
    (tmp_path / "math" / "own.py").write_text(ASKS.format("Count on your fingers."))
    found = together(given(tmp_path, OPTIONS, DOMAINS), shipped(OPTIONS, DOMAINS))
    names = [program.name for program in found["math"]]
    assert names[:2] == [str(tmp_path / "math" / "copy.py"), str(tmp_path / "math" / "own.py")]
    assert "cot" not in names
    assert "cot" in [program.name for program in found["qa"]]


def test_a_folder_without_programs_or_with_a_bad_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        given(tmp_path / "none", OPTIONS, DOMAINS)
    with pytest.raises(DataError, match=r"no program; wanted math\.py, qa\.py, code\.py"):
        given(tmp_path, OPTIONS, DOMAINS)
    (tmp_path / "math.py").write_text("import os\n")
    with pytest.raises(ConfigError, match=r"math\.py:1"):
        given(tmp_path, OPTIONS, DOMAINS)


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_as_many_different_programs_as_wanted_take_part_by_the_seed(domain: Domain) -> None:
    begin = shipped(OPTIONS, [domain])[domain]
    found = widened(begin, 60, OPTIONS, seed=0)
    assert len({program.hash for program in found}) == 60
    assert found[: len(begin)] == begin
    assert {program.origin for program in found} == {"shipped", "mutated", "drawn"}
    assert widened(begin, 60, OPTIONS, seed=0) == found
    assert widened(begin, 60, OPTIONS, seed=1) != found
    assert widened(begin, 1, OPTIONS, seed=0) == begin  # none is left out


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_only_operators_that_are_shown_are_mutated_to_and_drawn(domain: Domain) -> None:
    shown = {"AnswerGenerate", "CustomCodeGenerate", "Programmer", "UntilAgree", "Vote"}
    few = CONFIG.model_copy(
        update={"sampling": CONFIG.sampling.model_copy(update={"operators": tuple(shown)})}
    )
    begin = shipped(program_options(few), [domain])[domain]
    made = widened(begin, 40, program_options(few), seed=0)[len(begin) :]
    assert {program.origin for program in made} == {"mutated", "drawn"}
    for program in made:
        parsed = parse_program(program.text, domain, form_of(program.text))
        assert set(parsed.operators) <= shown
