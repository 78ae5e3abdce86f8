"""Votes, draws until some agree, and code until its tests pass: on the host, by equality alone."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_fakes import CODE, MATH, FakeSandbox, called, service

from llm_as_judge.grading.equality import answer_classes
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.operators import ExecutionContext, OperatorService, OperatorSettings, registry
from llm_as_judge.operators.base import MAX_TESTED, CallLimitError, tries
from llm_as_judge.types import (
    ChatReply,
    ChatRequest,
    Json,
    Problem,
    ReplyLogProbs,
    TestReport,
)

PASSES, FAILS = TestReport(True, 1), TestReport(False, 2, (0,), "no")
WORSE = TestReport(False, 2, (0, 1), "no")


async def graded(name: str, *args: Json, problem: Problem = MATH) -> Json:
    """The result of one call where the graders say what is equal."""
    context = ExecutionContext(
        ScriptedChat(lambda _: "x"), FakeSandbox(), problem, OperatorSettings(),
        equality=answer_classes,
    )  # fmt: skip
    return await OperatorService(registry(), context)(name, list(args), {})


def code(number: int) -> str:
    return f"def add(a, b):\n    return {number}"


def block(number: int) -> str:
    return f"```python\n{code(number)}\n```"


# ------------------------------------------------------------------------------------------- vote
@pytest.mark.parametrize(
    ("said", "answer", "share"),
    [
        (["20", "$18", "18.0", "18 eggs", "20"], "$18", 0.6),
        (["7", "8", "8.0", "7.0"], "7", 0.5),
        (["8", "7", "7.0", "8.0"], "8", 0.5),
        (["", " ", None, "7"], "7", 1.0),
    ],
)
async def test_the_vote_is_by_value_and_gives_the_first_drawn(
    said: list[Json], answer: str, share: float
) -> None:
    assert await graded("Vote", said) == {"answer": answer, "share": share}


class Sure(ScriptedChat):
    """Gives ``means``, one a reply, as the mean log-probability of its tokens."""

    def __init__(self, texts: Sequence[str], means: Sequence[float | None]) -> None:
        super().__init__([f"Thought: t\nAnswer: {text}" for text in texts])
        self._means = list(means)

    async def chat(self, request: ChatRequest) -> ChatReply:
        mean = self._means[len(self.requests)]
        reply = await super().chat(request)
        return (
            reply if mean is None else dataclasses.replace(reply, logprobs=ReplyLogProbs(9, mean))
        )


@pytest.mark.parametrize(
    ("replies", "answer"),
    [
        ({"7": -0.9, "8": -0.1}, "8"),
        ({"8": -0.1, "7": -0.9}, "8"),
        ({"7": -0.5, "8": -0.3, "8.0": -2.0, "7.0": -0.4}, "7"),
        ({"7": -0.9, "8": -0.1, "7.0": -3.0}, "7"),  # no tie: votes come first
        ({"7": -0.9, "8": None}, "7"),  # not known of all: the first drawn
    ],
)
@pytest.mark.parametrize("operator", ["Vote", "UntilAgree"])
async def test_a_tie_goes_to_the_answers_whose_replies_are_likelier(
    operator: str, replies: dict[str, float | None], answer: str
) -> None:
    chat = Sure(list(replies), list(replies.values()))
    context = ExecutionContext(
        chat, FakeSandbox(), MATH, OperatorSettings(temperature=0.7), equality=answer_classes
    )
    serve = OperatorService(registry(), context)
    drawn = [await serve("AnswerGenerate", ["p"], {}) for _ in replies]
    if operator == "Vote":
        given: list[Json] = [[one["answer"] for one in drawn]]  # type: ignore[index, call-overload]
        result = await serve(operator, given, {})
    else:
        result = await serve(operator, [drawn, 3, len(drawn)], {})
    assert result["answer"] == answer  # type: ignore[index, call-overload]


async def test_likelihoods_of_two_operators_are_not_compared() -> None:
    chat = Sure(["7", "8"], [-0.9, -0.1])
    serve = OperatorService(
        registry(), ExecutionContext(chat, FakeSandbox(), MATH, OperatorSettings())
    )
    chain = await serve("AnswerGenerate", ["p"], {})
    other = await serve("Custom", ["p", "i"], {})
    assert isinstance(chain, dict)
    assert isinstance(other, dict)
    result = await serve("Vote", [[chain["answer"], other["response"]]], {})
    assert result["answer"] == "7"  # type: ignore[index, call-overload]


@pytest.mark.parametrize("solutions", [["", " "], []])
async def test_where_all_solutions_are_empty_there_is_no_vote(solutions: list[Json]) -> None:
    result, call = await called("Vote", lambda _: "x", solutions=solutions)
    assert (result, call.error) == ({"answer": "", "share": 0.0}, "no solution to choose from")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(["1", "1.0", "2", "two", "3", ""]), min_size=1), st.randoms())
def test_only_a_tie_depends_on_the_order(said: list[str], chance: object) -> None:
    shuffled = list(said)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]

    async def both() -> tuple[Json, Json, list[int]]:
        one, other = await graded("Vote", list(said)), await graded("Vote", list(shuffled))
        answers: list[str] = [one["answer"], other["answer"]]  # type: ignore[index, call-overload, list-item]
        return one, other, await answer_classes(MATH, answers)

    one, other, same = asyncio.run(both())
    assert one["share"] == other["share"]  # type: ignore[index, call-overload]
    if one["share"] > 0.5:  # type: ignore[index, call-overload, operator]
        assert same == [0, 0]


async def test_no_vote_asks_the_executor_or_sees_the_gold() -> None:
    seen: list[Problem] = []

    async def equality(problem: Problem, answers: Sequence[str]) -> list[int]:
        seen.append(problem)
        return list(range(len(answers)))

    told = dataclasses.replace(MATH, answers=("2",), hidden_tests=("assert True",))
    chat = ScriptedChat(lambda _: "x")
    context = ExecutionContext(chat, FakeSandbox(), told, OperatorSettings(), equality=equality)
    serve = OperatorService(registry(), context)
    for name in ("Vote", "UntilAgree"):
        result = await serve(name, [["1", "2", "3", "4", "5"]], {})
        assert result["answer"] == "1"  # type: ignore[index, call-overload]
    assert [(p.answers, p.hidden_tests, p.question) for p in seen] == [((), (), MATH.question)] * 2
    assert chat.requests == []
    assert [call.llm_calls for call in serve.calls] == [0, 0]


async def test_code_that_passes_its_visible_tests_is_one_class_and_the_rest_no_vote() -> None:
    sandbox = FakeSandbox(reports=[FAILS, PASSES, PASSES])
    result, _ = await called(
        "Vote", lambda _: "x", context_problem=CODE, sandbox=sandbox,
        solutions=[code(1), code(1), block(2), code(3), "no code"],
    )  # fmt: skip
    assert result == {"answer": block(2), "share": 1.0}
    assert sandbox.sources == [code(1), code(2), code(3)]  # equal code is tested once
    assert sandbox.tests == [CODE.visible_tests] * 3


async def test_where_no_code_passes_equal_programs_vote() -> None:
    shown = dataclasses.replace(CODE, visible_tests=())
    said: list[Json] = [code(1), code(2), "# again\n" + code(2)]
    result, _ = await called("Vote", lambda _: "x", context_problem=shown, solutions=said)
    assert result == {"answer": code(2), "share": 0.6667}


async def test_one_run_tests_a_bounded_number_of_solutions() -> None:
    sandbox = FakeSandbox(reports=[FAILS] * (MAX_TESTED + 1))
    said: list[Json] = [code(n) for n in range(MAX_TESTED + 1)]
    result, call = await called(
        "Vote", lambda _: "x", context_problem=CODE, sandbox=sandbox, solutions=said
    )
    assert result == {"answer": "", "share": 0.0}
    assert f"{MAX_TESTED} solutions were tested" in call.error
    assert len(sandbox.sources) == MAX_TESTED


@pytest.mark.parametrize("operator", ["ScEnsemble", "MdEnsemble"])
async def test_ensembles_hold_equal_what_the_vote_does(operator: str) -> None:
    said: list[Json] = ["$18", "18", "18.0"]
    result = await graded(operator, said, "p")
    assert list(result.values()) == ["$18"]  # type: ignore[union-attr]


# ------------------------------------------------------------------------------------ until_agree
@pytest.mark.parametrize(
    ("drawn", "agree", "most", "reply"),
    [
        ([], 2, 5, {"more": 2}),
        ([], 3, 2, {"more": 2}),
        (["1"], 2, 5, {"more": 1}),
        (["1", "2"], 3, 5, {"more": 2}),
        (["1", "2", "3"], 3, 4, {"more": 1}),
        (["", ""], 2, 3, {"more": 1}),
        (["1", "1.0"], 2, 5, {"answer": "1", "share": 1.0, "agreed": True}),
        (["1", "2", "2"], 2, 5, {"answer": "2", "share": 0.6667, "agreed": True}),
        (["1", "2", "3"], 2, 3, {"answer": "1", "share": 0.3333, "agreed": False}),
        (["", ""], 2, 2, {"answer": "", "share": 0.0, "agreed": False}),
        (["1"], 1, 1, {"answer": "1", "share": 1.0, "agreed": True}),
    ],
)
async def test_it_draws_until_enough_agree(
    drawn: list[Json], agree: int, most: int, reply: Json
) -> None:
    assert await graded("UntilAgree", drawn, agree, most) == reply


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["1", "1.0", "2", "two", "3", "", "\\boxed{" * 99, "\x00"]), min_size=16, max_size=16),
    st.integers(1, 5), st.integers(1, 16),
)  # fmt: skip
def test_no_draw_is_made_after_enough_agree_and_none_beyond_the_most(
    said: list[str], agree: int, most: int
) -> None:
    async def drawn() -> tuple[int, Json]:
        made = 0
        while True:
            reply = await graded("UntilAgree", list(said[:made]), agree, most)
            if list(reply) != ["more"]:  # type: ignore[arg-type]
                return made, reply
            made += int(reply["more"])  # type: ignore[index, call-overload, arg-type]

    async def enough(count: int) -> bool:
        given = [text for text in said[:count] if text]
        classes = await answer_classes(MATH, given)
        return any(classes.count(number) >= min(agree, most) for number in classes)

    made, reply = asyncio.run(drawn())
    first = next((n for n in range(most + 1) if asyncio.run(enough(n))), most)
    assert made == first
    assert reply["agreed"] == asyncio.run(enough(first))  # type: ignore[index, call-overload]


async def test_of_a_whole_result_the_last_text_counts() -> None:
    drawn: list[Json] = [
        {"thought": "2", "answer": "1"}, {"code": "x = 1", "output": "1.0"}, {"result": True}, {},
    ]  # fmt: skip
    assert await graded("UntilAgree", drawn, 2, 4) == {
        "answer": "1", "share": 1.0, "agreed": True,
    }  # fmt: skip


@pytest.mark.parametrize("number", [0, -1, 17, 10**30, True, "2", 2.0, None, [2]])
async def test_a_number_out_of_range_is_an_error_not_a_draw(number: Json) -> None:
    result, call = await called("UntilAgree", lambda _: "x", ways=["1"], agree=number)
    assert result == {"answer": "", "share": 0.0, "agreed": False}
    assert "agree: a whole number from 1 to 16 was wanted" in call.error


@pytest.mark.parametrize(
    ("drawn", "reports", "reply"),
    [
        ([code(1), code(1)], [FAILS], {"more": 1}),
        ([code(1), block(1), code(1)], [FAILS], {"more": 1}),
        ([code(1), code(1), code(2)], [FAILS, PASSES], {"more": 1}),
        ([code(1), code(1), code(2), code(3)], [FAILS, PASSES, PASSES],
         {"answer": code(2), "share": 1.0, "agreed": True}),
        ([code(1), code(1), code(2), code(2)], [FAILS, FAILS],
         {"answer": code(1), "share": 0.5, "agreed": False}),
    ],
    ids=["equal and failing", "once more", "one passes", "two pass", "none passed"],
)  # fmt: skip
async def test_equal_code_that_fails_its_visible_tests_does_not_agree(
    drawn: list[Json], reports: list[TestReport], reply: Json
) -> None:
    serve, _ = service(lambda _: "x", problem=CODE, sandbox=FakeSandbox(reports=reports))
    assert await serve("UntilAgree", [drawn, 2, 4], {}) == reply


async def test_where_no_tests_are_shown_equal_code_agrees() -> None:
    shown = dataclasses.replace(CODE, visible_tests=())
    serve, _ = service(lambda _: "x", problem=shown)
    result = await serve("UntilAgree", [[code(1), "# again\n" + code(1)], 2, 4], {})
    assert result == {"answer": code(1), "share": 1.0, "agreed": True}


# ----------------------------------------------------------------------------------- until_passed
@pytest.mark.parametrize(
    ("replies", "reports", "most", "wanted"),
    [
        ([1], [PASSES], 3, (1, True)),
        ([1, 2], [FAILS, PASSES], 3, (2, True)),
        ([1, 2, 3], [WORSE, FAILS, WORSE], 3, (2, False)),
        ([1, 2], [FAILS, FAILS], 2, (1, False)),
        ([*range(1, 17)], [FAILS] * 16, 16, (1, False)),
        (["", "I cannot.", 3], [PASSES], 3, (3, True)),
    ],
)
async def test_code_is_written_until_it_passes(
    replies: list[int | str], reports: list[TestReport], most: int, wanted: tuple[int, bool]
) -> None:
    said = [block(reply) if isinstance(reply, int) else reply for reply in replies]
    serve, chat = service(
        lambda request: said[request.draw], problem=CODE, sandbox=FakeSandbox(reports=reports)
    )
    result = await serve("UntilPassed", ["p", "add", most], {})
    assert result == {"solution": code(wanted[0]), "passed": wanted[1]}
    assert [request.draw for request in chat.requests] == list(range(len(replies)))


async def test_without_visible_tests_the_first_code_is_taken_and_has_not_passed() -> None:
    shown = dataclasses.replace(CODE, visible_tests=())
    result, call = await called(
        "UntilPassed", lambda _: block(1), context_problem=shown, problem="p", entry_point="add"
    )
    assert result == {"solution": code(1), "passed": False}
    assert call.llm_calls == 1
    assert "shows no tests" in call.notes[0]


async def test_its_draws_are_those_of_code_that_is_generated_without_an_instruction() -> None:
    serve, chat = service(lambda _: block(1), problem=CODE, sandbox=FakeSandbox(reports=[PASSES]))
    await serve("CustomCodeGenerate", ["p", "add", ""], {})
    await serve("UntilPassed", ["p", "add"], {})
    first, second = chat.requests
    assert first.messages == second.messages
    assert (first.draw, second.draw) == (0, 1)


# ------------------------------------------------------------------------------------------ calls
async def test_a_run_makes_no_more_calls_than_it_may() -> None:
    serve, chat = service(
        lambda _: "Answer: 1", settings=OperatorSettings(max_calls=2), problem=MATH
    )
    for _ in range(2):
        await serve("AnswerGenerate", ["p"], {})
    with pytest.raises(CallLimitError, match="executor call 3 of a run that may make 2"):
        await serve("AnswerGenerate", ["p"], {})
    assert serve.calls[-1].error == "cut off"
    assert len(chat.requests) == 2


def test_expected_tries_by_hand() -> None:
    assert tries(1, 1) == 1
    assert tries(2, 5) == 2 + 1 / 2 + 1 / 4 + 1 / 8
