"""Sums of money: another currency or another quantity is never the same, a rounded result is no second answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from answer_tables import table_rows, verdicts_on

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem


async def verdict_on(rules: Judge, gold: str, answer: str, question: str) -> bool | None:
    problem = Problem("m/1", "shop", "math", question, (gold,))
    return (await rules.grade(problem, answer)).correct


TABLES = {
    "What is the total?": r"""
5 euros !> 5 cents | 50 cents | 5 kg
$5 !> 5 cents
€5 !> $5
5 dollars !> 5 EUR
131.28 euros !> 131.28 dollars ?> 131.28 euros before tax
53.45 !> 50 + 3.45 = 53.40, so the total is 53.45
56.28 !> 57.28 before VAT | 57.28 euros per unit ?> 56.28 before VAT | 56.28 euros per unit
""",
    "What is the total, rounded to cents?": r"""
5 euros => 500 cents | €5 | 5
$5 => 5 dollars
5 => $5
53.45 => 49.95 * 1.07 = 53.4465, so the total is 53.45 | 53.4465 | 53.4465 ≈ 53.45
53.45 => 49.95 * 1.07 = 53.4465 ≈ 53.45
56.28 => 56,28 EUR
1234.50 => 1.234,50 EUR
""",
    "What is the total in euros, rounded to cents?": """
21.66 => €21.66 | 21.66 | $21.66$ !> $21.66 | **$21.66**
""",
    "What does she earn per hour?": "20 => 20 dollars per hour",
    "What is the price before VAT?": "20 => 20 euros before VAT",
}


@pytest.mark.parametrize("question", TABLES)
async def test_another_currency_is_wrong_and_another_quantity_open(
    rules: Judge, question: str
) -> None:
    rows = table_rows(TABLES[question])

    def problem(gold: str) -> Problem:
        return Problem("m/1", "shop", "math", question, (gold,))

    assert await verdicts_on(rules, rows, problem) == rows


INVOICES = [
    row
    for line in (Path(__file__).parents[2] / "examples" / "own_task.jsonl")
    .read_text("utf-8")
    .splitlines()
    if (row := json.loads(line))["id"].startswith("invoice")
]
_AMOUNTS = re.compile(r"lists (\d+) \w+ at ([\d.]+) each and ([\d.]+) for delivery\. (\d+) %")


def by_floats(count: str, price: str, delivery: str, tax: str) -> str:
    return repr((int(count) * float(price) + float(delivery)) * (1 + int(tax) / 100))


def by_fractions(count: str, price: str, delivery: str, tax: str) -> str:
    return str((int(count) * Fraction(price) + Fraction(delivery)) * (100 + int(tax)) / 100)


def by_rounding(count: str, price: str, delivery: str, tax: str) -> str:
    return repr(round(float(by_floats(count, price, delivery, tax)), 2))


@pytest.mark.parametrize("row", INVOICES, ids=lambda row: row["id"])
@pytest.mark.parametrize("way", [by_floats, by_fractions, by_rounding])
async def test_a_total_is_right_by_floats_by_fractions_and_rounded(
    rules: Judge, row: dict[str, str], way: Callable[..., str]
) -> None:
    found = _AMOUNTS.search(row["problem"])
    assert found is not None
    total = way(*found.groups())
    assert await verdict_on(rules, row["answer"], total, row["problem"]) is True, total
    assert (
        await verdict_on(rules, row["answer"], f"{float(row['answer']) + 0.01:.2f}", row["problem"])
        is False
    )
