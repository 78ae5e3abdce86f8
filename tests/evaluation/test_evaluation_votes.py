"""Votes and agreement from kept figures."""

from __future__ import annotations

import pytest

from llm_as_judge.evaluation.bank_figures import agreement, vote


@pytest.mark.parametrize(
    ("answers", "share"),
    [("", None), ("a", 1), ("aab", 2 / 3), ("a_", 0.5), ("__", None), ("abc", 1 / 3)],
)
def test_agreement_is_the_share_of_the_answer_most_given(answers: str, share: float | None) -> None:
    assert agreement(["" if a == "_" else a for a in answers]) == share


@pytest.mark.parametrize(
    ("answers", "correct", "verdict"),
    [
        ("aab", (False, False, True), False),
        ("abb", (False, True, True), True),
        ("ab", (True, False), True),
        ("_bb", (False, True, True), True),
        ("aa", (None, True), True),
        ("aa", (None, None), None),
        ("__", (False, False), False),
        ("__", (None, None), None),
    ],
    ids=["outvoted", "second", "tie", "no_answer", "one_graded", "open", "nothing", "failed"],
)
def test_the_vote_has_the_verdict_of_the_answer_most_given(
    answers: str, correct: tuple[bool | None, ...], verdict: bool | None
) -> None:
    assert vote(["" if a == "_" else a for a in answers], correct) is verdict
