"""stop learn: a table from a bank, and one clear line where none can be learned."""

from __future__ import annotations

from pathlib import Path

import pytest
from called_verbs import Verbs

from llm_as_judge.operators.stopping import StopTable
from stop_bank import filled


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
