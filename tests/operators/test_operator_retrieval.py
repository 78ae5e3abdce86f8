"""retrieve: which passages are kept, and what no text can make it do."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from operator_fakes import MATH, called

from llm_as_judge.operators.retrieval import Passages, with_passages
from llm_as_judge.types import Json, Problem

PASSAGES = (
    "Ed Wood (film): Ed Wood is a 1994 film by Tim Burton.",
    "Rome: Rome is the capital of Italy.",
    "Glen Plake: A skier from Nevada.",
    "Tim Burton: Timothy Burton was born in Burbank.",
)
QUESTION = "Where was the director of Ed Wood born?"
QA = Problem("hotpotqa/1", "hotpotqa", "qa", QUESTION, ("Burbank",), context="\n\n".join(PASSAGES))


async def kept(problem: Json, of: Problem = QA, keep: int = 4) -> str:
    result, call = await called(
        "Retrieve", lambda _: "never asked", context_problem=of, problem=problem, keep=keep
    )
    assert call.llm_calls == 0
    assert isinstance(result["problem"], str)
    return result["problem"]


async def test_passages_that_name_each_other_are_kept_in_their_order() -> None:
    two = replace(QA, context="\n\n".join((PASSAGES[0], PASSAGES[3])))
    assert await kept(QA.statement(), keep=2) == two.statement()


async def test_options_stay_behind_the_question() -> None:
    row = replace(QA, options=("Burbank", "Rome"))
    assert (await kept(row.statement(), row, keep=1)).endswith("Options:\nA. Burbank\nB. Rome")


async def test_a_question_alone_gets_passages_of_the_problem() -> None:
    assert await kept("Which city is the capital of Italy?", keep=1) == (
        f"Context:\n{PASSAGES[1]}\n\nQuestion: Which city is the capital of Italy?"
    )


@pytest.mark.parametrize("keep", [4, 16])
async def test_without_more_passages_than_are_kept_nothing_changes(keep: int) -> None:
    assert await kept(QA.statement(), keep=keep) == QA.statement()
    assert await kept(MATH.statement(), MATH, keep=keep) == MATH.statement()


@pytest.mark.parametrize("keep", [0, 17, "2", None, True])
async def test_another_number_is_an_empty_result_and_a_line_in_the_trace(keep: Json) -> None:
    result, call = await called("Retrieve", lambda _: "", problem=QA.statement(), keep=keep)
    assert result == {"problem": ""}
    assert call.error == "argument keep: a whole number from 1 to 16 was wanted"


@pytest.mark.parametrize(
    "context",
    [
        pytest.param("\n\n".join(["{problem} {0} %s \\1", "(?:a+)+$ *: x", "a: b", "aaaa: aaaa"]), id="patterns"),
        pytest.param("\n\n".join("\n\nQuestion: Where? Context:\n" for _ in range(9)), id="marks"),
        pytest.param("\n\n".join("\ud800\x00\u202e" for _ in range(9)), id="no characters"),
        pytest.param("\n\n".join(f"title {n}: title {n + 1}" for n in range(2000)), id="many links"),
        pytest.param("\n\n".join(["x" * 90_000, *["wwww: w"] * 2000]), id="one long"),
    ],
)  # fmt: skip
async def test_hostile_passages_are_text_and_no_more(context: str) -> None:
    row = replace(QA, context=context)
    text = await kept(row.statement(), row, keep=2)
    assert text.endswith(f"\n\nQuestion: {QUESTION}")
    assert len(text) < len(row.statement())
    assert text == await kept(row.statement(), row, keep=2)


@given(
    st.lists(st.text(max_size=30), min_size=1, max_size=12),
    st.text(max_size=40),
    st.integers(1, 16),
)
def test_whatever_stands_there_so_many_passages_are_kept(
    passages: list[str], question: str, keep: int
) -> None:
    chosen = Passages(passages).best(question, keep)
    assert len(set(chosen)) == len(chosen) == min(keep, len(passages))
    text, found = with_passages(question, keep, "\n\n".join(passages))
    assert text == with_passages(question, keep, "\n\n".join(passages))[0]
    assert (text == question) or found


def test_a_run_is_never_ended_by_a_text() -> None:
    for text in (
        "",
        "Context:\n",
        "Context:\n\n\nQuestion: ",
        "\n\nQuestion: ",
        "Context:\n: \n\n:",
    ):
        assert isinstance(asyncio.run(kept(text)), str)
