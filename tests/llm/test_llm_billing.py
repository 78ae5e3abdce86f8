"""An attempt counts at most its bound, never nothing; a budget holds however many ask."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from scripted_endpoint import BOUND, SILENT, Script, ask, chat_over, says

from llm_as_judge.errors import BudgetError, EndpointError
from llm_as_judge.llm.client import EndpointLimits
from llm_as_judge.llm.ledger import Budget, Ledger, Price
from llm_as_judge.types import Usage


async def test_an_unknown_price_is_unknown_not_zero() -> None:
    chat = chat_over(Script(says("4")))
    assert (await chat.chat(ask())).cost_usd is None
    assert chat.ledger.total.cost_usd is None
    assert chat.ledger.total.tokens == 15


@pytest.mark.parametrize(
    ("told", "kept"), [(4, 4), (10, 10), (11, 0), (-1, 0), (True, 0), ("4", 0), (None, 0)]
)
async def test_tokens_that_the_endpoint_had_kept_are_believed_as_far_as_they_can_be(
    told: object, kept: int
) -> None:
    data = says("4").json()
    data["usage"]["prompt_tokens_details"] = {"cached_tokens": told}
    reply = await chat_over(Script(httpx.Response(200, json=data))).chat(ask())
    assert reply.usage == Usage(10, 5, kept)


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": -1, "completion_tokens": 2},
        {"prompt_tokens": True},
        {"prompt_tokens": 0, "completion_tokens": 0},
        *({"prompt_tokens": count, "completion_tokens": 5} for count in (10**19, 10**400)),
        "many",
    ],
    ids=["none", "empty", "negative", "bool", "zero", "10^19", "10^400", "text"],
)
async def test_usage_that_cannot_be_believed_is_counted_at_its_bound_never_zero(
    usage: object,
) -> None:
    data = {"choices": [{"message": {"content": "four"}}], "usage": usage}
    chat = chat_over(Script(httpx.Response(200, json=data)), price=Price(1.0, 1.0))
    reply = await chat.chat(ask("x" * 40))
    assert reply.usage == Usage(10, 1)
    assert reply.cost_usd is None
    total = chat.ledger.total
    assert (total.unmetered_attempts, total.prompt_tokens, total.completion_tokens) == (1, 0, 0)
    assert total.estimated_tokens == total.tokens == 40 + 16 + 16
    assert total.estimated_usd == total.cost_usd == pytest.approx(72e-6)


@pytest.mark.parametrize(
    ("step", "tokens"),
    [
        (httpx.ReadTimeout("slow"), BOUND),
        (httpx.WriteTimeout("slow"), BOUND),
        (httpx.RemoteProtocolError("gone"), BOUND),
        (httpx.Response(200, content=b'{"choices": [{"mess'), BOUND),
        (httpx.Response(500), BOUND),
        (httpx.Response(504), BOUND),
        (httpx.Response(408), BOUND),
        (httpx.ConnectError("refused"), 0),
        (httpx.ConnectTimeout("slow"), 0),
        (httpx.Response(429), 0),
        (httpx.Response(503), 0),
        (httpx.Response(400, json={"error": "context length exceeded"}), 0),
    ],
    ids=str,
)
async def test_an_attempt_counts_its_bound_unless_no_model_began_to_work_on_it(
    step: httpx.Response | Exception, tokens: int
) -> None:
    chat = chat_over(Script(step), limits=EndpointLimits(retries=0), price=Price(1.0, 1.0))
    with pytest.raises(EndpointError):
        await chat.chat(ask())
    total = chat.ledger.total
    assert (total.attempts, total.unmetered_attempts) == (1, 1)
    assert total.tokens == total.estimated_tokens == tokens
    assert total.cost_usd == pytest.approx(tokens / 1e6)


async def test_an_attempt_that_is_cancelled_in_flight_counts_its_bound() -> None:
    sent = asyncio.Event()

    async def hang(request: httpx.Request) -> httpx.Response:
        sent.set()
        await asyncio.Event().wait()
        raise AssertionError("never woken")

    chat = chat_over(hang)
    task = asyncio.create_task(chat.chat(ask()))
    await sent.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (chat.ledger.total.tokens, chat.ledger.failures) == (BOUND, {"cancelled": 1})


@pytest.mark.parametrize("unit", ["tokens", "usd"])
@pytest.mark.parametrize(
    "step", [SILENT, httpx.ReadTimeout("slow")], ids=["says no usage", "times out"]
)
async def test_a_budget_holds_where_nothing_is_said_however_many_ask_at_once(
    step: httpx.Response | Exception, unit: str
) -> None:
    script = Script(step)
    budget = Budget(tokens=10 * BOUND + 1) if unit == "tokens" else Budget(usd=10.5 * BOUND / 1e6)
    ledger = Ledger(budget=budget)
    limits = EndpointLimits(retries=3, backoff_s=0.001)
    chat = chat_over(script, ledger=ledger, limits=limits, price=Price(1.0, 1.0))
    outcomes = await asyncio.gather(*(chat.chat(ask()) for _ in range(50)), return_exceptions=True)
    assert len(script.requests) == 10
    assert ledger.total.tokens == ledger.total.estimated_tokens == 10 * BOUND
    stopped = [str(o) for o in outcomes if isinstance(o, BudgetError)]
    assert len(stopped) >= 40
    assert "estimated: 10 requests said no usage" in stopped[-1]


async def test_a_budget_stops_before_it_is_passed_however_many_ask_at_once() -> None:
    script = Script(says("4"))
    ledger = Ledger(budget=Budget(tokens=500))
    chat = chat_over(script, ledger=ledger)
    outcomes = await asyncio.gather(*(chat.chat(ask()) for _ in range(60)), return_exceptions=True)
    stopped = [o for o in outcomes if isinstance(o, BudgetError)]
    assert stopped
    assert 420 <= ledger.total.tokens <= 500
    assert len(script.requests) * 15 == ledger.total.tokens
    assert "of 500 tokens used" in str(stopped[0])
