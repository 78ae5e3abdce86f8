"""The contract of operators.md: all keys always, booleans are booleans, nothing raises for what
the executor wrote."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from operator_fakes import ARGUMENTS, CODE, MATH, STOPS, FakeSandbox, called, service

from llm_as_judge.errors import ContextError, EndpointError, SandboxError
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.llm.shared import OffsetDraws
from llm_as_judge.operators import ExecutionContext, OperatorService, OperatorSettings, registry
from llm_as_judge.operators.rehearsal import rehearsed_reply
from llm_as_judge.types import ChatRequest, Execution, Json, SandboxResult, TestReport, from_json

OLD_CALL = {"operator": "Custom", "prompt_tokens": 100, "completion_tokens": 30, "llm_calls": 2}

OPERATORS = sorted(ARGUMENTS)
ASKING = sorted(ARGUMENTS.keys() - {"Retrieve", "UntilAgree", "UntilWorth", "Vote"})
"""Those that ask the executor themselves."""

TABLE = {
    "Custom": (["input", "instruction"], ["response"], 1),
    "AnswerGenerate": (["input"], ["thought", "answer"], 1),
    "CustomCodeGenerate": (["problem", "entry_point", "instruction"], ["response"], 1),
    "ScEnsemble": (["solutions", "problem"], ["response"], 1),
    "MdEnsemble": (["solutions", "problem"], ["solution"], 5),
    "Programmer": (["problem", "analysis"], ["code", "output"], 3),
    "Test": (["problem", "solution", "entry_point"], ["result", "solution"], 3),
    "Format": (["problem", "solution"], ["solution"], 1),
    "Review": (["problem", "solution"], ["review_result", "feedback"], 1),
    "Revise": (["problem", "solution", "feedback"], ["solution"], 1),
}
OF_THE_HOST = {
    "Retrieve": (["problem", "keep"], ["problem"], 0),
    "UntilAgree": (["ways", "agree", "most"], ["answer", "share", "agreed"], 0),
    "UntilPassed": (["problem", "entry_point", "most"], ["solution", "passed"], 3),
    "UntilWorth": (["ways", "most"], ["answer", "share", "draws"], 0),
    "Vote": (["solutions"], ["answer", "share"], 0),
}


def broken_sandbox() -> FakeSandbox:
    return FakeSandbox(
        [SandboxResult("error", error="NameError: x")] * 4, [TestReport(False, 1, (0,), "no")] * 5
    )


def test_names_arguments_keys_and_bounds_are_those_of_aflow() -> None:
    found = {
        name: (
            [a.name for a in entry.arguments],
            list(entry.empty),
            entry.operator.worst_case_calls,
        )
        for name, entry in registry().items()
    }
    assert found == {**TABLE, **OF_THE_HOST}


REPLIES = {
    "empty": "",
    "blank": " \n\t ",
    "garbage": "]}{;; \x00 <answer",
    "braces": "{'answer': {problem}} {0} {} %s ${x}",
    "latex": r"\boxed{\frac{1}{2}} and \begin{cases} a \end{cases}",
    "open fence": "```python\ndef solve(:",
    "wrong letter": "Z",
    "prose": "I am not sure about that at all.",
    "thinking only": "<think>hm",
    "huge": "x" * 300_000,
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
@pytest.mark.parametrize("operator", OPERATORS)
async def test_every_key_is_there_whatever_the_executor_writes(operator: str, reply: str) -> None:
    result, call = await called(
        operator,
        lambda _: reply,
        context_problem=CODE,
        sandbox=broken_sandbox(),
        **ARGUMENTS[operator],
    )
    entry = registry()[operator]
    assert list(result) == list(entry.empty)
    for key, empty in entry.empty.items():
        assert type(result[key]) is type(empty)
    assert call.llm_calls <= entry.operator.worst_case_calls
    assert call.error or reply or operator not in ASKING


@given(st.text(max_size=200))
def test_no_reply_makes_an_operator_raise(reply: str) -> None:
    async def all_of_them() -> None:
        for operator in OPERATORS:
            await called(
                operator,
                lambda _: reply,
                context_problem=CODE,
                sandbox=broken_sandbox(),
                **ARGUMENTS[operator],
            )

    asyncio.run(all_of_them())


@pytest.mark.parametrize("operator", OPERATORS)
async def test_arguments_by_position_equal_arguments_by_name(operator: str) -> None:
    values = list(ARGUMENTS[operator].values())
    replies = []
    for args, kwargs in ((values, {}), ([], ARGUMENTS[operator])):
        serve, chat = service(lambda _: "Answer: A", problem=CODE, sandbox=broken_sandbox())
        await serve(operator, args, kwargs)
        replies.append(chat.requests)
    assert replies[0] == replies[1]


@pytest.mark.parametrize(
    ("args", "kwargs", "wanted"),
    [
        ([], {}, "misses argument 'input'"),
        (["a", "b"], {}, "takes 1 arguments, 2"),
        ([], {"input": "a", "mode": "x"}, "no argument 'mode'"),
        (["a"], {"input": "a"}, "'input' twice"),
    ],
)
async def test_wrong_arguments_raise_at_the_call(
    args: list[Json], kwargs: dict[str, Json], wanted: str
) -> None:
    serve, _ = service(lambda _: "Answer: 1")
    with pytest.raises(TypeError, match=wanted):
        await serve("AnswerGenerate", args, kwargs)
    assert serve.calls == ()


@pytest.mark.parametrize("name", ["__class__", "Nothing", "", "operator.Custom"])
async def test_unknown_operators_raise(name: str) -> None:
    serve, _ = service(lambda _: "x")
    with pytest.raises(TypeError, match="no operator"):
        await serve(name, [], {})


@pytest.mark.parametrize(
    "value", [{"answer": "x"}, ["x"], [["x"]]], ids=["dict", "list", "nested list"]
)
async def test_a_text_argument_of_another_type_is_an_error_not_a_call(value: Json) -> None:
    result, call = await called("AnswerGenerate", lambda _: "Answer: 1", input=value)
    assert result == {"thought": "", "answer": ""}
    assert "a text was wanted" in call.error
    assert call.llm_calls == 0


@pytest.mark.parametrize("value", ["abc", 3, {"a": "b"}, None, ["a"] * 65, [{"a": 1}]])
async def test_solutions_must_be_a_list_of_texts(value: Json) -> None:
    result, call = await called("ScEnsemble", lambda _: "A", solutions=value, problem="p")
    assert result == {"response": ""}
    assert call.error
    assert call.llm_calls == 0


async def test_numbers_and_none_are_taken_as_text() -> None:
    result, _ = await called("ScEnsemble", lambda _: "B", solutions=[1, 2.5, None], problem=7)
    assert result == {"response": "2.5"}


async def test_an_argument_that_is_too_long_is_refused() -> None:
    _, call = await called("AnswerGenerate", lambda _: "Answer: 1", input="x" * 200_001)
    assert "at most 200000" in call.error


@pytest.mark.parametrize("operator", [name for name in ASKING if name != "Test"])
async def test_our_faults_pass_through_and_a_text_too_long_is_an_empty_value(operator: str) -> None:
    def down(_: ChatRequest) -> str:
        raise EndpointError("down")

    def too_long(_: ChatRequest) -> str:
        raise ContextError("executor m: too_long: 9000 tokens do not fit 4096 (1 try)")

    with pytest.raises(EndpointError):
        await called(operator, down, **ARGUMENTS[operator])
    result, call = await called(operator, too_long, **ARGUMENTS[operator])
    assert result == dict(registry()[operator].empty)
    said = "none of 5 votes" if operator == "MdEnsemble" else "does not take this request"
    assert said in call.error
    assert call.llm_calls == 0


async def test_a_broken_sandbox_is_our_fault() -> None:
    class BrokenSandbox(FakeSandbox):
        async def run_function(self, *args: object) -> SandboxResult:
            raise SandboxError("no child")

    written = "```python\ndef solve(): pass\n```"
    with pytest.raises(SandboxError):
        await called("Programmer", lambda _: written, sandbox=BrokenSandbox(), problem="p")


async def test_calls_are_billed_to_their_operator() -> None:
    serve, chat = service(lambda _: "Answer: 1")
    await serve("AnswerGenerate", ["a"], {})
    await serve("Custom", ["a", "b"], {})
    await serve("Custom", ["c", "d"], {})
    assert {name: sums.calls for name, sums in chat.ledger.by_operator.items()} == {
        "AnswerGenerate": 1,
        "Custom": 2,
    }


async def test_the_trace_counts_tokens_calls_and_cost_of_its_own_execution_only() -> None:
    chat = ScriptedChat(lambda r: "Answer: " + r.messages[0].content[0] * 8, delay_s=0.001)

    def fresh() -> OperatorService:
        context = ExecutionContext(chat, FakeSandbox(), MATH, OperatorSettings())
        return OperatorService(registry(), context)

    services = [fresh() for _ in range(8)]
    await asyncio.gather(
        *(s("AnswerGenerate", ["x" * 40 * (i + 1)], {}) for i, s in enumerate(services))
    )
    calls = [s.calls for s in services]
    assert [len(c) for c in calls] == [1] * 8
    tokens = [c[0].prompt_tokens for c in calls]
    assert [b - a for a, b in itertools.pairwise(tokens)] == [10] * 7
    assert all(c[0].completion_tokens == 4 and c[0].cost_usd is None for c in calls)


@pytest.mark.parametrize(
    ("temperature", "prompts", "asked"),
    [
        (0.0, "aab", [(0, 0.0, 5), (1, 0.7, 6), (0, 0.0, 5)]),
        (0.4, "aaa", [(0, 0.4, 5), (1, 0.4, 6), (2, 0.4, 7)]),
    ],
    ids=["one answer first", "samples of one distribution"],
)
async def test_draws_count_equal_prompts_of_one_execution(
    temperature: float, prompts: str, asked: list[tuple[int, float, int]]
) -> None:
    settings = OperatorSettings(temperature=temperature, seed=5)
    serve, chat = service(lambda _: "Answer: 1", settings=settings)
    for prompt in prompts:
        await serve("AnswerGenerate", [prompt], {})
    assert [(r.draw, r.temperature, r.seed) for r in chat.requests] == asked


async def test_operators_that_judge_mend_or_shorten_keep_to_the_steady_temperature() -> None:
    drafting = {name for name, entry in registry().items() if entry.operator.drafts}
    writes_code = {"CustomCodeGenerate", "Programmer", "UntilPassed"}
    assert drafting == {"Custom", "AnswerGenerate", *writes_code}
    for operator, values in ARGUMENTS.items():
        sandbox = FakeSandbox(
            reports=[TestReport(False, 1, (0,), "wrong")] * 5,
            functions=[SandboxResult("ok", "1")] * 5,
        )
        settings = OperatorSettings(temperature=0.7, steady_temperature=0.1, stop=STOPS)
        serve, chat = service(
            lambda _: "```python\ndef solve():\n    return 1\n```",
            problem=CODE,
            sandbox=sandbox,
            settings=settings,
        )
        await serve(operator, [], dict(values))
        wanted = 0.7 if operator in drafting else 0.1  # some ask nobody
        assert {r.temperature for r in chat.requests} <= {wanted}


async def test_a_prompt_of_an_execution_costs_once_and_every_written_token_costs() -> None:
    serve, _ = service(lambda _: "Answer: 1", settings=OperatorSettings(prompt_price=0.5))
    for text in ("a", "a", "b" * 40):
        await serve("AnswerGenerate", [text], {})
    first, again, other = serve.calls
    assert first.cost == 0.5 * first.prompt_tokens + first.completion_tokens
    assert again.cost == again.completion_tokens
    assert other.cost == 0.5 * other.prompt_tokens + other.completion_tokens
    assert first.prompt_tokens == again.prompt_tokens > 0  # tokens, all alike, count it twice


async def test_at_every_offset_a_prompt_costs_the_same() -> None:
    costs = []
    for offset in (0, 3):
        chat = OffsetDraws(ScriptedChat(lambda _: "Answer: 1"), offset)
        context = ExecutionContext(chat, FakeSandbox(), MATH, OperatorSettings(temperature=0.7))
        serve = OperatorService(registry(), context)
        for _ in range(2):
            await serve("AnswerGenerate", ["a"], {})
        costs.append([call.cost for call in serve.calls])
    assert costs[0] == costs[1]


def test_a_call_of_an_older_file_costs_its_prompts_as_often_as_they_were_asked() -> None:
    old = from_json(Execution, {"status": "ok", "calls": [{**OLD_CALL}]})
    assert old.cost == 100 / 4 + 30
    assert Execution("ok").cost == 0


async def test_a_data_set_of_longer_solutions_has_longer_replies() -> None:
    settings = OperatorSettings(max_tokens=160, max_tokens_of={"math": 768})
    asked = []
    for dataset in ("math", "gsm8k"):
        serve, chat = service(
            lambda _: "Answer: 1", problem=replace(MATH, dataset=dataset), settings=settings
        )
        await serve("AnswerGenerate", ["a"], {})
        asked += [r.max_tokens for r in chat.requests]
    assert asked == [768, 160]


async def test_a_cut_off_call_says_so() -> None:
    context = ExecutionContext(
        ScriptedChat(lambda _: "x", delay_s=10), FakeSandbox(), MATH, OperatorSettings()
    )
    serve = OperatorService(registry(), context)
    task = asyncio.ensure_future(serve("AnswerGenerate", ["a"], {}))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    (call,) = serve.calls
    assert (call.error, call.llm_calls) == ("cut off", 0)


AGREED = ("2 of 3 draws agree",)
NOTES = {"Retrieve": ("no passages",), "UntilAgree": AGREED, "UntilWorth": AGREED}
"""What is noted of the replies, up to a colon, by operator."""


@pytest.mark.parametrize("operator", sorted(registry()))
async def test_every_operator_can_read_its_rehearsed_reply(operator: str) -> None:
    results = []
    for _ in range(2):
        sandbox = FakeSandbox(
            [SandboxResult("ok", "7")] * 6, [TestReport(False, 1, (0,)), *[TestReport(True, 1)] * 5]
        )
        serve, _ = service(rehearsed_reply, problem=CODE, sandbox=sandbox)
        results.append(await serve(operator, [], ARGUMENTS[operator]))
        (call,) = serve.calls
        notes = tuple(note.partition(":")[0] for note in call.notes)
        assert (call.error, notes) == ("", NOTES.get(operator, ()))
    assert results[0] == results[1]
    assert "" not in list(results[0].values())  # type: ignore[union-attr]
