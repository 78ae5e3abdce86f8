"""Attacks written by hand: rules alone accept none but those that are named here."""

from pathlib import Path

import pytest

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.rows import read_answer, read_rows

ACCEPTED = {
    "attack_1/3",  # it's for its
    "attack_1/4",  # ano for año
    "attack_1/24",  # Co for CO
    "attack_1/14",  # an answer tag whose sentence takes it back
    "attack_1/25",  # an object with "status": "retracted" beside the answer
    "attack_1/49",  # a box of which the sentence says that it is wrong
    "attack_1/42",  # sold 72 for 72 left: both are words of the question
    "attack_1/44",  # 42 pairs for 42 socks, the same
    "attack_2/84",  # a reason that names another capital
}
"""Attacks that the rules still accept, by what was wrong."""


@pytest.mark.parametrize(
    ("name", "wrong", "accepted"),
    [("written_attacks", 60, set()), ("attacks_by_hand", 240, ACCEPTED)],
)
async def test_rules_alone_accept_no_attack_written_by_hand_but_these(
    rules: Judge, name: str, wrong: int, accepted: set[str]
) -> None:
    path = Path(__file__).parent / f"{name}.jsonl"
    rows = read_rows(path, lambda row: (read_answer(row), bool(row["correct"])))
    assert sum(not correct for _, correct in rows) == wrong
    verdicts = [await rules.grade(answer.problem, answer.candidate) for answer, _ in rows]
    assert accepted == {
        answer.problem.id
        for (answer, correct), verdict in zip(rows, verdicts, strict=True)
        if verdict.correct and not correct
    }
