from fractions import Fraction

import pytest
from answer_tables import items, table_rows, verdicts_on
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.grading.comparison import Asked, compare_numbers
from llm_as_judge.grading.number import Quantity, count_numbers, parse_number
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem


@pytest.mark.parametrize(
    ("text", "value", "unit", "percent"),
    [
        ("$1,234.50", Fraction(2469, 2), "$", False),
        ("-$5", Fraction(-5), "$", False),
        ("18 percent", Fraction(18), "", True),
        ("5 hours", Fraction(5), "hours", False),
        ("6 1/2", Fraction(13, 2), "", False),
        ("2 x 10^{-3}", Fraction(1, 500), "", False),
        ("3 dozen eggs", Fraction(36), "eggs", False),
        ("one hundred and five", Fraction(105), "", False),
        ("two thousand", Fraction(2000), "", False),
        ("minus seven", Fraction(-7), "", False),
        ("18k", Fraction(18000), "", False),
        ("x = 5", Fraction(5), "", False),
        ("20 cents", Fraction(20), "cents", False),
    ],
)
def test_one_normal_form(text: str, value: Fraction, unit: str, percent: bool) -> None:
    parsed = parse_number(text)
    assert parsed is not None
    assert (parsed.value, parsed.unit, parsed.percent) == (value, unit, percent)


@pytest.mark.parametrize(
    "text",
    [
        "",
        *items("not 18 | 18 or 20 | 1 2 3 | 1,23 | 2+3 | 1/0 | 10-12 | 3 apples and 5 | 2x | 2 pi"),
    ],
)
def test_what_is_not_one_number_is_none(text: str) -> None:
    assert parse_number(text) is None


@given(st.integers(-(10**12), 10**12), st.integers(0, 4))
def test_writing_and_reading_a_decimal_is_the_identity(digits: int, places: int) -> None:
    value = Fraction(digits, 10**places)
    text = f"{digits / 10**places:,.{places}f}" if abs(digits) < 10**9 else str(digits)
    parsed = parse_number(text)
    assert parsed is not None
    assert parsed.value == (value if abs(digits) < 10**9 else digits)


def test_units_are_converted_before_they_are_compared() -> None:
    hours = Quantity(Fraction(5), "integer", "hour")
    for minutes in (300, 5):
        said = Quantity(Fraction(minutes), "integer", "minute")
        assert compare_numbers(hours, said, Asked("", "qa"))[0] is (minutes == 300)


def test_a_fraction_in_a_text_is_one_number_and_a_date_is_three() -> None:
    assert count_numbers("1/2 of 1,000/3 and .5.") == [
        Fraction(1, 2),
        Fraction(1000, 3),
        Fraction(1, 2),
    ]
    assert count_numbers("on 12/05/2020, 3/0 or 2.5/5") == [12, 5, 2020, 3, 0, Fraction(5, 2), 5]


BESIDE = {
    "How many minutes are 2.5 hours?": r"""
150 => That is \boxed{150} minutes. !> That is \boxed{150} seconds. | $\boxed{150}$ \text{ seconds}
""",
    "How many apples are there?": r"3 => \boxed{3} and done",
    "How many kilometres does she run?": "2.5 km => She runs 2 1/2 km.",
    "What does it cost?": "$1,200 => It costs twelve hundred dollars.",
    "How many are left?": """
66 => There are sixty-six left. | There are 66 left. !> There are 66 squared. ?> There are 66 times more.
203 ?> 204⏎The number left is 203.
""",
    "How much profit did she make?": "$45 ?> She made a loss of $45.",
    "How long is it?": "90 minutes ?> 90 minutes longer than planned.",
    "What is the temperature?": "20 °C ?> 20 °C below zero",
    "Write 7, 2, 9 from smallest to largest.": "2, 7, 9 => 2, 7, 9 !> 9, 7, 2",
    "Which numbers are left?": "2, 7, 9 => 9, 7, 2",
}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("question", BESIDE)
async def test_what_stands_beside_a_number_counts(rules: Judge, question: str) -> None:
    rows = table_rows(BESIDE[question])

    def problem(gold: str) -> Problem:
        return Problem("m/1", "m", "math", question, (gold,))

    assert await verdicts_on(rules, rows, problem) == rows
