"""Each operator's work, and the faults that earlier implementations had."""

from __future__ import annotations

from typing import Any

import pytest
from operator_fakes import CODE, MATH, FakeSandbox, called, service

from llm_as_judge.llm.scripted import Answers, ScriptedChat
from llm_as_judge.operators import ExecutionContext, OperatorService, OperatorSettings, registry
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.types import (
    ChatRequest,
    Json,
    OperatorCall,
    Problem,
    RunLimits,
    SandboxResult,
    TestReport,
)

SOLVE = "```python\ndef solve():\n    return 18\n```"


# ------------------------------------------------------------------------------- AnswerGenerate
@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("9 + 9 = 18\nAnswer: 18", "18"),
        ("**Answer:** 18", "18"),
        ("Thought: add\nAnswer: 18", "18"),
        ("<thought>add</thought>\n<answer>18</answer>", "18"),
        ("Answer: 17\nNo, wait.\nAnswer: 18", "18"),
        ("So the result is \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}"),
        ("Thought: 9 + 9 is 18. Answer: 18", "18"),
        ("18", "18"),
        ("First add.\n18", "18"),
        ("<think>long</think>Answer: 18", "18"),
    ],
)
async def test_answer_is_read_in_the_forms_that_models_use(reply: str, answer: str) -> None:
    result, call = await called("AnswerGenerate", lambda _: reply, input="p")
    assert result["answer"] == answer
    assert call.error == ""


# --------------------------------------------------------------------------------------- Review
@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Result: False\nFeedback: wrong", False),
        ("Result: True\nFeedback: right", True),
        ("<review_result>false</review_result><feedback>no</feedback>", False),
        ("review_result: false", False),
        ("No, it is incorrect.", False),
        ("Yes.", True),
        ("Not correct", False),
    ],
)
async def test_review_result_is_a_boolean(reply: str, verdict: bool) -> None:
    result, _ = await called("Review", lambda _: reply, problem="p", solution="s")
    assert result["review_result"] is verdict
    assert result["feedback"]


# ------------------------------------------------------------------------------------ ensembles
@pytest.mark.parametrize(
    "reply", ["B", "B.", "(B)", " b ", "**B**", "Solution B", "The answer is B.", "B: it fits",
              "<solution_letter>B</solution_letter>", "Answer: B", "two"]
)  # fmt: skip
async def test_a_vote_is_read_in_every_form(reply: str) -> None:
    result, call = await called(
        "ScEnsemble", lambda _: reply, solutions=["one", "two", "three"], problem="p"
    )
    assert result == {"response": "two"}
    assert call.error == ""


@pytest.mark.parametrize("reply", ["", "Z", "A or B", "I think so", "none"])
async def test_a_vote_that_names_no_solution_is_an_error(reply: str) -> None:
    result, call = await called(
        "ScEnsemble", lambda _: reply, solutions=["one", "two"], problem="p"
    )
    assert result == {"response": ""}
    assert call.error


@pytest.mark.parametrize("operator", ["ScEnsemble", "MdEnsemble"])
@pytest.mark.parametrize(
    ("solutions", "chosen", "error"),
    [
        (["18", " 18 ", ""], "18", ""),
        ([], "", "no solution to choose from"),
        (["", " "], "", "no solution to choose from"),
    ],
)
async def test_agreement_needs_no_vote(
    operator: str, solutions: list[Json], chosen: str, error: str
) -> None:
    result, call = await called(operator, [], solutions=solutions, problem="p")
    assert (list(result.values()), call.error, call.llm_calls) == ([chosen], error, 0)


async def test_equal_solutions_are_shown_once_with_their_number() -> None:
    serve, chat = service(lambda _: "A")
    await serve("ScEnsemble", [["7", "8", "7"], "p"], {})
    prompt = chat.requests[0].messages[0].content
    assert "A (given 2 times): 7\nB: 8" in prompt


async def test_five_votes_decide_by_majority_over_shuffled_lists() -> None:
    def vote(request: ChatRequest) -> str:
        shown = request.messages[0].content
        return next(line[0] for line in shown.splitlines() if line.endswith(": right"))

    serve, chat = service(vote)
    solutions: list[Json] = ["wrong", "right", "other", "fourth"]
    assert await serve("MdEnsemble", [solutions, "p"], {}) == {"solution": "right"}
    assert len({r.messages[0].content for r in chat.requests}) > 1
    assert serve.calls[0].llm_calls == 5


async def test_votes_that_cannot_be_read_do_not_count() -> None:
    replies = iter(["?", "", "??", "A", "?"])
    result, call = await called(
        "MdEnsemble", lambda _: next(replies), solutions=["1", "2"], problem="p"
    )
    assert result["solution"] in ("1", "2")
    assert call.notes == ("4 votes could not be read",)


PLUS = "def plus(a, b):\n    return a + b"
PAIR: dict[str, Any] = {"solutions": ["1", "2"], "problem": "p"}
FUNCTION: dict[str, Any] = {"problem": "p", "entry_point": "add", "instruction": ""}


@pytest.mark.parametrize(
    ("operator", "reply", "arguments", "result", "said"),
    [
        ("AnswerGenerate", "Thought: add.\nAnswer:", {"input": "p"},
         {"thought": "add.", "answer": ""}, "no answer in the reply"),
        ("Review", "Hm.", {"problem": "p", "solution": "s"},
         {"review_result": False, "feedback": ""}, "the review says neither true nor false"),
        ("MdEnsemble", "?", PAIR, {"solution": ""}, "none of 5 votes names a solution"),
        ("ScEnsemble", "AD", {**PAIR, "solutions": [f"option {i}" for i in range(30)]},
         {"response": "option 29"}, ""),
        ("CustomCodeGenerate", f"```python\n{PLUS}\n```", FUNCTION, {"response": PLUS},
         "no function add in the code, found plus"),
        ("CustomCodeGenerate", "```sh\npip install x\n```\n```python\ndef add(a, b): pass\n```",
         FUNCTION, {"response": "def add(a, b): pass"}, ""),
    ],
)  # fmt: skip
async def test_what_an_operator_makes_of_a_reply_and_says_of_it(
    operator: str, reply: str, arguments: dict[str, Any], result: dict[str, Json], said: str
) -> None:
    made, call = await called(operator, lambda _: reply, **arguments)
    assert made == result
    assert call.error + "".join(call.notes) == said


# ------------------------------------------------------------------------------------ Programmer
@pytest.mark.parametrize("reply", [SOLVE, "def solve():\n    return 18"], ids=["block", "bare"])
async def test_programmer_runs_what_it_wrote(reply: str) -> None:
    sandbox = FakeSandbox([SandboxResult("ok", "18")])
    result, call = await called("Programmer", lambda _: reply, sandbox=sandbox, problem="p")
    assert result == {"code": "def solve():\n    return 18", "output": "18"}
    assert (call.llm_calls, call.error) == (1, "")


async def test_programmer_mends_with_the_error_and_stops_after_three() -> None:
    failing = SandboxResult("error", error="ZeroDivisionError: division by zero")
    sandbox = FakeSandbox([failing] * 3)
    serve, chat = service(lambda _: SOLVE, sandbox=sandbox)
    result = await serve("Programmer", ["p"], {})
    assert result == {"code": "def solve():\n    return 18", "output": ""}
    assert "ZeroDivisionError" in chat.requests[1].messages[0].content
    assert serve.calls[0].error == "after 3 programs: ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("code", "first", "told"),
    [
        (SOLVE, SandboxResult("timeout", error="ran longer than 10 s"), "longer than 10 s"),
        (SOLVE, SandboxResult("ok", None), "returned None"),
        (SOLVE, SandboxResult("ok", " "), "empty text"),
        (SOLVE, SandboxResult("died"), "died"),
        ("```python\nx = 18\n```", SandboxResult("ok"),
         "the source defines no function 'solve' and prints nothing"),
    ],
)  # fmt: skip
async def test_programmer_tells_the_model_what_went_wrong(
    code: str, first: SandboxResult, told: str
) -> None:
    replies = iter([code, SOLVE])
    sandbox = FakeSandbox([first, SandboxResult("ok", "1")])
    serve, chat = service(lambda _: next(replies), sandbox=sandbox)
    result = await serve("Programmer", ["p"], {})
    assert result == {"code": "def solve():\n    return 18", "output": "1"}
    assert told in chat.requests[1].messages[0].content


@pytest.mark.parametrize(
    "code",
    [
        "print(18)",
        "from sympy import solve\nprint(9 + 9)",
        "def answer():\n    solve = 1\n    return 1",
    ],
)
async def test_programmer_takes_what_a_script_prints_last(code: str) -> None:
    sandbox = FakeSandbox([SandboxResult("ok", output="so:\n 18 \n")])
    reply = f"```python\n{code}\n```"
    result, call = await called("Programmer", lambda _: reply, sandbox=sandbox, problem="p")
    assert result["output"] == "18"
    assert call.error == ""
    assert "no function solve: the output is what the code printed last" in call.notes
    assert sandbox.called == [None]


@pytest.mark.parametrize(
    "code", ["def solve(): return 18", "solve = lambda: 18", "class solve: pass"]
)
async def test_programmer_calls_a_solve_of_its_own(code: str) -> None:
    sandbox = FakeSandbox([SandboxResult("ok", "18", output="noise")])
    reply = f"```python\n{code}\n```"
    result, _ = await called("Programmer", lambda _: reply, sandbox=sandbox, problem="p")
    assert (result["output"], sandbox.called) == ("18", ["solve"])


# ------------------------------------------------------------------------------------------ code
async def test_without_visible_tests_nothing_has_passed() -> None:
    sandbox = FakeSandbox()
    result, call = await _test_call([], sandbox, MATH)
    assert result["result"] is False
    assert sandbox.sources == []
    assert "no tests" in call.notes[0]


async def _test_call(
    answers: Answers, sandbox: FakeSandbox, problem: Problem = CODE
) -> tuple[dict[str, Json], OperatorCall]:
    serve, _ = service(answers, problem=problem, sandbox=sandbox)
    result = await serve("Test", ["p", "def add(a, b): return 0", "add"], {})
    assert isinstance(result, dict)
    return result, serve.calls[0]


async def test_only_visible_tests_are_run() -> None:
    sandbox = FakeSandbox(reports=[TestReport(True, 1)])
    result, call = await _test_call([], sandbox)
    assert result == {"result": True, "solution": "def add(a, b): return 0"}
    assert sandbox.tests == [CODE.visible_tests]
    assert call.llm_calls == 0


async def test_a_failure_is_reflected_on_three_times_at_most() -> None:
    sandbox = FakeSandbox(reports=[TestReport(False, 1, (0,), "AssertionError")] * 4)
    written = "```python\ndef add(a, b):\n    return 1\n```"
    result, call = await _test_call(lambda _: written, sandbox)
    assert result == {"result": False, "solution": "def add(a, b):\n    return 1"}
    assert (call.llm_calls, len(sandbox.sources)) == (3, 2)  # equal code is tested once


async def test_a_mended_solution_passes() -> None:
    sandbox = FakeSandbox(
        reports=[TestReport(False, 1, (0,), "AssertionError"), TestReport(True, 1)]
    )
    written = "```python\ndef add(a, b):\n    return a + b\n```"
    serve, chat = service(lambda _: written, problem=CODE, sandbox=sandbox)
    result = await serve("Test", ["p", "def add(a, b): return 0", "add"], {})
    assert result == {"result": True, "solution": "def add(a, b):\n    return a + b"}
    prompt = chat.requests[0].messages[0].content
    assert "assert add(1, 2) == 3" in prompt
    assert "add(2, 2)" not in prompt


# -------------------------------------------------------------------------------- in the sandbox
@pytest.mark.slow
async def test_programmer_and_test_work_in_a_real_sandbox() -> None:
    sandbox = await open_sandbox("subprocess", list(registry()))
    loops = "```python\ndef solve():\n    while True: pass\n```"
    leaves = "```python\nimport sys\ndef add(a, b):\n    sys.exit(0)\n```"
    replies = {"This program failed": SOLVE, "solve()": loops, "fails its test": leaves}
    settings = OperatorSettings(code_limits=RunLimits(wall_s=3.0, cpu_s=1.0))
    try:
        context = ExecutionContext(ScriptedChat(replies), sandbox, CODE, settings)
        serve = OperatorService(registry(), context)
        solved = await serve("Programmer", ["p"], {})
        assert solved == {"code": "def solve():\n    return 18", "output": "18"}
        tested = await serve("Test", ["p", "def add(a, b): return 0", "add"], {})
        assert isinstance(tested, dict)
        assert tested["result"] is False
    finally:
        await sandbox.aclose()
