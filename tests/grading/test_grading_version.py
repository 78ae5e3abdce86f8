"""Every version of the rules says what changed, and older verdicts are said to be such."""

from __future__ import annotations

from llm_as_judge.grading.version import CHANGES, GRADING_VERSION, older_verdicts


def test_versions_count_up_and_each_says_what_changed() -> None:
    assert list(CHANGES) == list(range(1, GRADING_VERSION + 1))
    assert all(CHANGES.values())


def test_only_older_verdicts_are_spoken_of() -> None:
    assert older_verdicts("bank", GRADING_VERSION) == ""
    assert older_verdicts("bank", 1).startswith("bank: verdicts of the grading rules of version 1;")
