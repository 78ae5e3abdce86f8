from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from fault_endpoint import FAULTS, KIND_OF_FAULT, MOSTLY_QUICK, FaultEndpoint
from llm_as_judge.errors import BudgetError, EndpointError
from llm_as_judge.llm.billing import billed_to
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.ledger import Budget, Ledger, Price, worst_case_tokens
from llm_as_judge.types import ChatRequest, Message


def ask(text: str) -> ChatRequest:
    return ChatRequest((Message("user", text),), max_tokens=16)


@pytest.mark.slow
async def test_ledger_equals_the_servers_own_bill_under_500_concurrent_problems_and_faults() -> (
    None
):
    ledger = Ledger()
    limits = EndpointLimits(concurrency=48, timeout_s=8.0, retries=12, backoff_s=0.01)
    async with FaultEndpoint(share=0.3, seed=7, faults=MOSTLY_QUICK) as server:
        chat = OpenAIChat("m", server.url, limits=limits, ledger=ledger, price=Price(2.0, 8.0))

        async def solve(number: int) -> list[str]:
            with billed_to(problem=f"p{number}", operator="Custom"):
                replies = [await chat.chat(ask(f"p{number} call {i}")) for i in range(2)]
            return [reply.text for reply in replies]

        texts = await asyncio.gather(*(solve(n) for n in range(500)))
        await chat.aclose()

    assert texts == [[f"echo p{n} call {i}" for i in range(2)] for n in range(500)]
    total = ledger.total
    assert (total.prompt_tokens, total.completion_tokens) == (
        server.billed["prompt"],
        server.billed["completion"],
    )
    assert {
        name: sums.prompt_tokens + sums.completion_tokens
        for name, sums in ledger.by_problem.items()
    } == {f"p{n}": server.billed[f"p{n}"] for n in range(500)}
    assert total.calls == 1000
    wanted: Counter[str] = Counter()
    for fault in FAULTS:
        wanted[KIND_OF_FAULT[fault]] += server.met[fault]
    unseen = ledger.failures - wanted  # attempts that broke before the server read them
    assert not wanted - ledger.failures
    assert sum(unseen.values()) <= 10
    assert total.attempts == sum(server.met.values()) + sum(unseen.values())
    assert total.failed_attempts == sum(ledger.failures.values())
    assert total.estimated_tokens > 0
    assert total.priced_usd == pytest.approx(
        (server.billed["prompt"] * 2.0 + server.billed["completion"] * 8.0) / 1e6
    )


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_that_stays_becomes_an_endpoint_error_that_says_what_and_where(
    fault: str,
) -> None:
    limits = EndpointLimits(timeout_s=0.3, retries=1, backoff_s=0.01)
    async with FaultEndpoint(share=1.0, faults=[fault]) as server:
        chat = OpenAIChat("m", server.url, limits=limits)
        with pytest.raises(EndpointError) as raised:
            await chat.chat(ask("p1 x"))
        await chat.aclose()
    message = str(raised.value)
    assert message.startswith(f"executor m at {server.url}: {KIND_OF_FAULT[fault]}: ")
    assert message.endswith("(2 tries)")
    assert chat.ledger.failures == {KIND_OF_FAULT[fault]: 2}


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["hang", "slow_stream", "drop", "truncated"])
async def test_a_budget_stops_a_run_whose_endpoint_takes_requests_and_says_nothing(
    fault: str,
) -> None:
    bound = worst_case_tokens(ask("p0"))
    tokens = bound.prompt_tokens + bound.completion_tokens
    ledger = Ledger(budget=Budget(tokens=3 * tokens))
    limits = EndpointLimits(timeout_s=0.2, retries=20, backoff_s=0.001)
    async with FaultEndpoint(share=1.0, faults=(fault,)) as server:
        chat = OpenAIChat("m", server.url, limits=limits, ledger=ledger)
        with pytest.raises(BudgetError, match="estimated: 3 requests said no usage"):
            await chat.chat(ask("p0"))
        await chat.aclose()
    assert ledger.total.tokens == ledger.total.estimated_tokens == 3 * tokens
