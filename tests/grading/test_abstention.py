"""Abstentions: they say that there is no answer, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.grading.abstention import is_abstention
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.types import Problem

QUESTION = "What colour was the door of the house?"
OPEN = Problem("s/1", "squad2", "qa", QUESTION, ())

ABSTAINING = [
    "The passage does not say.",
    "The text doesn't mention the colour of the door.",
    "It is not stated in the passage.",
    "The colour of the door is not mentioned.",
    "Based on the passage, it cannot be determined.",
    "According to the text, there is no information about the door.",
    "I cannot determine this from the context.",
    "There is not enough information in the text to answer.",
    "Unanswerable (the passage does not say)",
    "No answer: the text does not mention it.",
    "Unknown, since the passage does not specify it.",
    "It cannot be answered because the passage does not mention the colour.",
    "Unfortunately, the passage does not provide this information.",
    "Sorry, I do not know",
    "What colour the door was is not stated.",
]
ANSWERING = [
    "green (the passage does not say)",
    "green, although it is not stated",
    "green, not stated in the passage",
    "Green - the text does not mention it.",
    "The passage does not say (green)",
    "The passage does not say, green",
    "Not stated: green",
    "No information, green",
    "It is green, which is not mentioned in the text.",
    "It is green which is not mentioned in the text.",
    "green because the passage does not say",
    "green as the text does not mention it",
    "green [not mentioned]",
    "The door was green. The passage does not say.",
    "green and the passage does not say",
    "the passage does not say \u2014 green",
    "Oak green the passage does not say",
]


@pytest.mark.parametrize("text", ABSTAINING)
async def test_an_abstention_is_right_where_there_is_no_answer(rules: Judge, text: str) -> None:
    assert is_abstention(text, QUESTION)
    assert (await rules.grade(OPEN, text)).correct is True


@pytest.mark.parametrize("text", ANSWERING)
async def test_one_that_gives_an_answer_beside_it_is_wrong(rules: Judge, text: str) -> None:
    assert not is_abstention(text, QUESTION)
    assert (await rules.grade(OPEN, text)).correct is False


FRAMES = (
    *("{} (the passage does not say)", "{}, not stated", "The passage does not say ({})"),
    *("{}: no information", "No answer, {}", "{} because the text does not mention it"),
)


@given(st.text("bcdfghjklmnpqrstvwxz", min_size=3, max_size=9), st.sampled_from(FRAMES))
def test_any_word_beside_an_abstention_is_an_answer(word: str, frame: str) -> None:
    assert not is_abstention(frame.format(word), QUESTION)
