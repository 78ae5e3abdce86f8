"""Search and headroom print what they found: it fits 80 columns, and every table names its rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from planted import Planted, number, problems, programs, runner

from llm_as_judge.evaluation.program_runs import BankRunner, all_runs
from llm_as_judge.evaluation.search.choices import SearchResult, search_choices
from llm_as_judge.runs.record import RunRecord
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.types import Domain, Problem
from llm_as_judge.views.found import short_names, show_found

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

    async def everybody(
        filling: BankRunner, domain: Domain, seen: Sequence[Problem]
    ) -> list[BankProgram]:
        await filling.fill(all_runs(taking, seen, 4))
        return taking

    rows = [row for name in SETS for row in problems(30, name)]
    with Bank.writing(folder / "bank", {}) as bank:
        filling = replace(runner(bank, planted), run=run)
        return await search_choices(filling, {"math": rows}, everybody, draws=4, seed=0)


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
