"""Answers with the one right verdict, by the rules alone: none wrong is accepted, none right refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.rows import read_answer

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "verdict_cases.jsonl").read_text("utf-8").splitlines()
]
FIELDS = ("id", "domain", "question", "reference", "candidate", "options", "context")
MOST_OPEN = 16
"""Of 243: sentences around a gold, a yes with words behind it, a year for a decade."""

pytestmark = pytest.mark.asyncio(loop_scope="module")


def text_cases() -> list[dict[str, Any]]:
    return [case for case in CASES if case["domain"] != "code"]


@pytest.mark.parametrize("case", text_cases(), ids=lambda case: case["id"])
async def test_the_verdict_is_the_right_one_or_open_with_a_reason(
    rules: Judge, case: dict[str, Any]
) -> None:
    answer = read_answer({key: case[key] for key in FIELDS if key in case})
    verdict = await rules.grade(answer.problem, answer.candidate)
    assert verdict.correct in (case["expected"], None), verdict
    assert verdict.explanation


async def test_few_are_left_open(rules: Judge) -> None:
    answers = [
        read_answer({key: case[key] for key in FIELDS if key in case}) for case in text_cases()
    ]
    verdicts = [await rules.grade(answer.problem, answer.candidate) for answer in answers]
    assert sum(verdict.correct is None for verdict in verdicts) <= MOST_OPEN
