"""stop learn: a table from a bank, and one clear line where none can be learned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from called_verbs import Verbs

from llm_as_judge.assembly import program_options
from llm_as_judge.assembly.executor_settings import BOUND
from llm_as_judge.config import load_config
from llm_as_judge.evaluation.baselines import ways_of
from llm_as_judge.operators.stopping import StopTable
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import ABOUT, Bank
from llm_as_judge.types import Problem


def filled(folder: Path, problems: int) -> Path:
    """Four draws of the chain of thought on each problem; every third one is hopeless."""
    config = load_config("embedded")
    folder.mkdir()
    bank = Bank(folder)
    (way,) = ways_of(program_options(config), ["cot"])["math"]
    bank.add_program(way)
    for n in range(problems):
        bank.add_problem(
            Problem(f"gsm8k/train/{n}", "gsm8k", "math", f"What is {n} + 1?", (str(n + 1),))
        )
        for draw in range(4):
            right = float(n % 3 != 1 and draw != n % 4)
            bank.add(
                RunRecord(
                    way.key, f"gsm8k/train/{n}", draw, right, 100.0, 200, 1, "ok", str(int(right))
                )
            )
    about = {name: read(config) for name, read in BOUND.items()}
    (folder / ABOUT).write_text(json.dumps(about))
    return folder


def test_a_table_is_learned_written_and_shown_beside_votes(verb: Verbs, tmp_path: Path) -> None:
    bank, out = filled(tmp_path / "bank", 36), tmp_path / "stop.json"
    code, printed, noted = verb(
        "stop", "learn", "--config", "embedded", "--bank", str(bank), "--out", str(out)
    )  # fmt: skip
    assert code == 0
    table = StopTable.read(out)
    assert table.ways == {"math": ("cot",)}
    assert table.problems == {"math": 36}
    assert "math: cot in turn, 36 problems, cross-validated." in printed
    assert "vote of 4" in printed
    assert "qa is left out: fewer than 30 problems" in noted


@pytest.mark.parametrize(
    ("problems", "said"),
    [
        pytest.param(29, "fewer than 30 problems", id="too few"),
        pytest.param(None, "is no bank", id="no bank"),
    ],
)
def test_without_enough_draws_there_is_one_line(
    verb: Verbs, tmp_path: Path, problems: int | None, said: str
) -> None:
    bank = tmp_path / "bank"
    if problems:
        filled(bank, problems)
    out = tmp_path / "stop.json"
    code, _, noted = verb(
        "stop", "learn", "--config", "embedded", "--bank", str(bank), "--out", str(out)
    )  # fmt: skip
    assert code == 2
    assert said in noted
    assert not out.exists()
