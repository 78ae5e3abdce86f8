import pytest

from llm_as_judge.grading.choice import choose, grade_choice
from llm_as_judge.types import Problem

OPTIONS = ("Error", "abc", "cba", "c")


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("C", 2),
        ("(C)", 2),
        ("C.", 2),
        ("c) cba", None),
        ("C) cba", 2),
        ("Option C", 2),
        ("abc", 1),
        ("B. cba", None),
        ("A) abc", None),
        ("A and B", None),
        ("Z", None),
        ("", None),
        ("b", 1),
    ],
)
def test_exactly_one_option_is_named(text: str, index: int | None) -> None:
    assert choose(text, OPTIONS) == index


@pytest.mark.parametrize(
    ("answer", "correct"),
    [
        ("C", True),
        ("Reversed, so:\nThe answer is (C).", True),
        ("Some thought\nC", True),
        ("A or C", False),
        ("The answer is B. The answer is C.", False),
        ("D", False),
    ],
)
def test_the_letter_decides(answer: str, correct: bool) -> None:
    problem = Problem("mmlu/t/1", "mmlu", "qa", "What is printed?", ("C",), options=OPTIONS)
    assert grade_choice(problem, answer).correct is correct
