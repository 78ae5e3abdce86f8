"""Draws of one prompt that are wanted together go out as one request, and nothing else changes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from draws_endpoint import DrawsEndpoint, Kind
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.errors import BudgetError, EndpointError
from llm_as_judge.llm.billing import Dollars, billed_to
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.gathered import GatheredDraws, neighbors
from llm_as_judge.llm.ledger import Budget, Ledger, Price
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recorded import RecordedChat
from llm_as_judge.operators import ExecutionContext, OperatorService, OperatorSettings, registry
from llm_as_judge.types import ChatReply, ChatRequest, Message, Problem

PROMPT = ChatRequest((Message("user", "2 + 2? " * 40),), 16, temperature=0.7, seed=100)


MATH = Problem("t/t/1", "gsm8k", "math", "What is 9 + 9?", ("18",))


def client(endpoint: DrawsEndpoint, price: Price | None = None, **limits: object) -> OpenAIChat:
    return OpenAIChat(
        "m",
        "http://model.test/v1",
        price=price,
        limits=EndpointLimits(**{"retries": 0, **limits}),  # type: ignore[arg-type]
        transport=httpx.MockTransport(endpoint),
    )


def texts(replies: list[ChatReply]) -> list[str]:
    return [reply.text for reply in replies]


async def together(chat: GatheredDraws, draws: Iterator[int] | range) -> list[ChatReply]:
    return list(await asyncio.gather(*(chat.chat(PROMPT.later(d)) for d in draws)))


@pytest.mark.parametrize("kind", ["all", "first", "ignores", "refuses", "silent"])
async def test_a_draw_is_the_same_reply_whatever_the_endpoint_makes_of_n(kind: Kind) -> None:
    endpoint = DrawsEndpoint(kind)
    async with client(endpoint).opened() as chat:
        replies = await together(GatheredDraws(chat), range(5))
        assert texts(replies) == [f"draw {100 + d}" for d in range(5)]
        assert chat.ledger.total.calls == 5
    several = kind in ("all", "first")
    assert endpoint.asked == ([(100, 5)] if several else [(100 + d, 1) for d in range(5)])


@pytest.mark.parametrize("kind", ["all", "first"])
async def test_the_prompt_is_billed_once_a_request_and_every_written_token(kind: Kind) -> None:
    endpoint = DrawsEndpoint(kind)
    async with client(endpoint).opened() as chat:
        await chat.known_draws()
        before = replace(chat.ledger.total)
        replies = await together(GatheredDraws(chat), range(5))
        total = chat.ledger.total.since(before)
        assert (total.prompt_tokens, total.completion_tokens, total.attempts) == (
            endpoint.prompt_tokens,
            endpoint.written_tokens,
            1,
        )
    # a reply's own usage says its whole prompt: who asks for one draw of it later has to know
    assert {reply.usage.prompt_tokens for reply in replies} == {endpoint.prompt_tokens}
    assert sum(reply.usage.completion_tokens for reply in replies) == endpoint.written_tokens


@pytest.mark.parametrize("kind", ["all", "first", "refuses"])
async def test_the_dollars_of_a_trace_are_those_of_the_ledger(kind: Kind) -> None:
    async with client(DrawsEndpoint(kind), price=Price(2.0, 8.0)).opened() as chat:
        gathered = GatheredDraws(chat)
        await chat.known_draws()
        before = replace(chat.ledger.total)
        context = ExecutionContext(gathered, None, MATH, OperatorSettings(temperature=0.7, seed=1))  # type: ignore[arg-type]
        serve = OperatorService(registry(), context)
        for _ in range(2):  # two requests of three draws, where the endpoint gives several
            await asyncio.gather(*(serve("Custom", ["2 + 2?", "Add."], {}) for _ in range(3)))
        costs = [call.cost_usd for call in serve.calls]
        assert None not in costs
        total = chat.ledger.total.since(before)
        assert sum(c for c in costs if c) == pytest.approx(total.priced_usd, rel=1e-9)
        assert total.attempts == (6 if kind == "refuses" else 2)


async def test_a_later_run_that_is_given_a_kept_draw_counts_its_whole_prompt(
    tmp_path: Path,
) -> None:
    async with client(DrawsEndpoint(), price=Price(2.0, 8.0)).opened() as chat:
        kept = RecordedChat(GatheredDraws(chat), Pool(tmp_path), "cache")
        await chat.known_draws()
        before = replace(chat.ledger.total)
        replies = list(await asyncio.gather(*(kept.chat(PROMPT.later(d)) for d in range(3))))
        again = [await kept.chat(PROMPT.later(d)) for d in (2, 1)]
    run, other = Dollars(), Dollars()
    paid = [run.of(PROMPT.later(d), reply) or 0 for d, reply in enumerate(replies)]
    assert sum(paid) == pytest.approx(chat.ledger.total.since(before).priced_usd, rel=1e-9)
    assert other.of(PROMPT.later(2), again[0]) == replies[2].cost_usd
    assert other.of(PROMPT.later(1), again[1]) == pytest.approx(paid[1], rel=1e-12)


async def test_an_endpoint_that_counts_the_first_draw_alone_is_counted_by_its_tokens() -> None:
    endpoint = DrawsEndpoint("first")
    async with client(endpoint).opened() as chat:
        replies = await together(GatheredDraws(chat), range(4))
    assert [reply.usage.completion_tokens for reply in replies] == [2, 3, 4, 5]
    assert endpoint.bodies[-1]["logprobs"] is True


async def test_a_larger_request_than_the_endpoint_takes_is_halved_and_no_draw_is_lost() -> None:
    endpoint = DrawsEndpoint(most=4)
    async with client(endpoint).opened() as chat:
        gathered = GatheredDraws(chat)
        assert texts(await together(gathered, range(8))) == [f"draw {100 + d}" for d in range(8)]
        endpoint.bodies.clear()
        await together(gathered, range(20, 24))
    assert endpoint.asked == [(120, 4)]


@pytest.mark.parametrize(
    ("empty", "asked"),
    [({102}, [(100, 4), (102, 1), (103, 1)]), (range(100, 110), [(100, 4)])],
    ids=["one", "all"],
)
async def test_a_draw_without_text_is_asked_for_by_itself_where_others_have_one(
    empty: Collection[int], asked: list[tuple[int, int]]
) -> None:
    endpoint = DrawsEndpoint(empty=empty)
    async with client(endpoint).opened() as chat:
        gathered = GatheredDraws(chat)
        calls = (gathered.chat(PROMPT.later(d)) for d in range(4))
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert chat.ledger.total.calls == 4
    said = [o.text if isinstance(o, ChatReply) else type(o) for o in outcomes]
    assert said == [EndpointError if d in empty else f"draw {d}" for d in range(100, 104)]
    assert sorted(endpoint.asked) == asked


async def test_greedy_requests_other_prompts_and_single_draws_go_out_by_themselves() -> None:
    endpoint = DrawsEndpoint()
    greedy = ChatRequest(PROMPT.messages, 16, seed=300)
    other = ChatRequest((Message("user", "3 + 3?"),), 16, temperature=0.7, seed=200)
    async with client(endpoint).opened() as chat:
        gathered = GatheredDraws(chat)
        asked = [greedy, greedy.later(1), other, PROMPT, PROMPT.later(2)]
        await asyncio.gather(*(gathered.chat(request) for request in asked))
        assert len(chat.ledger.by_operator) == 0
    assert sorted(endpoint.asked) == [(100, 1), (102, 1), (200, 1), (300, 1), (301, 1)]


async def test_a_request_holds_a_place_in_flight_for_each_draw_and_two_never_wait_for_ever() -> (
    None
):
    endpoint = DrawsEndpoint()
    async with client(endpoint, concurrency=4).opened() as chat:
        gathered = GatheredDraws(chat, most=3)
        replies = await asyncio.wait_for(together(gathered, range(30)), 60)
    assert texts(replies) == [f"draw {100 + d}" for d in range(30)]
    assert endpoint.asked == [(100 + 3 * n, 3) for n in range(10)]


async def test_one_that_gives_up_does_not_take_the_replies_from_the_others() -> None:
    endpoint = DrawsEndpoint()
    async with client(endpoint).opened() as chat:
        gathered = GatheredDraws(chat)
        calls = [asyncio.ensure_future(gathered.chat(PROMPT.later(d))) for d in range(4)]
        await asyncio.sleep(0)
        calls[0].cancel()
        replies = await asyncio.gather(*calls[1:])
        for call in (more := [asyncio.ensure_future(gathered.chat(PROMPT.later(9)))]):
            await asyncio.sleep(0)
            call.cancel()
        await asyncio.gather(*more, return_exceptions=True)
    assert texts(replies) == ["draw 101", "draw 102", "draw 103"]
    assert endpoint.asked == [(101, 3)]


async def test_the_request_is_billed_to_who_asked_first() -> None:
    async with client(DrawsEndpoint()).opened() as chat:
        gathered = GatheredDraws(chat)

        async def call(operator: str, draw: int) -> ChatReply:
            with billed_to(operator=operator):
                return await gathered.chat(PROMPT.later(draw))

        await asyncio.gather(call("A", 0), call("B", 1))
        bill = {name: sums.attempts for name, sums in chat.ledger.by_operator.items()}
    assert bill == {"A": 2}  # the request, and the one that found out what it may hold


@pytest.mark.parametrize("kind", ["all", "refuses"])
async def test_what_is_asked_at_the_start_is_booked_and_held_to_the_budget(kind: Kind) -> None:
    async with client(DrawsEndpoint(kind), price=Price(2.0, 8.0)).opened() as chat:
        await chat.known_draws()
        await chat.known_draws()
        total = chat.ledger.total
        assert (total.attempts, total.failed_attempts) == (1, int(kind == "refuses"))
        assert (total.tokens > 0) == (kind == "all")
    async with client(DrawsEndpoint(kind)).opened() as chat:
        chat.ledger.budget = Budget(tokens=3)
        with pytest.raises(BudgetError):
            await chat.known_draws()


async def test_a_replay_of_gathered_draws_gives_and_books_the_same(tmp_path: Path) -> None:
    async with client(DrawsEndpoint()).opened() as live:
        recording = Pool(tmp_path)
        recorded = RecordedChat(GatheredDraws(live), recording, "record", ledger=live.ledger)
        replies = await asyncio.gather(*(recorded.chat(PROMPT.later(d)) for d in range(5)))
        recording.close()
        paid = live.ledger.snapshot()
    ledger = Ledger()
    replay = RecordedChat(None, Pool(tmp_path), "replay", name="m", ledger=ledger)
    again = await asyncio.gather(*(replay.chat(PROMPT.later(d)) for d in reversed(range(5))))
    assert again == [replace(reply, cached=True) for reply in replies[::-1]]
    assert ledger.snapshot() == paid


@given(st.sets(st.integers(0, 40)), st.integers(1, 9))
def test_neighbors_are_all_draws_once_in_runs_that_follow_each_other(
    draws: set[int], most: int
) -> None:
    runs = neighbors(sorted(draws), most)
    assert [draw for run in runs for draw in run] == sorted(draws)
    assert all(run == list(range(run[0], run[0] + len(run))) for run in runs)
    assert all(len(run) <= most for run in runs)
    full = [b for a, b in itertools.pairwise(runs) if len(a) < most]
    assert all(run[0] - 1 not in draws for run in full)
