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
