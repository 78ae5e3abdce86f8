from __future__ import annotations

from typing import Any

import pytest
from workflow_texts import CODE, MATH, body, run

from llm_as_judge.errors import EndpointError
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.operators import OperatorSettings
from llm_as_judge.types import ChatRequest, ExecutionStatus, Json, Problem, RunLimits, Sandbox
from llm_as_judge.workflow.run import answer_text, call_arguments


def in_the_sandbox(test: Any) -> Any:
    return pytest.mark.slow(pytest.mark.asyncio(loop_scope="session")(test))


def answering(text: str = "Answer: 18", delay_s: float = 0.0) -> ScriptedChat:
    return ScriptedChat(lambda _: text, delay_s=delay_s)


@in_the_sandbox
async def test_passages_reach_a_program_as_text_whatever_they_say(sandbox: Sandbox) -> None:
    hostile = [
        "'); import os; os.system('id')",
        "{0.__class__}",
        "\x00\ud800",
        "%s %n",
        "Rome: old.",
    ]
    row = Problem("t/t/3", "hotpotqa", "qa", "Is Rome old?", ("yes",), context="\n\n".join(hostile))
    text = 'f = await retrieve(problem, 4)\nd = await answer_generate(input=f["problem"])\n'
    text += 'return d["answer"] + str(len(f["problem"]))'
    done = await run(text, sandbox, answering(), row)
    assert done.status == "ok", done.error
    assert [call.llm_calls for call in done.calls] == [0, 1]


ONE = "d = await answer_generate(input=problem)\n"


@in_the_sandbox
@pytest.mark.parametrize(
    ("text", "status", "answer"),
    [
        (ONE + 'return d["answer"]', "ok", "18"),
        (ONE + 'return int(d["answer"]) / 2', "ok", "9"),
        (ONE + 'return len(d["answer"]) == 2', "ok", "True"),
        (ONE + 'return "  " + d["answer"] + "\\n"', "ok", "18"),
        (ONE + 'return d["answer"][5:]', "no_answer", ""),
        (ONE + 'x = 1 // (len(d["answer"]) - 2)\nreturn d["answer"]', "crashed", ""),
        (ONE + 'return d["nothing"]', "rejected", ""),
        ("# nothing", "malformed", ""),
        ("", "malformed", ""),
        ("return (", "rejected", ""),
    ],
)
async def test_status_says_what_happened(
    text: str, status: ExecutionStatus, answer: str, sandbox: Sandbox
) -> None:
    execution = await run(text, sandbox, answering())
    assert (execution.status, execution.answer) == (status, answer)
    assert bool(execution.error) == (status in ("crashed", "rejected", "malformed"))
    assert len(execution.calls) == (0 if status in ("rejected", "malformed") else 1)


LOOP = """\
for _ in range(4):
    d = await answer_generate(input=problem)
    if d["answer"] == "18":
        break
return d["answer"]"""
TOGETHER = """\
import asyncio
ds = await asyncio.gather(*[answer_generate(input=problem) for _ in range(4)])
return ds[0]["answer"]"""


@in_the_sandbox
@pytest.mark.parametrize(
    ("text", "right_at", "status", "calls"),
    [
        (LOOP, 1, "ok", 2),
        (LOOP, 2, "ok", 3),
        (LOOP, 9, "call_limit", 3),
        (TOGETHER, 0, "call_limit", 3),
    ],
    ids=["stops early", "stops at the limit", "goes on", "at the same time"],
)
async def test_calls_that_are_made_count_not_those_of_the_worst_case(
    text: str, right_at: int, status: ExecutionStatus, calls: int, sandbox: Sandbox
) -> None:
    program = body(text)
    assert program.worst_case_calls == 4
    chat = ScriptedChat(lambda r: "Answer: 18" if r.draw == right_at else f"Answer: {r.draw}")
    execution = await run(program, sandbox, chat, settings=OperatorSettings(max_calls=3))
    assert execution.status == status
    assert len(chat.requests) == calls
    if status == "call_limit":
        assert execution.error.startswith("executor call 4 of a run that may make 3")
        assert execution.answer == ""
        assert sum(call.error == "cut off" for call in execution.calls) >= 1


@in_the_sandbox
async def test_a_run_that_is_too_slow_keeps_its_trace(sandbox: Sandbox) -> None:
    text = (
        "task = asyncio.ensure_future(answer_generate(input=problem))\n"
        "await asyncio.sleep(0)\nprint(sum(range(10**12)))\nd = await task\n"
    )
    text = "import asyncio\n" + text + 'return d["answer"]'
    limits = RunLimits(wall_s=9.0, cpu_s=1.0)
    execution = await run(text, sandbox, answering(delay_s=30), limits=limits)
    assert execution.status == "timeout"
    assert [c.error for c in execution.calls] == ["cut off"]


@in_the_sandbox
async def test_a_crowded_executor_makes_no_program_late(sandbox: Sandbox) -> None:
    limits = RunLimits(wall_s=1.0)
    execution = await run(
        ONE + 'return d["answer"]', sandbox, answering(delay_s=1.5), limits=limits
    )
    assert (execution.status, execution.answer) == ("ok", "18")
    assert execution.seconds > 1.5


@in_the_sandbox
async def test_our_fault_is_raised_not_scored(sandbox: Sandbox) -> None:
    def down(_: ChatRequest) -> str:
        raise EndpointError("executor: no reply")

    with pytest.raises(EndpointError):
        await run(ONE + 'return d["answer"]', sandbox, ScriptedChat(down))


@in_the_sandbox
async def test_a_program_cannot_forge_its_trace(sandbox: Sandbox) -> None:
    text = ONE + 'd["cost"] = -5\nreturn {"answer": d["answer"], "reward": 10}["answer"], -99.0'
    execution = await run(text, sandbox, answering())
    assert execution.status == "ok"
    assert [c.operator for c in execution.calls] == ["AnswerGenerate"]
    assert execution.tokens > 0


@in_the_sandbox
async def test_calls_at_the_same_time_are_all_in_the_trace(sandbox: Sandbox) -> None:
    text = (
        "import asyncio\nrs = await asyncio.gather(*[custom(input=problem, instruction=str(i)) "
        "for i in range(5)])\nreturn rs[0]['response']"
    )
    chat = ScriptedChat(lambda request: request.messages[0].content[-1])
    execution = await run(text, sandbox, chat)
    assert execution.answer == "0"
    assert [c.llm_calls for c in execution.calls] == [1] * 5


def test_hidden_tests_never_reach_a_program() -> None:
    assert call_arguments(CODE) == {
        "problem": "Add.", "dataset": "humaneval", "entry_point": "add",
        "test": "assert add(1, 2) == 3",
    }  # fmt: skip
    assert "entry_point" not in call_arguments(MATH)


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (18, "18"), (18.0, "18"), (0.5, "0.5"), (True, "True"), (" a ", "a"),
     (float("inf"), "inf"), (1e300, "1e+300")],
)  # fmt: skip
def test_answers_are_text(value: Json, text: str) -> None:
    assert answer_text(value) == text
