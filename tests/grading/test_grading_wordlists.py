"""The words of the rules are read as written."""

from __future__ import annotations

from llm_as_judge.grading.wordlists import LIGHT, NOT_A_UNIT, NUMERALS, ORDINALS, TENS


def test_numbers_follow_the_order_of_their_words() -> None:
    assert (NUMERALS["zero"], NUMERALS["nineteen"]) == (0, 19)
    assert (ORDINALS["first"], ORDINALS["tenth"]) == (1, 10)
    assert (TENS["twenty"], TENS["ninety"]) == (20, 90)


def test_words_that_yaml_takes_for_truth_values_are_words() -> None:
    assert "on" in LIGHT
    assert "not" in NOT_A_UNIT
