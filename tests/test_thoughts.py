"""Thoughts are no answer, whatever marks them and whoever reads the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.grading.equality import answer_classes, normal_answer
from llm_as_judge.grading.squad import prediction
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.thoughts import REPLY_FIELDS, without_thoughts
from llm_as_judge.types import Problem

FOUR = Problem("m/1", "m", "math", "What is 2+2?", ("4",))
CITY = Problem("q/1", "q", "qa", "Which city is it?", ("Lyon",))

MARKED = {
    "think": ("<think>", "</think>"),
    "thinking": ("<thinking>", "</thinking>"),
    "reasoning, capitals": ("<Reasoning>", "</Reasoning>"),
    "thought": ("<thought>", "</thought>"),
    "attribute": ('<think effort="high">', "</think>"),
    "Magistral": ("[THINK]", "[/THINK]"),
    "Seed-OSS": ("<seed:think>", "</seed:think>"),
    "Kimi": ("◁think▷", "◁/think▷"),
    "Sky-T1": ("<|begin_of_thought|>", "<|end_of_thought|>"),
    "Command A": ("<|START_THINKING|>", "<|END_THINKING|>"),
    "Gemma": ("<|channel>thought\n", "<channel|>"),
    "gpt-oss": (
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    "gpt-oss, marks lost": ("analysis", "assistantfinal"),
}
marks = pytest.mark.parametrize(("opening", "closing"), MARKED.values(), ids=MARKED)


@marks
def test_what_stands_behind_the_thought_is_the_answer(opening: str, closing: str) -> None:
    assert without_thoughts(f"{opening}The answer is 5? No.\n{closing}\n\n4") == "4"


@marks
def test_a_thought_that_is_never_closed_leaves_no_answer(opening: str, closing: str) -> None:
    assert without_thoughts(f"{opening}The answer is 4.") == ""


@pytest.mark.parametrize("name", [name for name in MARKED if "gpt-oss, marks" not in name])
def test_a_closing_mark_needs_no_opening_one(name: str) -> None:
    assert without_thoughts(f"Perhaps 5.\n{MARKED[name][1]}\n4") == "4"


@marks
async def test_graders_boxes_votes_and_metrics_read_behind_thoughts(
    rules: Judge, opening: str, closing: str
) -> None:
    thought = f"{opening}Maybe \\boxed{{5}}? The answer is 3.\n{closing}\n"
    assert (await rules.grade(FOUR, thought + r"\boxed{4}")).correct is True
    assert (await rules.grade(FOUR, thought + "5")).correct is False
    assert (await rules.grade(FOUR, f"{opening}The answer is 4.")).rule == "guard.empty"
    assert await answer_classes(FOUR, [thought + "4", "4.0", thought + "5"]) == [0, 0, 1]
    assert normal_answer(CITY, thought + "Lyon") == normal_answer(CITY, "Lyon")
    assert prediction(CITY, thought + "Lyon") == "Lyon"


@pytest.mark.parametrize(
    "text",
    [
        'def f(text):\n    return text.split("</think>")[-1]',
        "re.sub(r'<think>.*?</think>', '', text)",
        "It ends at `</think>`.",
        "The analysis shows that 4 is right.",
        "analysis of variance",
        "I think <b>4</b> is it",
        "x < think > y",
        "",
    ],
)
def test_a_tag_that_is_spoken_of_and_other_text_stay(text: str) -> None:
    assert without_thoughts(text) == text


def test_the_last_final_channel_alone_counts() -> None:
    final = "<|start|>assistant<|channel|>final<|message|>"
    call = "<|channel|>commentary to=tool <|constrain|>json<|message|>{}<|call|>"
    assert without_thoughts(f"{call}{final}4<|return|>").startswith("4")
    assert without_thoughts(f"{final}5<|end|>{final}4") == "4"
    assert without_thoughts(f"{final}4<|end|><|channel|>analysis<|message|>hm") == ""
    assert without_thoughts("<|channel|>final 4") == ""


def test_a_field_that_the_prompt_asked_for_is_no_thought() -> None:
    reply = "<thought>2+2</thought><answer>4</answer>"
    assert without_thoughts(reply, fields=REPLY_FIELDS) == reply
    assert without_thoughts(f"<think>{reply}</think>4", fields=REPLY_FIELDS) == "4"


WORDS = st.text("ab 4.,\n", max_size=30)


@given(st.lists(st.sampled_from(list(MARKED.values())), min_size=1, max_size=3), WORDS, WORDS)
def test_no_thought_reaches_the_answer(
    pairs: list[tuple[str, str]], thought: str, answer: str
) -> None:
    tags = [pair for pair in pairs if "channel|>" not in pair[0] and "analysis" not in pair[0]]
    text = "".join(f"{opening}SECRET{thought}{closing}" for opening, closing in tags)
    assert without_thoughts(text + answer) == (answer.strip() if tags else answer)
