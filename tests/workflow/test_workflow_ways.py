"""Programs that vote and draw, run in a sandbox: what they cost, what they give, what they cannot do."""

from __future__ import annotations

import pytest
from workflow_texts import CODE, MATH, body, run

from llm_as_judge.errors import BudgetError
from llm_as_judge.grading.equality import GradersEquality
from llm_as_judge.llm.ledger import Budget, Ledger
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.llm.shared import OffsetDraws, SharedDraws
from llm_as_judge.operators import OperatorSettings
from llm_as_judge.operators.base import StopSettings
from llm_as_judge.operators.stopping import FEATURES, StopRule, StopTable
from llm_as_judge.types import DOMAINS, ChatModel, ChatRequest, Execution, Problem, Program, Sandbox

pytestmark = pytest.mark.asyncio(loop_scope="session")


def unchecked(text: str) -> Program:
    """The program as it is: what the check would refuse must not harm the host either."""
    return Program(text, text)


async def run_graded(
    program: Program | str, sandbox: Sandbox, chat: ChatModel, problem: Problem = MATH
) -> Execution:
    equality = GradersEquality()
    try:
        return await run(program, sandbox, chat, problem, equality=equality)
    finally:
        await equality.aclose()


def drawing(*answers: str) -> ScriptedChat:
    """Gives these answers in the order of the draws."""
    return ScriptedChat(lambda request: f"Answer: {answers[request.draw]}")


TWO = """best = await until_agree(ways=[lambda: answer_generate(input=problem)], agree=2, most=4)
return best["answer"] + " " + str(best["agreed"])"""


@pytest.mark.parametrize(
    ("answers", "answer", "calls"),
    [
        (["18", "18.0"], "18 True", 2),
        (["17", "$18", "18"], "$18 True", 3),
        (["17", "18", "19", "20"], "17 False", 4),
    ],
)
async def test_draws_end_when_enough_agree(
    answers: list[str], answer: str, calls: int, sandbox: Sandbox
) -> None:
    program = body(TWO)
    assert (program.worst_case_calls, program.expected_calls) == (4, 2.75)
    chat = drawing(*answers)
    execution = await run_graded(program, sandbox, chat)
    assert (execution.status, execution.answer) == ("ok", answer)
    assert [request.draw for request in chat.requests] == list(range(calls))
    *drawn, voted = execution.calls  # one entry for all that was asked of the host
    assert [call.operator for call in drawn] == ["AnswerGenerate"] * calls
    assert (voted.operator, voted.llm_calls, voted.error) == ("UntilAgree", 0, "")
    assert voted.notes[0].endswith(f"of {calls} draws agree")


async def test_ways_are_taken_in_turn(sandbox: Sandbox) -> None:
    text = """
async def short():
    reply = await custom(input=problem, instruction="Short.")
    return reply["response"]

best = await until_agree([short, lambda: answer_generate(input=problem)], 3, 5)
return best["answer"]
"""
    chat = ScriptedChat(
        lambda r: f"Answer: {r.draw}" if "Thought:" in r.messages[0].content else "1"
    )
    execution = await run_graded(text, sandbox, chat)
    assert (execution.status, execution.answer) == ("ok", "1")
    asked = ["Short." in request.messages[0].content for request in chat.requests]
    assert asked == [True, False, True, False]


async def test_code_until_passed_runs_the_visible_tests_alone(sandbox: Sandbox) -> None:
    text = "code = await until_passed(problem, entry_point)\nreturn code['solution']"
    sources = ["def add(a, b):\n    return a", "def add(a, b):\n    return a + b"]
    chat = ScriptedChat(lambda request: f"```python\n{sources[request.draw]}\n```")
    program = body(text, "code")
    assert (program.worst_case_calls, program.expected_calls) == (3, 1.75)
    execution = await run_graded(program, sandbox, chat, CODE)
    assert (execution.status, execution.answer) == ("ok", sources[1])
    assert len(chat.requests) == 2


@pytest.mark.parametrize("wrapped", ["shared", "own"])
async def test_a_repeated_call_gets_the_next_draw(wrapped: str, sandbox: Sandbox) -> None:
    text = """a = await answer_generate(input=problem)
b = await answer_generate(input=problem)
c = await answer_generate(input=problem)
return a["answer"] + b["answer"] + c["answer"]"""
    program = body(text)
    chat = drawing("1", "2", "3")
    asked: list[ChatModel] = [
        SharedDraws(chat, Ledger()) if wrapped == "shared" else OffsetDraws(chat, 0)
    ]
    for _ in range(2):  # a second program of the group shares the draws, in the same order
        execution = await run_graded(program, sandbox, asked[0])
        assert execution.answer == "123"
    calls = 3 if wrapped == "shared" else 6
    assert [request.draw for request in chat.requests] == [0, 1, 2] * (calls // 3)
    assert all(request.temperature > 0 for request in chat.requests if request.draw)


# ---------------------------------------------------------------------------------------- attacks
HEAD = """class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.llm = create_llm_instance(llm_config)
        self.ask = operator.AnswerGenerate(self.llm)
        self.vote = operator.Vote(self.llm)
        self.until_agree = operator.UntilAgree(self.llm)
        self.until_passed = operator.UntilPassed(self.llm)

    async def __call__(self, problem):
"""
ATTACKS = {
    "evil equality": """
        class Evil(str):
            def __eq__(self, other): raise SystemExit
            def __hash__(self): return 1
        best = await self.vote(solutions=[Evil("1"), Evil("2"), Evil("1")])
        return best["answer"], 0.0""",
    "huge list": """
        best = await self.vote(solutions=["1"] * 100000)
        return "kept " + best["answer"], 0.0""",
    "huge texts": """
        best = await self.vote(solutions=["\\\\boxed{" * 20000] * 3 + ["(" * 190000])
        return "kept " + best["answer"][:1], 0.0""",
    "endless list": """
        class Endless(list):
            def __iter__(self):
                while True: yield "1"
        best = await self.vote(solutions=Endless(["1"]))
        return best["answer"], 0.0""",
    "objects": """
        best = await self.vote(solutions=[object(), 1, None])
        return best["answer"], 0.0""",
    "cycle": """
        xs = []
        xs.append(xs)
        best = await self.vote(solutions=xs)
        return best["answer"], 0.0""",
    "way calls itself": """
        async def way():
            return await self.until_agree(ways=[way])
        best = await self.until_agree(ways=[way])
        return best["answer"], 0.0""",
    "way without end": """
        def way():
            while True: pass
        best = await self.until_agree(ways=[way])
        return best["answer"], 0.0""",
    "way of itself": """
        best = await self.until_agree(ways=[self.until_agree])
        return best["answer"], 0.0""",
    "way that empties the ways": """
        ways = []
        ways.append(lambda: ways.clear())
        best = await self.until_agree(ways=ways)
        return best["answer"], 0.0""",
    "many draws": """
        best = await self.until_agree(ways=[lambda: "1"], agree=10**9, most=10**9)
        return "kept " + best["answer"], 0.0""",
    "forged number of draws": """
        best = await self.until_agree(ways=[{"more": 10**9}, {"more": "x"}])
        return "kept " + best["answer"], 0.0""",
    "deep": """
        deep = "1"
        for _ in range(5000): deep = [deep]
        best = await self.until_agree(ways=[lambda: deep])
        return best["answer"], 0.0""",
    "no way": """
        best = await self.until_agree(ways=[len, print])
        return best["answer"], 0.0""",
}
ENDS = {
    "evil equality": ("ok", "1"),
    "huge list": ("ok", "kept"),
    "huge texts": ("ok", "kept \\"),
    "many draws": ("ok", "kept"),
    "way without end": ("timeout", ""),
}
"""Any other is an error in the program, as if a function of its own had raised."""
EITHER = {"endless list": {("crashed", ""), ("timeout", "")}}
"""The memory's limit or the clock's: which comes first is the machine's matter."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ATTACKS)
async def test_no_program_harms_the_host_by_what_it_votes_on(name: str, sandbox: Sandbox) -> None:
    chat = drawing(*["1"] * 40)
    execution = await run_graded(unchecked(HEAD + ATTACKS[name].strip("\n")), sandbox, chat)
    ends = EITHER.get(name) or {ENDS.get(name, ("crashed", ""))}
    assert (execution.status, execution.answer) in ends
    after = await run_graded(TWO, sandbox, chat)
    assert after.answer == "1 True"


async def test_what_a_program_can_say_is_never_more_than_a_vote_among_its_own_texts(
    sandbox: Sandbox,
) -> None:
    text = (
        HEAD
        + """
        best = await self.vote(solutions=["17", "18 eggs", "'; import os", "17.0"])
        return best["answer"], 0.0"""
    )

    def refuse(_: ChatRequest) -> str:
        raise AssertionError("a vote asks nobody")

    execution = await run_graded(unchecked(text), sandbox, ScriptedChat(refuse))
    assert (execution.status, execution.answer) == ("ok", "17")  # the gold is 18


# ------------------------------------------------------------------------------- the learned stop
QA = Problem("t/t/2", "mine", "qa", "Who?", ("Ada",), context="\n\n".join(["Ada: x", "Bob: y"] * 9))
ALWAYS = (1.0, *[0.0] * len(FEATURES))
NEVER = (-1.0, *[0.0] * len(FEATURES))
WORTH = body(
    "best = await until_worth(ways=[lambda: answer_generate(input=problem)], most=8)\n"
    "return best['answer']"
)
FOUND = body(
    "found = await retrieve(problem=problem, keep=2)\n"
    "best = await until_worth(ways=[lambda: answer_generate(input=found['problem'])], most=8)\n"
    "return best['answer']",
    "qa",
)


async def stopped(
    sandbox: Sandbox,
    chat: ScriptedChat,
    row: tuple[float, ...],
    *,
    problem: Problem = MATH,
    max_calls: int | None = None,
) -> Execution:
    rule = StopRule((row,) * 7, ())
    table = StopTable({}, {}, {}, {domain: {"0.1": rule} for domain in DOMAINS})
    settings = OperatorSettings(max_calls=max_calls, stop=StopSettings(table, 0.1))
    return await run(FOUND if problem is QA else WORTH, sandbox, chat, problem, settings=settings)


def answering(*answers: str, ledger: Ledger | None = None) -> ScriptedChat:
    return ScriptedChat(lambda request: f"Answer: {answers[request.draw]}", ledger=ledger)


async def test_it_draws_until_its_table_says_that_it_is_enough(sandbox: Sandbox) -> None:
    chat = answering("18", "17")
    assert (await stopped(sandbox, chat, NEVER)).answer == "18"
    assert len(chat.requests) == 1
    chat = answering(*"12341234")
    execution = await stopped(sandbox, chat, ALWAYS)
    assert (execution.status, execution.answer, len(chat.requests)) == ("ok", "1", 8)
    assert execution.calls[-1].notes == ("2 of 8 draws agree",)


@pytest.mark.parametrize("problem", [MATH, QA], ids=["alone", "after retrieve"])
async def test_no_run_makes_more_calls_than_it_may(sandbox: Sandbox, problem: Problem) -> None:
    chat = answering(*"12345678")
    execution = await stopped(sandbox, chat, ALWAYS, problem=problem, max_calls=3)
    assert (execution.status, len(chat.requests)) == ("call_limit", 3)


@pytest.mark.parametrize("problem", [MATH, QA], ids=["alone", "after retrieve"])
async def test_a_hard_budget_ends_the_run_before_the_call_that_could_pass_it(
    sandbox: Sandbox, problem: Problem
) -> None:
    ledger = Ledger(Budget(calls=2))
    chat = answering(*"12345678", ledger=ledger)
    with pytest.raises(BudgetError):
        await stopped(sandbox, chat, ALWAYS, problem=problem)
    assert ledger.total.attempts == 2


async def test_passages_that_are_left_out_cost_nothing(sandbox: Sandbox) -> None:
    text = "draft = await answer_generate(input=problem)\nreturn draft['answer']"
    whole = await run(text, sandbox, answering("1"), QA)
    some = await stopped(sandbox, answering("1"), NEVER, problem=QA)
    assert (whole.llm_calls, some.llm_calls) == (1, 1)
    assert some.cost < whole.cost


async def test_the_worst_case_counts_every_draw_that_may_be_asked_for() -> None:
    assert WORTH.worst_case_calls == 8
    assert FOUND.worst_case_calls == 8
