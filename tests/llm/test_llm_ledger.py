from __future__ import annotations

import asyncio
import dataclasses
import json

import pytest

from llm_as_judge.errors import BudgetError
from llm_as_judge.llm.billing import Attempt, BilledAs, billed_to, current_scope, metered
from llm_as_judge.llm.ledger import Budget, Ledger, Price, Totals, prompt_price, worst_case_tokens
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.types import ChatRequest, Message, Usage


def test_a_price_is_per_million_tokens_and_kept_prompt_tokens_have_their_own() -> None:
    assert Price(2.0, 8.0).of(Usage(500_000, 250_000)) == pytest.approx(1.0 + 2.0)
    used = Usage(1_000_000, 0, 400_000)
    assert Price(2.0, 8.0).of(used) == pytest.approx(2.0)
    assert Price(2.0, 8.0, 0.5).of(used) == pytest.approx(0.6 * 2.0 + 0.4 * 0.5)


@pytest.mark.parametrize(
    ("price", "wanted"),
    [
        (None, 0.25),
        (Price(0.0, 0.0), 0.25),
        (Price(2.0, 8.0), 0.25),
        (Price(1.0, 10.0), 0.1),
        (Price(0.05, 0.5), 0.1),
    ],
    ids=["unknown", "free", "a quarter", "a tenth", "a tenth, under a dollar"],
)
def test_a_prompt_token_is_worth_what_the_prices_say_else_a_quarter(
    price: Price | None, wanted: float
) -> None:
    assert prompt_price(price) == wanted
    assert Usage(100, 30).cost(prompt_price(price)) == pytest.approx(100 * wanted + 30)


async def test_a_budget_in_written_tokens_counts_prompts_at_their_price() -> None:
    ledger = Ledger(Budget(cost=40.0))
    price = Price(1.0, 10.0)
    async with ledger.within_budget(Usage(100, 30), price):
        ledger.record_attempt("executor", Attempt(Usage(100, 30), None, 0.0, prompt_price=0.1))
    assert ledger.total.cost == 40.0
    with pytest.raises(BudgetError, match=r"40 of 40 cost used, next call may need 1;"):
        async with ledger.within_budget(Usage(0, 1), price):
            pass


def test_tokens_of_another_executor_cost_what_its_own_are_worth() -> None:
    ledger = Ledger()
    ledger.record_attempt("executor", Attempt(Usage(100, 30), None, 0.0, written_price=3.0))
    assert ledger.total.cost == 3 * (100 / 4 + 30)


def test_sums_of_before_the_cost_was_kept_are_given_one() -> None:
    ledger = Ledger()
    ledger.record_attempt("executor", Attempt(Usage(100, 30), None, 0.0))
    kept = json.loads(json.dumps(ledger.snapshot()))
    for sums in (kept["total"], *kept["by_role"].values(), *kept["by_attempt"].values()):
        del sums["cost"]
    restored = Ledger()
    restored.restore(kept)
    assert restored.total == ledger.total


def test_attempts_are_summed_by_role_operator_and_rollout() -> None:
    ledger = Ledger()
    with billed_to(rollout="p1#0"):
        with billed_to(operator="Custom"):
            ledger.record_call("executor")
            ledger.record_attempt(
                "executor", Attempt(None, 0.125, 1.0, "timeout", bound=Usage(40, 10))
            )
            ledger.record_attempt("executor", Attempt(Usage(10, 5), 0.5, 2.0))
        ledger.record_call("judge")
        ledger.record_attempt("judge", Attempt(Usage(3, 1), 0.25, 0.5))
    ledger.record_cached("executor")

    assert ledger.total == Totals(
        calls=2,
        attempts=3,
        failed_attempts=1,
        unmetered_attempts=1,
        cached_calls=1,
        estimated_tokens=50,
        estimated_usd=0.125,
        prompt_tokens=13,
        completion_tokens=6,
        priced_usd=0.75,
        cost=(40 / 4 + 10) + (10 / 4 + 5) + (3 / 4 + 1),
        seconds=3.5,
    )
    assert ledger.by_role["judge"].tokens == 4
    assert ledger.by_operator["Custom"].cost_usd == 0.5 + 0.125
    assert ledger.failures == {"timeout": 1}
    assert ledger.take_rollouts()["p1#0"].tokens == 19 + 50
    assert ledger.take_rollouts() == {}


def test_what_retrying_cost_is_told_apart() -> None:
    ledger = Ledger()
    ledger.record_attempt("executor", Attempt(Usage(10, 0), 0.5, 1.0, "empty", number=1))
    ledger.record_attempt("executor", Attempt(Usage(10, 5), 0.75, 1.0, number=2))
    ledger.record_attempt("executor", Attempt(Usage(1, 1), 0.25, 1.0))
    assert {number: sums.tokens for number, sums in ledger.by_attempt.items()} == {"1": 12, "2": 15}
    assert ledger.by_attempt["1"].failed_attempts == 1


async def test_a_meter_sees_the_attempts_of_its_block_and_of_tasks_started_inside() -> None:
    ledger = Ledger()
    ledger.record_attempt("executor", Attempt(Usage(1, 1), None, 0.0))
    with metered() as outer:

        async def work() -> None:
            ledger.record_attempt("executor", Attempt(Usage(2, 2), 0.5, 1.0, "timeout", 3))

        with metered() as inner:
            await asyncio.create_task(work())
        ledger.record_attempt("judge", Attempt(None, None, 0.0))
    ledger.record_attempt("executor", Attempt(Usage(1, 1), None, 0.0))
    assert inner == [Attempt(Usage(2, 2), 0.5, 1.0, "timeout", 3)]
    assert outer == [*inner, Attempt(None, None, 0.0)]


async def test_one_model_in_two_roles_is_billed_under_both() -> None:
    ledger = Ledger()
    model = ScriptedChat(["a", "b"], ledger=ledger)
    judge = BilledAs(model, "judge")
    await model.chat(ChatRequest((Message("user", "1234"),), 8))
    await judge.chat(ChatRequest((Message("user", "12345678"),), 8))
    assert judge.name == model.name
    assert ledger.by_role["executor"].prompt_tokens == 1
    assert ledger.by_role["judge"].prompt_tokens == 2


def test_metrics_are_the_difference_of_two_moments_and_no_cost_where_it_is_unknown() -> None:
    ledger = Ledger()
    ledger.record_call("executor")
    ledger.record_attempt("executor", Attempt(Usage(10, 5), 0.5, 1.0))
    before = dataclasses.replace(ledger.total)
    ledger.record_call("executor")
    ledger.record_attempt("executor", Attempt(Usage(3, 2), 0.25, 1.0, "empty"))
    step = ledger.total.since(before).metrics()
    assert step == {
        "ledger/calls": 1,
        "ledger/attempts": 1,
        "ledger/failed_attempts": 1,
        "ledger/unmetered_attempts": 0,
        "ledger/cached_calls": 0,
        "ledger/prompt_tokens": 3,
        "ledger/completion_tokens": 2,
        "ledger/estimated_tokens": 0,
        "ledger/cost": 3 / 4 + 2,
        "ledger/cost_usd": 0.25,
        "ledger/estimated_usd": 0.0,
    }
    ledger.record_attempt("executor", Attempt(Usage(1, 0), None, 1.0))
    assert "ledger/cost_usd" not in ledger.total.since(before).metrics()
    assert (ledger.total.cost_usd, ledger.total.priced_usd) == (None, 0.5 + 0.25)


def test_a_price_that_is_not_known_stays_unknown_for_what_is_estimated() -> None:
    ledger = Ledger()
    ledger.record_attempt("executor", Attempt(None, None, 1.0, "timeout", bound=Usage(40, 10)))
    assert (ledger.total.tokens, ledger.total.estimated_tokens) == (50, 50)
    assert ledger.total.cost_usd is None


async def test_what_is_estimated_counts_for_the_budget_and_is_named_in_its_line() -> None:
    ledger = Ledger(budget=Budget(tokens=100))
    ledger.record_attempt("executor", Attempt(Usage(10, 10), None, 1.0))
    ledger.record_attempt("executor", Attempt(None, None, 1.0, "timeout", bound=Usage(40, 10)))
    said = r"70 of 100 tokens used \(50 of these estimated: 1 requests said no usage\)"
    with pytest.raises(BudgetError, match=said):
        async with ledger.within_budget(Usage(20, 11), None):
            pass


async def test_scopes_of_concurrent_tasks_do_not_mix() -> None:
    ledger = Ledger()

    async def work(name: str) -> None:
        with billed_to(rollout=name):
            for _ in range(3):
                await asyncio.sleep(0)
                ledger.record_attempt("executor", Attempt(Usage(1, 0), None, 0.0))

    await asyncio.gather(*(work(f"r{n}") for n in range(200)))
    assert {sums.tokens for sums in ledger.by_rollout.values()} == {3}
    assert current_scope().rollout == ""


def test_worst_case_counts_bytes_and_the_whole_reply() -> None:
    request = ChatRequest((Message("user", "é" * 10),), max_tokens=100)
    assert worst_case_tokens(request) == Usage(20 + 16, 100)
    formed = dataclasses.replace(request, json_schema={"type": "object"})
    assert worst_case_tokens(formed) == Usage(20 + 16 + len('{"type": "object"}'), 100)


async def test_a_call_that_could_pass_the_budget_is_not_made() -> None:
    ledger = Ledger(budget=Budget(usd=1.0))
    async with ledger.within_budget(Usage(0, 900_000), Price(0.0, 1.0)):
        ledger.record_attempt("executor", Attempt(Usage(0, 900_000), 0.9, 1.0))
    with pytest.raises(BudgetError, match=r"\$0\.90 of \$1\.00 used, next call may need \$0\.20"):
        async with ledger.within_budget(Usage(0, 200_000), Price(0.0, 1.0)):
            pass


async def test_a_call_that_fits_but_for_those_in_flight_waits_for_them() -> None:
    ledger = Ledger(budget=Budget(tokens=100))
    order: list[str] = []

    async def call(name: str) -> None:
        async with ledger.within_budget(Usage(0, 60), None):
            order.append(f"{name} starts")
            await asyncio.sleep(0.01)
            ledger.record_attempt("executor", Attempt(Usage(0, 10), None, 0.0))
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
        ledger.record_attempt("executor", Attempt(Usage(10, 5), 0.5, 2.0, "empty"))
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
