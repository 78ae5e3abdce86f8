"""Answers with the one right verdict, by the rules alone: none wrong is accepted, none right refused."""

import json
from pathlib import Path

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


async def test_each_verdict_is_the_right_one_or_open_with_a_reason_and_few_are_open(
    rules: Judge,
) -> None:
    cases = [case for case in CASES if case["domain"] != "code"]
    answers = [read_answer({key: case[key] for key in FIELDS if key in case}) for case in cases]
    verdicts = [await rules.grade(answer.problem, answer.candidate) for answer in answers]
    wrong = [
        (case["id"], verdict)
        for case, verdict in zip(cases, verdicts, strict=True)
        if verdict.correct not in (case["expected"], None) or not verdict.explanation
    ]
    assert wrong == []
    assert sum(verdict.correct is None for verdict in verdicts) <= MOST_OPEN
