from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from scripted_endpoint import ask

from fault_endpoint import FAULTS, KIND_OF_FAULT, MOSTLY_QUICK, FaultEndpoint
from llm_as_judge.llm.billing import billed_to
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.ledger import Ledger, Price

PROBLEMS = 200


@pytest.mark.slow
async def test_ledger_equals_the_servers_own_bill_under_concurrent_problems_and_faults() -> None:
    ledger = Ledger()
    limits = EndpointLimits(concurrency=48, timeout_s=8.0, retries=12, backoff_s=0.01)
    async with FaultEndpoint(share=0.3, seed=7, faults=MOSTLY_QUICK) as server:
        chat = OpenAIChat("m", server.url, limits=limits, ledger=ledger, price=Price(2.0, 8.0))

        async def solve(number: int) -> list[str]:
            with billed_to(rollout=f"p{number}", operator="Custom"):
                replies = [await chat.chat(ask(f"p{number} call {i}")) for i in range(2)]
            return [reply.text for reply in replies]

        texts = await asyncio.gather(*(solve(n) for n in range(PROBLEMS)))
        await chat.aclose()

    assert texts == [[f"echo p{n} call {i}" for i in range(2)] for n in range(PROBLEMS)]
    total = ledger.total
    assert (total.prompt_tokens, total.completion_tokens) == (
        server.billed["prompt"],
        server.billed["completion"],
    )
    assert {
        name: sums.prompt_tokens + sums.completion_tokens
        for name, sums in ledger.by_rollout.items()
    } == {f"p{n}": server.billed[f"p{n}"] for n in range(PROBLEMS)}
    assert total.calls == 2 * PROBLEMS
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
