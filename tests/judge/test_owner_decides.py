"""The owner of a row decides who grades it: the judge without rules, or its tests."""

from __future__ import annotations

from typing import Any

import pytest

from llm_as_judge.errors import DataError
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.rows import read_answer
from llm_as_judge.types import AnswerSpec, Problem, Verdict

QA = {"id": "1", "domain": "qa", "question": "Which color?", "reference": "blue", "candidate": "x"}


class Asked:
    """A judge after the rules that calls every answer right, and notes what it was asked."""

    fingerprint = "asked"

    def __init__(self) -> None:
        self.of: list[str] = []

    async def judge(
        self, problem: Problem, candidate: str, score: float | None, *, fresh: bool = False
    ) -> Verdict:
        self.of.append(candidate)
        return Verdict(True, "llm", "asked.right", score=score)


@pytest.mark.parametrize("candidate", ["blue", "red", "I do not know."])
async def test_a_row_for_the_judge_meets_no_rule(candidate: str) -> None:
    answer = read_answer({**QA, "grader": "judge", "candidate": candidate})
    last = Asked()
    judge = Judge(last=last)
    try:
        verdict = await judge.grade(answer.problem, answer.candidate)
    finally:
        await judge.aclose()
    assert (verdict.stage, last.of) == ("llm", [candidate])
    assert verdict.score is not None


async def test_a_row_for_the_judge_is_open_where_there_is_none() -> None:
    problem = read_answer({**QA, "grader": "judge"}).problem
    judge = Judge(f1_threshold=0.1)
    try:
        verdict = await judge.grade(problem, "blue")
    finally:
        await judge.aclose()
    assert (verdict.correct, verdict.rule) == (None, "owner.judge")
    assert "no judge" in verdict.explanation


async def test_an_empty_answer_is_wrong_before_any_judge_is_asked() -> None:
    problem = read_answer({**QA, "grader": "judge"}).problem
    last = Asked()
    judge = Judge(last=last)
    try:
        assert (await judge.grade(problem, "  ")).correct is False
    finally:
        await judge.aclose()
    assert not last.of


def test_a_row_to_grade_says_how_its_answers_are_compared() -> None:
    said: dict[str, Any] = {"kind": "money", "tolerance": 0.5, "unit": "EUR", "grader": "typed"}
    row = {**QA, "domain": "math", "reference": 12, **said, "aliases": "a dozen"}
    problem = read_answer(row).problem
    assert problem.spec == AnswerSpec("money", 0.5, "EUR", "typed")
    assert problem.answers == ("12", "a dozen")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"kind": "colour"}, "'kind' is 'colour', wanted one of number"),
        ({"grader": "tests"}, "'tests', which a qa row has not"),
        ({"tolerance": -1}, "'tolerance' is -1, wanted a number from 0 on"),
        ({"aliases": [2]}, "'aliases' is not a list of texts"),
    ],
)
def test_a_row_to_grade_with_a_field_that_does_not_fit_is_refused(
    more: dict[str, Any], reason: str
) -> None:
    with pytest.raises(DataError, match=reason):
        read_answer({**QA, **more})


def test_the_reference_of_a_multiple_choice_may_be_the_text_of_an_option() -> None:
    row = {**QA, "options": ["red", "blue"]}
    assert read_answer(row).problem.answers == ("blue",)
    with pytest.raises(DataError, match="a letter, here A-B, or the text of an option"):
        read_answer({**row, "reference": "green"})
