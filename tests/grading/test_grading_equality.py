"""Equal answers are an equivalence, by the graders' own rules, bounded and without the gold."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.grading.equality import (
    MOST_ALGEBRA,
    MOST_READ,
    GradersEquality,
    answer_classes,
)
from llm_as_judge.types import Problem

MATH = Problem("t/t/1", "gsm8k", "math", "How many eggs are left?")
QA = Problem("t/t/2", "squad2", "qa", "Who lit the lighthouse?")
CHOICE = Problem("t/t/3", "mmlu", "qa", "Which?", options=("red", "blue", "green"))


def classes(problem: Problem, *answers: str) -> list[int]:
    return asyncio.run(answer_classes(problem, answers))


@pytest.mark.parametrize(
    ("problem", "answers"),
    [
        (MATH, ["18", "18.0", "$18", "18 eggs", "eighteen", "#### 18", "\\boxed{18}", "x = 18"]),
        (MATH, ["18", "She has 18 eggs left.", "12 + 6 = 18", "The answer is 18.", "36/2"]),
        (MATH, ["1/2", "0.5", "\\frac{1}{2}", "\\dfrac12", "50%", "$\\frac{1}{2}$"]),
        (MATH, ["1,800", "1800", "1.8 thousand"]),
        (MATH, ["60 minutes", "1 hour"]),
        (MATH, ["(1,2)", "(1, 2)", "$(1,2)$"]),
        (QA, ["Edna Moss", "edna moss.", "The Edna Moss", "Answer: Edna Moss"]),
        (QA, ["six men", "6 men"]),
        (QA, ["unanswerable", "It is not stated in the context."]),
        (CHOICE, ["B", "(B)", "blue", "B. blue", "The answer is B"]),
    ],
)
def test_what_the_graders_hold_equal_is_one_class(problem: Problem, answers: list[str]) -> None:
    assert classes(problem, *answers) == [0] * len(answers)


@pytest.mark.parametrize(
    ("problem", "answers"),
    [
        (MATH, ["18", "19", "18.5", "-18", "180", "1/18"]),
        (MATH, ["1 hour", "2 hours", "2 minutes"]),
        (MATH, ["(1,2)", "(2,1)", "[1,2]"]),
        (MATH, ["yes", "no"]),
        (QA, ["Edna Moss", "Edna", "Moss and Edna", "unanswerable"]),
        (CHOICE, ["A", "blue", "C"]),
    ],
)
def test_what_they_tell_apart_is_not(problem: Problem, answers: list[str]) -> None:
    assert classes(problem, *answers) == list(range(len(answers)))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def equality() -> AsyncIterator[GradersEquality]:
    one = GradersEquality()
    yield one
    await one.aclose()


@pytest.mark.asyncio(loop_scope="module")
async def test_formulas_are_compared_by_algebra(equality: GradersEquality) -> None:
    formulas = ["\\frac{\\sqrt{2}}{2}", "x+1", "\\frac{1}{\\sqrt{2}}", "1+x", "x", "\\pi"]
    assert await equality(MATH, formulas) == [0, 1, 0, 1, 2, 3]


SAID = st.sampled_from(
    ["18", "18.0", "$18", "18 eggs", "19", "1/2", "50%", "0.5", "x+1", "pi", "yes", "1 hour",
     "60 minutes", "60", "\\frac{1}{3}", "0.333", "0.3333", "1/3", "", " ", "None", "\\boxed{"]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(SAID, st.text(max_size=12)), max_size=12), st.randoms())
def test_order_does_not_matter(answers: list[str], chance: random.Random) -> None:
    order = list(range(len(answers)))
    chance.shuffle(order)
    for problem in (MATH, QA, CHOICE):
        one = classes(problem, *answers)
        other = classes(problem, *(answers[i] for i in order))
        for a in range(len(order)):
            for b in range(a):
                assert (one[order[a]] == one[order[b]]) == (other[a] == other[b])


def test_no_answer_is_no_class_and_numbers_count_from_the_first() -> None:
    assert classes(MATH) == []
    assert classes(MATH, "7", "8", "7.0", "9") == [0, 1, 0, 2]


def test_the_gold_changes_nothing() -> None:
    answers = ["18", "19", "nineteen", "20 eggs"]
    told = dataclasses.replace(MATH, answers=("19", "18"), hidden_tests=("assert False",))
    assert classes(told, *answers) == classes(MATH, *answers)


def test_ten_thousand_pairs_of_formulas_cost_a_bounded_number_of_comparisons() -> None:
    formulas = [f"x^{{{n}}} + y" for n in range(142)]
    asked: list[tuple[str, str]] = []

    async def algebra(one: str, other: str) -> bool:
        asked.append((one, other))
        return False

    found = asyncio.run(answer_classes(MATH, formulas, algebra))
    assert len(set(found)) == 142
    assert len(asked) == MOST_ALGEBRA


def test_a_formula_that_cannot_be_compared_in_time_ends_the_algebra() -> None:
    asked: list[str] = []

    async def algebra(one: str, other: str) -> None:
        asked.append(one)

    found = asyncio.run(answer_classes(MATH, ["x^{2}", "y+1", "z-1"], algebra))
    assert (found, len(asked)) == ([0, 1, 2], 1)


def test_ten_thousand_pairs_of_numbers_and_texts_are_told_apart() -> None:
    numbers = [str(n) for n in range(100)] + [f"{n}.0" for n in range(100)]
    assert classes(MATH, *numbers) == [*range(100), *range(100)]
    texts = [f"word{n}" for n in range(150)]
    assert classes(QA, *texts) == list(range(150))


HOSTILE = {
    "braces": "\\boxed{" * 30_000,
    "zeros": "0" * 200_000,
    "digits": "1,000" * 40_000,
    "power": "9^{9^{9^{9}}}",
    "factorial": "10000000!",
    "nul": "\x00\ud800\u202e",
    "quotes": "'\"`;--<script>",
    "code": "__import__('os').system('true')",
    "json": '{"answer": ' * 20_000,
    "spaces": " \n" * 100_000,
    "phrase": "the answer is " * 14_000,
}


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
async def test_a_hostile_answer_is_a_class_of_its_own(equality: GradersEquality, text: str) -> None:
    assert await equality(MATH, ["18", text, "18.0"]) == [0, 1, 0]
    assert await equality(QA, ["Edna Moss", text, "edna moss"]) == [0, 1, 0]


def test_a_long_answer_is_read_from_its_end() -> None:
    long = "We add the eggs up. " * MOST_READ + "\\boxed{18}"
    assert classes(MATH, long, "18") == [0, 0]
