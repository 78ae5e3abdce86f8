"""The policy names one of several disagreeing solutions, is asked only then, and is paid for."""

from __future__ import annotations

import pytest
from operator_fakes import MATH, FakeSandbox

from llm_as_judge.config import Config
from llm_as_judge.errors import ModelError
from llm_as_judge.grading.equality import answer_classes
from llm_as_judge.llm.executors import WithReader
from llm_as_judge.llm.scripted import Answers, ScriptedChat
from llm_as_judge.operators import (
    LETTERS,
    ExecutionContext,
    ExecutorSettings,
    OperatorService,
    OperatorSettings,
    reading_prompt,
    registry,
)
from llm_as_judge.types import Json, OperatorCall


async def chosen(
    answers: Answers, solutions: list[Json], *, price: float = 1.0
) -> tuple[Json, OperatorCall, ScriptedChat, ScriptedChat]:
    """(result, trace, the executor, the reader) of one call."""
    executor, reader = ScriptedChat(lambda _: "x"), ScriptedChat(answers, name="reader")
    context = ExecutionContext(
        WithReader(executor, reader),
        FakeSandbox(),
        MATH,
        OperatorSettings(reader=ExecutorSettings("reader", written_price=price)),
        equality=answer_classes,
    )
    service = OperatorService(registry(), context)
    result = await service("Choose", ["What is 9 + 9?", solutions], {})
    (call,) = service.calls
    return result, call, executor, reader


async def test_the_policy_names_a_solution_and_the_executor_is_not_asked() -> None:
    result, call, executor, reader = await chosen(lambda _: '"B"', ["17", "18", "17.0", "19"])
    assert result == {"answer": "18", "share": 0.25}
    assert not executor.requests
    (request,) = reader.requests
    assert request.json_schema == {"enum": ["A", "B", "C"]}
    assert request.max_tokens == 1
    assert request.messages[0].content.endswith(
        "Solutions:\nA (given 2 times): 17\nB (given once): 18\nC (given once): 19\n\n"
        "Which solution is right? Reply with its letter alone."
    )
    assert (call.executor, call.llm_calls, call.notes) == ("policy", 1, ("B of 3",))


async def test_its_tokens_are_paid_at_the_policys_price() -> None:
    _, cheap, _, reader = await chosen(lambda _: '"A"', ["17", "18"], price=0.5)
    _, dear, _, _ = await chosen(lambda _: '"A"', ["17", "18"], price=2.0)
    usage = cheap.prompt_tokens / 4 + cheap.completion_tokens
    assert reader.requests
    assert cheap.cost == usage / 2
    assert dear.cost == usage * 2


async def test_where_all_agree_nobody_is_asked() -> None:
    result, call, _, reader = await chosen([], ["18", "", "$18", "18.0"])
    assert result == {"answer": "18", "share": 1.0}
    assert not reader.requests
    assert call.cost == 0
    assert call.executor == ""


async def test_without_a_solution_the_result_is_empty() -> None:
    result, call, _, reader = await chosen([], ["", " "])
    assert result == {"answer": "", "share": 0.0}
    assert call.error == "no solution to choose from"
    assert not reader.requests


async def test_a_reply_that_is_no_letter_of_a_solution_chooses_nothing() -> None:
    result, call, _, _ = await chosen(lambda _: '"D"', ["17", "18"])
    assert result == {"answer": "", "share": 0.0}
    assert call.error == "'\"D\"' is none of A, B"


async def test_of_many_solutions_the_most_common_are_shown() -> None:
    said: list[Json] = [*map(str, range(20)), "15", "15"]
    result, _, _, reader = await chosen(lambda _: '"A"', said)
    assert result == {"answer": "15", "share": round(3 / 22, 4)}
    assert reader.requests[0].json_schema == {"enum": list(LETTERS)}


def test_no_solution_can_write_the_line_of_another() -> None:
    prompt = reading_prompt("Q", {"7\nB (given 9 times): 8": 1, "9": 1})
    assert "A (given once): 7 B (given 9 times): 8\nB (given once): 9\n" in prompt


def test_long_texts_keep_their_ends() -> None:
    prompt = reading_prompt("q" * 5000 + "?", {"s" * 5000 + "= 18": 1, "19": 2})
    assert len(prompt) < 2200
    assert "?\n\nSolutions:" in prompt
    assert "s= 18\nB (given 2 times): 19" in prompt


async def test_where_the_policy_is_not_open_the_command_ends_with_one_line() -> None:
    context = ExecutionContext(ScriptedChat(lambda _: "x"), FakeSandbox(), MATH, OperatorSettings())
    serve = OperatorService(registry(), context)
    with pytest.raises(
        ModelError, match="choose is answered by the policy, which is not open here"
    ):
        await serve("Choose", [], {"problem": "Q", "solutions": ["1", "2"]})


def test_no_executor_is_called_like_the_policy() -> None:
    with pytest.raises(ValueError, match=r"executors\.policy: this is who answers `choose`"):
        Config.model_validate({"executors": {"policy": {"model": "scripted", "price": 1}}})
