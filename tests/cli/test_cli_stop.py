"""stop learn: a table from a bank, and one clear line where none can be learned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from called_verbs import Verbs, written

from llm_as_judge.assembly.executor_settings import BOUND, bound_of
from llm_as_judge.config import load_config
from llm_as_judge.operators.stopping import FEATURES, StopRule, StopTable
from stop_bank import filled


def test_a_table_is_learned_written_and_shown_beside_votes(verb: Verbs, tmp_path: Path) -> None:
    bank, out = filled(tmp_path / "bank", 36), tmp_path / "stop.json"
    printed, noted = verb.done(
        "stop", "learn", "--config", "embedded", "--bank", str(bank), "--out", str(out)
    )
    table = StopTable.read(out)
    assert table.ways == {"math": ("cot",)}
    assert table.problems == {"math": 36}
    assert "math: cot in turn, 36 problems, cross-validated." in printed
    assert "vote of 4" in printed
    assert "left out" not in noted  # of a type that the bank does not have nothing is missing


@pytest.mark.parametrize(
    ("problems", "said"),
    [
        pytest.param(29, "no draws to learn a stop from (math: 29 of 30 problems", id="too few"),
        pytest.param(-36, "to learn a stop from (math: no draw of cot is right)", id="none right"),
        pytest.param(None, "is no bank", id="no bank"),
    ],
)
def test_without_enough_draws_there_is_one_line(
    verb: Verbs, tmp_path: Path, problems: int | None, said: str
) -> None:
    bank = tmp_path / "bank"
    if problems:
        filled(bank, abs(problems), hopeless=problems < 0)
    out = tmp_path / "stop.json"
    code, _, noted = verb(
        "stop", "learn", "--config", "embedded", "--bank", str(bank), "--out", str(out)
    )  # fmt: skip
    assert code == 2
    assert said in noted
    assert not out.exists()


def test_solve_draws_as_the_table_says_and_refuses_that_of_another_executor(
    verb: Verbs, tmp_path: Path
) -> None:
    """The scripted executor writes a number drawn from the request."""
    config = load_config("embedded", flags={"executor.model": "scripted"})
    bound = bound_of({name: read(config) for name, read in BOUND.items()}, tmp_path)
    program = written(
        "worth.py",
        "best = await until_worth(ways=[lambda: answer_generate(input=problem)], most=5)\n"
        "return best['answer']\n",
    )
    words = f"solve --config embedded --domain math --policy {program} --executor scripted --json"
    solve = (*words.split(), "--problem", "What is 1 + 1?", "--set")
    for weight, draws in ((1.0, 5), (-1.0, 1)):
        rule = StopRule(((weight, *[0.0] * len(FEATURES)),) * 7, ())
        Path("stop.json").write_text(StopTable(bound, {}, {}, {"math": {"0.1": rule}}).dump())
        out, _ = verb.done(*solve, "stop.table=stop.json")
        stages = [json.loads(line)["stage"] for line in out.splitlines()]
        assert stages.count("call") == draws
    other = dict.fromkeys(bound, '"another"')
    Path("stop.json").write_text(StopTable(other, {}, {}, {"math": {"0.1": rule}}).dump())
    line = verb.refused(*solve, "stop.table=stop.json")
    assert "was learned with executor.model" in line
    line = verb.refused(*solve, "stop.table=none.json")
    assert "none.json: no stop table" in line
