from __future__ import annotations

import asyncio

import pytest
from scripted_endpoint import ask

from llm_as_judge.errors import EndpointError
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.llm.shared import OffsetDraws, SharedDraws, request_digest
from llm_as_judge.types import ChatRequest, Message


async def test_equal_requests_share_one_reply_and_later_ones_say_so() -> None:
    ledger = Ledger()
    model = ScriptedChat(["first", "second"], ledger=ledger)
    shared = SharedDraws(model, ledger)
    replies = [await shared.chat(ask()) for _ in range(3)]
    assert [r.text for r in replies] == ["first"] * 3
    assert [r.cached for r in replies] == [False, True, True]
    assert len({r.usage for r in replies}) == 1
    assert (ledger.total.calls, ledger.total.cached_calls) == (1, 2)


async def test_another_draw_or_text_is_another_reply() -> None:
    shared = SharedDraws(ScriptedChat(["a", "b", "c"]))
    replies = [await shared.chat(r) for r in (ask(), ask(draw=1), ask("3+3?"))]
    assert [r.text for r in replies] == ["a", "b", "c"]
    assert not any(r.cached for r in replies)


async def test_requests_in_flight_are_joined() -> None:
    model = ScriptedChat(["only"], delay_s=0.01)
    shared = SharedDraws(model)
    replies = await asyncio.gather(*(shared.chat(ask()) for _ in range(5)))
    assert [r.cached for r in replies] == [False, True, True, True, True]
    assert len(model.requests) == 1


async def test_a_failure_is_not_shared_with_later_callers() -> None:
    failing = True

    def answer(request: ChatRequest) -> str:
        if failing:
            raise EndpointError("down")
        return "up"

    shared = SharedDraws(ScriptedChat(answer, delay_s=0.001))
    outcomes = await asyncio.gather(*(shared.chat(ask()) for _ in range(3)), return_exceptions=True)
    assert all(isinstance(outcome, EndpointError) for outcome in outcomes)
    failing = False
    assert (await shared.chat(ask())).text == "up"


async def test_one_that_gives_up_does_not_take_the_reply_from_its_siblings() -> None:
    model = ScriptedChat(["only"], delay_s=0.02)
    shared = SharedDraws(model)
    first = asyncio.create_task(shared.chat(ask()))
    second = asyncio.create_task(shared.chat(ask()))
    await asyncio.sleep(0.005)
    first.cancel()
    assert (await second).text == "only"
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_a_request_that_all_have_left_is_cancelled() -> None:
    ended: list[str] = []

    class Slow(ScriptedChat):
        async def chat(self, request: ChatRequest):  # type: ignore[no-untyped-def]
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

    shared = SharedDraws(Slow())
    caller = asyncio.create_task(shared.chat(ask()))
    await asyncio.sleep(0.005)
    caller.cancel()
    await asyncio.gather(caller, return_exceptions=True)
    await asyncio.sleep(0)
    assert ended == ["cancelled"]


def test_the_digest_depends_on_everything_that_decides_a_reply() -> None:
    base = ask()
    others = [
        request_digest("other", base),
        request_digest("m", ChatRequest(base.messages, 16, seed=1)),
        request_digest("m", ask(draw=1)),
        request_digest("m", ChatRequest(base.messages, 17)),
        request_digest("m", ChatRequest(base.messages, 16, temperature=0.1)),
        request_digest("m", ChatRequest(base.messages, 16, json_schema={"type": "object"})),
        request_digest("m", ChatRequest((Message("system", "2+2?"),), 16)),
    ]
    assert len({request_digest("m", base), *others}) == 8
    assert request_digest("m", base) == request_digest("m", ask())
    assert request_digest("m", ask("\ud800"))


def test_keys_of_recordings_stay_as_they_are() -> None:
    sampled = ChatRequest(
        (Message("user", "2+2?"),), 16, 0.7, 0.9, 5, ("\n",), {"type": "object"}, 2
    )
    kept = "332592871b707b593109c2eecabdba9f53b5f58b1e48b4fdb1d0c9a004c98c8c"
    assert request_digest("m", sampled) == kept


async def test_a_program_sees_the_draws_from_its_offset_on() -> None:
    model = ScriptedChat(lambda r: f"{r.draw}/{r.seed}")
    sampled = ChatRequest((Message("user", "2+2?"),), 16, temperature=0.7, seed=5)

    async def seen(offset: int) -> list[str]:
        chat = OffsetDraws(model, offset)
        return [(await chat.chat(sampled.later(draw))).text for draw in range(3)]

    assert await seen(0) == ["0/5", "1/6", "2/7"]
    assert await seen(2) == ["2/7", "3/8", "4/9"]


async def test_a_greedy_request_has_one_reply_at_every_offset() -> None:
    model = ScriptedChat(lambda r: str(r.draw))
    assert [(await OffsetDraws(model, o).chat(ask())).text for o in (0, 1, 7)] == ["0", "0", "0"]


def test_a_negative_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="offset of draws is -1, wanted 0 or more"):
        OffsetDraws(ScriptedChat(), -1)
