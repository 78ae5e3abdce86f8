"""A second turn on made banks: it pays where the first reply says which way to ask, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import feedback
from feedback import HEAD, report
from llm_as_judge.errors import DataError
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import Problem

Reply = tuple[str, float]
"""Answer and cost; "right" is right."""


@pytest.fixture(autouse=True)
def _one_assignment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedback, "ASSIGNMENTS", 1)


def filled(
    folder: Path, replies: dict[str, Callable[[int, int], Reply]], problems: int = 40
) -> Bank:
    folder.mkdir()
    bank = Bank(folder)
    ways = [BankProgram("math", name, name, "shipped", "") for name in replies]
    for way in ways:
        bank.add_program(way)
    for n in range(problems):
        problem = Problem(f"gsm8k/train/{n}", "gsm8k", "math", "How many are there?", ("1",))
        bank.add_problem(problem)
        for way in ways:
            for draw in range(4):
                said, cost = replies[way.name](n, draw)
                right, key = float(said == "right"), (way.key, problem.id, draw)
                bank.add(RunRecord(*key, right, cost, int(cost), 1, "ok", said))
    return bank


def cells(bank: Bank) -> dict[str, dict[str, str]]:
    """Price -> heading -> cell."""
    rows = [line.strip("| ").split(" | ") for line in report(bank).splitlines()[2:]]
    return {row[1]: dict(zip(HEAD, row, strict=True)) for row in rows}


def low_end(cell: str) -> float:
    return float(cell.split("[")[1].split(",")[0])


def test_a_second_turn_pays_where_the_first_reply_says_which_way_to_ask(tmp_path: Path) -> None:
    """An empty chain wants the program; a chain that says something wants chains, and the program misleads."""

    def chain(n: int, draw: int) -> Reply:
        return ("" if n % 2 else "right" if draw != n // 2 % 4 else "slip"), 100

    def program(n: int, draw: int) -> Reply:
        return ("right", 100) if n % 2 else ("wrong", 400)

    found = cells(filled(tmp_path / "bank", {"cot": chain, "program_of_thought": program}))
    assert set(found) == {"0.3", "0.1", "0.03"}
    for each in found.values():
        assert low_end(each["over fixed"]) > 2
        assert low_end(each["over planned"]) > 2
        assert low_end(each["bound over fixed"]) >= low_end(each["over fixed"])
    assert float(found["0.1"]["second turn"].split(",")[0]) > 95


def test_a_second_turn_cannot_pay_where_the_ways_say_the_same(tmp_path: Path) -> None:
    def either(n: int, draw: int) -> Reply:
        return ("right" if n % 2 else "wrong"), 100

    for each in cells(
        filled(tmp_path / "bank", {"cot": either, "program_of_thought": either})
    ).values():
        assert each["second turn"] == "50.0, 100"
        assert each["over fixed"] == each["over planned"] == "+0.0 [+0.0, +0.0]"


def test_a_way_alone_and_few_problems_are_one_line(tmp_path: Path) -> None:
    def right(n: int, draw: int) -> Reply:
        return "right", 100

    with pytest.raises(DataError, match="no domain was asked in two ways"):
        report(filled(tmp_path / "a", {"cot": right}))
    with pytest.raises(DataError, match="math: 5 whole problems; 30 are wanted"):
        report(filled(tmp_path / "b", {"cot": right, "direct": right}, problems=5))
