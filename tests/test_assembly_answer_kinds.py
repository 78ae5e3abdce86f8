"""Kinds of the answers of own sets, counted from the files of `data process`."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm_as_judge.assembly import answer_kinds
from llm_as_judge.assembly.answer_kinds import kinds_of_sets
from llm_as_judge.data.files import write_problems
from llm_as_judge.types import AnswerSpec, Problem


def row(number: int, *answers: str, question: str = "What?", **more: object) -> Problem:
    return Problem(f"mine/{number}", "mine", "qa", question, answers, **more)  # type: ignore[arg-type]


def files(folder: Path, name: str, *rows: Problem) -> Path:
    for place, side in (("processed", "train"), ("processed", "val"), ("test", "test")):
        held = rows if side == "train" else ()
        write_problems(folder / place / f"{name}_{side}.jsonl", held)
    return folder


def test_each_row_counts_once_by_the_kind_that_its_answer_is_read_as(tmp_path: Path) -> None:
    rows = (
        row(1, "$5", "five dollars"),
        row(2, "12:30", question="When?"),
        row(3, "B", question="Which?\nA. argon\nB. neon"),
        row(4, "blue", spec=AnswerSpec(kind="long_text")),
        row(5),
        row(6, "$7"),
    )
    (found,) = kinds_of_sets(files(tmp_path, "mine", *rows), ["mine"])
    assert found.shown == "2 money, 1 time, 1 choice, 1 long_text, 1 without an answer"


def test_of_code_nothing_is_said(tmp_path: Path) -> None:
    code = Problem("c/1", "c", "code", "q", hidden_tests=("assert f()",), entry_point="f")
    assert kinds_of_sets(files(tmp_path, "c", code), ["c"]) == []


def test_of_a_large_set_the_first_rows_are_read_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_kinds, "MOST_ROWS", 2)
    rows = [row(n, str(n)) for n in range(3)]
    (found,) = kinds_of_sets(files(tmp_path, "mine", *rows), ["mine"])
    assert found.shown == "2 number (of the first 2 rows)"


def test_units_that_nothing_knows_are_counted(tmp_path: Path) -> None:
    units = ["km/h", "EUR", "%", "frobs", "frobs", "m^2"]
    rows = [row(n, "5", spec=AnswerSpec(unit=unit)) for n, unit in enumerate(units)]
    (found,) = kinds_of_sets(files(tmp_path, "mine", *rows), ["mine"])
    assert found.units == {"frobs": 2}
