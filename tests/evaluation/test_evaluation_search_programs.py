"""Programs that take part: shipped, given, drawn; equal ones once."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm_as_judge.assembly import program_options
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.evaluation.baselines import workflows_dir
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
    assert {program.origin for program in found} == {"shipped", "drawn"}
    assert widened(begin, 60, OPTIONS, seed=0) == found
    assert widened(begin, 60, OPTIONS, seed=1) != found
    assert widened(begin, 1, OPTIONS, seed=0) == begin  # none is left out


@pytest.mark.slow
@pytest.mark.parametrize("domain", DOMAINS)
def test_only_operators_that_are_shown_are_drawn(domain: Domain) -> None:
    shown = {"AnswerGenerate", "CustomCodeGenerate", "Programmer", "UntilAgree", "Vote"}
    few = CONFIG.model_copy(
        update={"sampling": CONFIG.sampling.model_copy(update={"operators": tuple(shown)})}
    )
    begin = shipped(program_options(few), [domain])[domain]
    made = widened(begin, 40, program_options(few), seed=0)[len(begin) :]
    assert {program.origin for program in made} == {"drawn"}
    for program in made:
        parsed = parse_program(program.text, domain, form_of(program.text))
        assert set(parsed.operators) <= shown
