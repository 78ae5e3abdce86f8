"""Credit of operators, by banks whose truth is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from planted import problems

from llm_as_judge.evaluation.search.choices import Found
from llm_as_judge.evaluation.search.credit import credits_of, pairs_of
from llm_as_judge.evaluation.search.page import write_page
from llm_as_judge.evaluation.search.written import write_found
from llm_as_judge.evaluation.statistics import difference_interval
from llm_as_judge.runs.bank import Bank, BankProgram, Cell
from llm_as_judge.types import Domain
from llm_as_judge.workflow.program import parse_program

DRAFT = 'a = await answer_generate(input=problem)\nreturn a["answer"]\n'
FORMATTED = (
    'a = await answer_generate(input=problem)\nb = await format(problem=problem, solution=a["answer"])\n'
    'return b["solution"]\n'
)
AGREED = (
    "b = await until_agree(ways=[lambda: answer_generate(input=problem)], agree=2, most=5)\n"
    'return b["answer"]\n'
)
BODIES = {"draft": DRAFT, "formatted": FORMATTED, "agreed": AGREED}
ROWS = problems(40)


def program(name: str, domain: Domain = "math") -> BankProgram:
    found = parse_program(BODIES[name], domain, "body")
    return BankProgram(domain, found.hash, name, "given", found.runnable)


def filled(folder: Path, cells: list[tuple[str, int, int, float | None, float]]) -> Bank:
    """A bank with cells of (program, row, draw, right, cost)."""
    with Bank.writing(folder, {}) as bank:
        for name in BODIES:
            bank.add_program(program(name))
        for one in ROWS:
            bank.add_problem(one)
        for name, row, draw, right, cost in cells:
            bank.add(Cell(program(name).key, ROWS[row].id, draw, right, cost, 9, 1, "ok"))
        return bank


def test_an_open_answer_is_not_right_and_widens_the_interval(tmp_path: Path) -> None:
    bank = filled(tmp_path, [("draft", 5, 0, None, 9.0), ("formatted", 5, 0, 1.0, 9.0)])
    (credit,) = credits_of(bank, draws=2)
    assert credit.gain.by_problem == {ROWS[5].id: 1.0}
    assert credit.gain.low == difference_interval([0.0])[0]


def test_a_credit_is_the_mean_over_problems_of_the_same_draws(tmp_path: Path) -> None:
    bank = filled(
        tmp_path,
        [
            # row 0: +1 and 0 of two draws; row 1: -1; draws and rows that only one has count nowhere
            *(("draft", 0, 0, 0.0, 100.0), ("formatted", 0, 0, 1.0, 130.0)),
            *(("draft", 0, 1, 1.0, 100.0), ("formatted", 0, 1, 1.0, 150.0)),
            *(("draft", 1, 0, 1.0, 100.0), ("formatted", 1, 0, 0.0, 120.0)),
            *(("draft", 2, 0, 1.0, 900.0), ("formatted", 3, 0, 1.0, 900.0)),
            *(("draft", 4, 0, 1.0, 900.0), ("formatted", 4, 1, 1.0, 900.0)),
            *(("draft", 6, 2, 0.0, 900.0), ("formatted", 6, 2, 1.0, 900.0)),
        ],
    )
    (credit,) = credits_of(bank, draws=2)
    assert (credit.domain, credit.operator) == ("math", "Format")
    assert credit.gain.by_problem == {ROWS[0].id: 0.5, ROWS[1].id: -1.0}
    assert credit.gain.right == pytest.approx(-0.25)
    assert credit.gain.cost == pytest.approx((40 + 20) / 2)
    assert [pair[:2] for pair in credit.pairs] == [("formatted", "draft")]
    assert credit.pairs[0][2] == credit.gain


def test_an_operator_that_helps_is_clear_of_zero_and_one_that_does_not_is_not(
    tmp_path: Path,
) -> None:
    cells: list[tuple[str, int, int, float | None, float]] = []
    for row in range(40):
        right = float(row % 2)
        cells += [
            ("draft", row, 0, right, 100.0),
            ("formatted", row, 0, right, 120.0),
            ("agreed", row, 0, 1.0 if row % 4 else right, 300.0),
        ]
    formatted, agreed = credits_of(filled(tmp_path, cells), draws=1)
    assert (formatted.operator, agreed.operator) == ("Format", "UntilAgree")
    assert formatted.gain.low < 0 < formatted.gain.high
    assert formatted.gain.right == 0.0
    assert agreed.gain.low > 0
    assert agreed.gain.right == 0.25
    assert agreed.gain.cost == pytest.approx(200.0)


def test_programs_of_two_domains_are_no_pair() -> None:
    assert len(pairs_of([program("draft"), program("formatted")])) == 1
    assert pairs_of([program("draft", "qa"), program("formatted")]) == []


def test_page_and_report_have_each_pair_and_say_nothing_where_there_is_none(
    tmp_path: Path,
) -> None:
    nothing = Found((), (), {}, (), 0.0, 0, {}, 0.0, 0, {})
    cells: list[tuple[str, int, int, float | None, float]] = [
        *(("draft", 0, 0, 0.0, 100.0), ("formatted", 0, 0, 1.0, 130.0)),
    ]
    bank = filled(tmp_path / "bank", cells)
    added = credits_of(bank, draws=1)
    write_found(nothing, tmp_path / "with", "middle", None, added)
    write_page(nothing, bank, 1, [], tmp_path / "with.html", added)
    write_page(nothing, bank, 1, [], tmp_path / "without.html")
    (said,) = json.loads((tmp_path / "with" / "report.json").read_text())["operators"]
    assert (said["operator"], said["right"], said["cost"], said["problems"]) == ("Format", 1, 30, 1)
    assert said["by_problem"] == {ROWS[0].id: 1}
    assert [(one["with"], one["without"]) for one in said["pairs"]] == [("formatted", "draft")]
    page = (tmp_path / "with.html").read_text()
    assert "What operators added" in page
    assert "+100.0 [" in page
    assert "What operators added" not in (tmp_path / "without.html").read_text()
