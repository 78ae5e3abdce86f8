from __future__ import annotations

import asyncio
import json

import pytest

from llm_as_judge.errors import BudgetError
from llm_as_judge.llm.ledger import (
    Budget,
    Ledger,
    Price,
    Totals,
    billed_to,
    current_scope,
    worst_case_tokens,
)
from llm_as_judge.types import ChatRequest, Message, Usage


def test_a_price_is_per_million_tokens() -> None:
    assert Price(2.0, 8.0).of(Usage(500_000, 250_000)) == pytest.approx(1.0 + 2.0)


def test_attempts_are_summed_by_role_operator_problem_and_rollout() -> None:
    ledger = Ledger()
    with billed_to(problem="p1", rollout="p1#0"):
        with billed_to(operator="Custom"):
            ledger.record_call("executor")
            ledger.record_attempt("executor", None, None, 1.0, "timeout")
            ledger.record_attempt("executor", Usage(10, 5), 0.5, 2.0)
        ledger.record_call("judge")
        ledger.record_attempt("judge", Usage(3, 1), 0.25, 0.5)
    ledger.record_cached("executor")

    assert ledger.total == Totals(
        calls=2,
        attempts=3,
        failed_attempts=1,
        unmetered_attempts=1,
        cached_calls=1,
        prompt_tokens=13,
        completion_tokens=6,
        priced_usd=0.75,
        seconds=3.5,
    )
    assert ledger.by_role["judge"].tokens == 4
    assert ledger.by_operator["Custom"].cost_usd == 0.5
    assert ledger.by_problem["p1"] == ledger.by_rollout["p1#0"]
    assert ledger.failures == {"timeout": 1}
    assert ledger.take_rollout("p1#0").tokens == 19
    assert ledger.take_rollout("p1#0") == Totals()
    assert ledger.take_problem("p1").tokens == 19


def test_one_unpriced_token_makes_the_cost_unknown() -> None:
    ledger = Ledger()
    ledger.record_attempt("executor", Usage(10, 5), 0.5, 1.0)
    ledger.record_attempt("executor", Usage(1, 0), None, 1.0)
    assert ledger.total.cost_usd is None
    assert ledger.total.priced_usd == 0.5


async def test_scopes_of_concurrent_tasks_do_not_mix() -> None:
    ledger = Ledger()

    async def work(name: str) -> None:
        with billed_to(rollout=name):
            for _ in range(3):
                await asyncio.sleep(0)
                ledger.record_attempt("executor", Usage(1, 0), None, 0.0)

    await asyncio.gather(*(work(f"r{n}") for n in range(200)))
    assert {sums.tokens for sums in ledger.by_rollout.values()} == {3}
    assert current_scope().rollout == ""


def test_worst_case_counts_bytes_and_the_whole_reply() -> None:
    request = ChatRequest((Message("user", "é" * 10),), max_tokens=100)
    assert worst_case_tokens(request) == Usage(20 + 16, 100)


async def test_a_call_that_could_pass_the_budget_is_not_made() -> None:
    ledger = Ledger(budget=Budget(usd=1.0))
    async with ledger.within_budget(Usage(0, 900_000), Price(0.0, 1.0)):
        ledger.record_attempt("executor", Usage(0, 900_000), 0.9, 1.0)
    with pytest.raises(BudgetError, match=r"0\.9 of 1 dollars used, next call may need 0\.2"):
        async with ledger.within_budget(Usage(0, 200_000), Price(0.0, 1.0)):
            pass


async def test_a_call_that_fits_but_for_those_in_flight_waits_for_them() -> None:
    ledger = Ledger(budget=Budget(tokens=100))
    order: list[str] = []

    async def call(name: str) -> None:
        async with ledger.within_budget(Usage(0, 60), None):
            order.append(f"{name} starts")
            await asyncio.sleep(0.01)
            ledger.record_attempt("executor", Usage(0, 10), None, 0.0)
            order.append(f"{name} ends")

    await asyncio.gather(call("a"), call("b"))
    assert order == ["a starts", "a ends", "b starts", "b ends"]


async def test_a_cancelled_waiter_holds_nothing() -> None:
    ledger = Ledger(budget=Budget(calls=1))
    async with ledger.within_budget(Usage(1, 1), None):
        waiter = asyncio.create_task(_enter(ledger))
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)
    await _enter(ledger)


async def _enter(ledger: Ledger) -> None:
    async with ledger.within_budget(Usage(1, 1), None):
        pass


async def test_a_budget_in_dollars_wants_a_price() -> None:
    with pytest.raises(BudgetError, match="needs the price of the model"):
        async with Ledger(budget=Budget(usd=1.0)).within_budget(Usage(1, 1), None):
            pass


def test_a_resumed_run_goes_on_from_the_saved_sums() -> None:
    ledger = Ledger()
    with billed_to(operator="Custom"):
        ledger.record_attempt("executor", Usage(10, 5), 0.5, 2.0, "empty")
    resumed = Ledger()
    resumed.restore(json.loads(json.dumps(ledger.snapshot())))
    assert (resumed.total, resumed.by_role, resumed.by_operator, resumed.failures) == (
        ledger.total,
        ledger.by_role,
        ledger.by_operator,
        ledger.failures,
    )
    with pytest.raises(TypeError, match="wanted an object of sums"):
        resumed.restore({"total": 3})  # type: ignore[dict-item]
