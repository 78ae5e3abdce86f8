"""Numbers that a question asks for in thousands, and words behind a number."""

from __future__ import annotations

import pytest

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem


@pytest.mark.parametrize("domain", ["qa", "math"])
@pytest.mark.parametrize(
    ("question", "gold", "text", "right"),
    [
        ("How many thousand people live in Ely?", "20", "20", True),
        ("How many thousand people live in Ely?", "20", "twenty thousand", True),
        ("How many thousand people live in Ely?", "20", "20,000 people", True),
        ("How many thousand people live in Ely?", "20", "20 people", None),
        ("How many thousand people live in Ely?", "20", "20,000", None),
        ("How many thousand people live in Ely?", "20 thousand", "20", True),
        ("How many dozens of eggs does she need?", "7", "7 dozen eggs", True),
        ("How many dozens of eggs does she need?", "7", "84 eggs", True),
        ("How many dozens of eggs does she need?", "7", "7 eggs", None),
        ("How many million euros did it cost?", "4", "4 million euros", True),
        ("How many million euros did it cost?", "4", "4 euros", None),
        ("How many million euros did it cost?", "4", "4 million dollars", False),
        ("How much is it, in thousands of dollars?", "15", "$15,000", True),
        ("How much is it, in thousands of dollars?", "15", "$15", None),
        ("How many eggs are in 3 dozen?", "36", "36 eggs", True),
        ("How many eggs are in 3 dozen?", "36", "3 dozen", True),
    ],
)
async def test_a_bare_number_counts_what_the_question_counts(
    rules: Judge, domain: str, question: str, gold: str, text: str, right: bool | None
) -> None:
    problem = Problem("x/1", "x", "math" if domain == "math" else "qa", question, (gold,))
    assert (await rules.grade(problem, text)).correct is right


@pytest.mark.parametrize(
    ("question", "gold", "text", "right"),
    [
        ("How many metres are 3.2 km?", "3200", "3.2 km", None),
        ("Convert 2.5 kg to grams.", "2500 g", "2.5 kg", None),
        ("Convert 2.5 kg to grams.", "2500 g", "2500 grams", True),
        ("How long is the trip?", "90 minutes", "1.5 hours", True),
        ("Round 1234.567 to one decimal.", "1234.6", "1234.567", None),
        ("Round 3456 to the nearest thousand.", "3000", "3456", None),
        ("Round 3456 to the nearest thousand.", "3000", "3,000", True),
        ("3 pens at 1.2345 each: the total, rounded to cents?", "3.70", "3.7035", True),
    ],
)
async def test_what_the_question_shows_is_no_answer_unworked(
    rules: Judge, question: str, gold: str, text: str, right: bool | None
) -> None:
    problem = Problem("x/1", "x", "math", question, (gold,))
    assert (await rules.grade(problem, text)).correct is right


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("18 beds", True),
        ("18 kg", None),
        ("18 hours", None),
        ("$18", None),
        ("18th", None),
        ("18 beds a day", None),
    ],
)
async def test_a_count_has_no_unit_of_its_own(rules: Judge, text: str, right: bool | None) -> None:
    problem = Problem("x/1", "x", "qa", "How many beds does ward 7 have?", ("18",))
    assert (await rules.grade(problem, text)).correct is right


@pytest.mark.parametrize(
    ("question", "text", "right"),
    [
        (
            "Anna has 9 apples and gives 4 to Bert. How many has Anna left?",
            "Bert has 5 left.",
            None,
        ),
        (
            "Anna has 9 apples and gives 4 to Bert. How many has Anna left?",
            "Anna has 5 left.",
            True,
        ),
        ("Tim has 9 apples and eats 4. How many are left?", "Tim has 5 left.", True),
        ("Work out 1204 - 1199.", "1204 - 1199 = 5", True),
    ],
)
async def test_a_number_is_said_of_whom_the_question_asks(
    rules: Judge, question: str, text: str, right: bool | None
) -> None:
    problem = Problem("x/1", "x", "math", question, ("5",))
    assert (await rules.grade(problem, text)).correct is right


@pytest.mark.parametrize(
    ("question", "gold", "text", "right"),
    [
        ("Work out 388 * 229.", "88852", "388 * 229 = 88,852", True),
        ("Work out 388 * 229.", "88852", "388 * 229 = 10,000", False),
        ("When does the train leave?", "16:30", "The train leaves at 4:30 pm.", True),
        ("When does the train leave?", "18:00", "at 6", None),
        ("When does the train leave?", "18:00", "at 7", False),
        ("By how many per cent did it rise?", "20", "by 20 %", True),
    ],
)
async def test_a_value_is_read_as_people_write_it(
    rules: Judge, question: str, gold: str, text: str, right: bool | None
) -> None:
    problem = Problem("x/1", "x", "math", question, (gold,))
    assert (await rules.grade(problem, text)).correct is right


@pytest.mark.parametrize(
    ("question", "gold", "text"),
    [
        ("How long does delivery take?", "3-5 days", "Delivery takes between 3 and 5 days."),
        ("When may visitors come?", "14:00-19:30", "Visitors may come between 14:00 and 19:30."),
        ("What did the wing cost?", "4.5 million euros", "The wing cost €4.5 million."),
        ("When is the fee due?", "15 May", "The fee is due on May 15."),
        ("Since when is it open?", "2004", "since 2004"),
    ],
)
async def test_a_sentence_may_spell_the_value_otherwise(
    rules: Judge, question: str, gold: str, text: str
) -> None:
    assert (await rules.grade(Problem("x/1", "x", "qa", question, (gold,)), text)).correct


@pytest.mark.parametrize(
    ("question", "text", "right"),
    [
        ("How many men did the women beat?", "5 men", True),
        ("How many men did the women beat?", "5 men did beat the women", None),
        ("How many men did the women beat?", "5 men beaten by the women", None),
        ("He eats 4 of 9 apples in a basket. How many are left?", "5 left in the basket", True),
        ("How many are missing?", "5 arrived", None),
    ],
)
async def test_words_behind_a_number_keep_the_order_of_the_sentence_that_asks(
    rules: Judge, question: str, text: str, right: bool | None
) -> None:
    problem = Problem("x/1", "x", "qa", question, ("5",))
    assert (await rules.grade(problem, text)).correct is right
