"""Programs with the learned stop and with `retrieve` in a sandbox: what they draw, and that no limit is passed."""

from __future__ import annotations

import pytest
from workflow_texts import MATH, body, run

from llm_as_judge.errors import BudgetError
from llm_as_judge.llm.ledger import Budget, Ledger
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.operators import OperatorSettings
from llm_as_judge.operators.base import StopSettings
from llm_as_judge.operators.stopping import FEATURES, StopRule, StopTable
from llm_as_judge.types import DOMAINS, Execution, Problem, Sandbox

pytestmark = pytest.mark.asyncio(loop_scope="session")
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
