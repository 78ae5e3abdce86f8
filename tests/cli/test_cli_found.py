"""Tables fit 80 columns: every one names its rows, no name and no figure is broken."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from planted import Planted, everybody, number, problems, programs, runner

from llm_as_judge.evaluation.search.choices import SearchResult, search_choices
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import Problem
from llm_as_judge.views.found import short_names, show_found
from llm_as_judge.views.tables import show_table, turned

SETS = ("gsm8k", "invoices_and_orders_of_the_company_math")
NAMES = ("exported/math/two_ways_else_third.py~a1b2c3", "exported/math/until_two_agree.py")


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


async def found_in(folder: Path, names: Sequence[str], ungraded: str = "") -> SearchResult:
    """Of a cheap program and a dear one that is better, so that each budget wants another."""
    taking = [replace(p, name=n) for p, n in zip(programs(len(names)), names, strict=True)]
    planted = Planted(
        lambda program, _: 0.4 + 0.4 * number(program),
        cost=lambda program: 10.0 + 2_000 * number(program),
    )

    async def run(program: BankProgram, problem: Problem, draw: int) -> RunRecord:
        cell = await planted(program, problem, draw)
        return replace(cell, right=None) if problem.id == ungraded else cell

    rows = [row for name in SETS for row in problems(30, name)]
    with Bank.writing(folder / "bank", {}) as bank:
        filling = replace(runner(bank, planted), run=run)
        return await search_choices(filling, {"math": rows}, everybody(taking, 4), draws=4, seed=0)


def tables_in(out: str) -> list[list[str]]:
    """The lines of each table: of its heads and its rows."""
    body = out[: out.index("right, cost: ")].splitlines()[1:]
    starts = [n for n, line in enumerate(body) if line.startswith("for ")]
    return [body[a:b] for a, b in zip(starts, [*starts[1:], len(body)], strict=True)]


async def test_every_table_fits_80_columns_and_names_its_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = await found_in(tmp_path, NAMES)
    show_found(found)
    out = capsys.readouterr().out
    tables = tables_in(out)
    heads = [word for lines in tables for word in lines[0].split()]
    assert {"program", "right", "cost", "in-sample"} <= set(heads)
    for lines in tables:
        assert max(map(len, lines)) <= 80
        names = " ".join(line[:18].rstrip() for line in lines[1:])
        for name in ("all math (low)", "gsm8k (low)", "invoices_and_", "company_math"):
            assert name in names
    assert "two_ways_else_third~a1b2c3" in out
    assert "exported" not in out
    assert "(low), (middle), (high): the budgets that the program was chosen at." in out
    show_found(found, "middle")  # one that was chosen stands alone
    out = capsys.readouterr().out
    assert not re.search(r"\((low|middle|high)\)", out)
    assert sum(line.startswith("all math ") for line in out.splitlines()) == 1


async def test_rows_that_are_equal_at_every_budget_are_one_without_a_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    show_found(await found_in(tmp_path, ["direct"]))
    ((_, *rows),) = tables_in(capsys.readouterr().out)
    assert sum(row.startswith("all math ") for row in rows) == 1
    assert not any("(" in row for row in rows)


async def test_what_measuring_took_is_told_apart_from_what_was_asked_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without halving the repetitions find every run kept."""
    found = await found_in(tmp_path, NAMES, ungraded="gsm8k/val/0")
    show_found(found)
    out = capsys.readouterr().out
    spent = "480 runs, kept ones included, cost 484,800 written tokens; cross-validation read "
    assert re.search(rf"^{spent}[\d,]+ \(it asked nobody anew\)\.$", out, re.M)
    assert "open: 8 of 480 runs (gsm8k 8). " in out
    show_found(replace(found, measuring_runs=12))
    assert "(12 of its runs are new)." in capsys.readouterr().out


def test_a_program_is_shown_by_the_shortest_end_of_its_path_that_no_other_has() -> None:
    assert short_names(
        [
            "cot",
            "out/math/until_3.py",
            "out/qa/until_3.py",
            "out/math.py",
            "out/math/cot.py",
            "out/math/vote.py~a1b2c3",
            "out/math/vote.py",
            "cot~d4e5f6",
            "/there/qa.py",
        ]
    ) == {
        "cot": "cot",
        "out/math/until_3.py": "math/until_3",
        "out/qa/until_3.py": "qa/until_3",
        "out/math.py": "math",
        "out/math/cot.py": "math/cot",
        "out/math/vote.py~a1b2c3": "vote~a1b2c3",
        "out/math/vote.py": "vote",
        "cot~d4e5f6": "cot~d4e5f6",
        "/there/qa.py": "qa",
    }


# -------------------------------------------------------------------------------------- any table
SYSTEMS = ("direct *", "program_of_thought", "qwen25-coder-0.5b_untrained", "self_consistency")


def test_ten_columns_are_several_tables_with_names_and_figures_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    head = ["", *SYSTEMS, *SYSTEMS, "cot", "random"]
    rows = [[name, *["100 [100, 100]"] * 10] for name in ("gsm8k", "right per 1,000 tokens")]
    show_table("Accuracy", head, rows, markdown=False)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("100 [100, 100]") == 20
    words = out.split()
    for name in SYSTEMS[1:]:
        assert words.count(name) == 2  # whole in each of its two columns
    assert words.count("Accuracy") == 1
    assert words.count("gsm8k") == 5  # each table names its rows


def test_a_name_that_no_table_has_room_for_is_broken_at_its_parts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_table("", ["", "a_long_name_" * 9], [["x", "1"]], markdown=False)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("long_name_") == 9


def test_rows_can_be_shown_as_columns() -> None:
    assert turned(["", "p", "q"], [["x", "1", "2"], ["y", "3", "4"]]) == (
        ["", "x", "y"],
        [["p", "1", "3"], ["q", "2", "4"]],
    )


def test_a_table_that_fits_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("T", ["", "a b", "c"], [["x", "1", "2"], ["[y]", "3", "4"]], markdown=False)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [["T"], ["a", "b", "c"], ["x", "1", "2"], ["[y]", "3", "4"]]


def test_a_document_gets_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("T", ["", "a"], [["x", "1"]], markdown=True)
    assert capsys.readouterr().out == "**T**\n\n|  | a |\n| --- | ---: |\n| x | 1 |\n\n"
