"""The client: what is sent, what a reply carries, what is tried again, what a failure says."""

from __future__ import annotations

import asyncio
import json
import logging

import httpx
import pytest
from scripted_endpoint import KEY, URL, Script, ask, chat_over, refuses, says

from llm_as_judge.errors import ConfigError, EndpointError, ModelError
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.ledger import Price
from llm_as_judge.types import Usage


async def test_a_reply_carries_text_usage_cost_and_the_bearer_key_goes_only_into_the_header() -> (
    None
):
    script = Script(says("4"))
    chat = chat_over(script, price=Price(1.0, 3.0), model_name="served-name")
    reply = await chat.chat(ask())
    assert (reply.text, reply.finish_reason, reply.attempts) == ("4", "stop", 1)
    assert reply.usage == Usage(10, 5)
    assert reply.cost_usd == pytest.approx((10 * 1 + 5 * 3) / 1e6)
    assert script.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert script.bodies[0] == {
        "model": "served-name",
        "messages": [{"role": "user", "content": "2+2?"}],
        "max_tokens": 16,
        "temperature": 0.0,
    }
    await chat.aclose()


async def test_schema_seed_stop_and_top_p_are_sent() -> None:
    script = Script(says("{}"))
    schema = {"type": "object"}
    request = ask(json_schema=schema, seed=5, draw=2, stop=("\n",), top_p=0.9, temperature=0.7)
    await chat_over(script).chat(request)
    body = script.bodies[0]
    assert body["response_format"]["json_schema"]["schema"] == schema  # type: ignore[index]
    assert (body["seed"], body["stop"], body["top_p"]) == (5, ["\n"], 0.9)


async def test_every_second_try_is_billed_and_seeded_anew() -> None:
    script = Script(says(""), says("4"))
    chat = chat_over(script, price=Price(1.0, 1.0))
    reply = await chat.chat(ask(seed=1))
    assert reply.attempts == 2
    assert reply.usage == Usage(10, 5)
    assert chat.ledger.total.tokens == 30
    assert chat.ledger.total.failed_attempts == 1
    assert script.bodies[0]["seed"] != script.bodies[1]["seed"]


async def test_a_server_that_was_started_again_is_asked_the_same_once_more() -> None:
    script = Script(httpx.ConnectError("gone"), httpx.ReadError("gone"), says("4"))
    told: list[float] = []

    async def revive(began: float) -> bool:
        told.append(began)
        return True

    chat = chat_over(script, limits=EndpointLimits(retries=0), revive=revive)
    reply = await chat.chat(ask(seed=1))
    assert (reply.text, reply.attempts, len(told)) == ("4", 3, 2)
    # its seed too: the reply is that of an unbroken run
    assert script.bodies[0] == script.bodies[2]
    assert chat.ledger.total.failed_attempts == 2
    told.clear()
    overloaded = chat_over(
        Script(refuses(503, "later")), limits=EndpointLimits(retries=0), revive=revive
    )
    with pytest.raises(EndpointError, match="HTTP 503"):
        await overloaded.chat(ask())
    assert told == []  # there was a server


async def test_a_call_under_way_when_its_chat_is_closed_is_not_tried_again() -> None:
    arrived, closed, asked = asyncio.Event(), asyncio.Event(), 0

    async def gone(request: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked += 1
        arrived.set()
        await closed.wait()
        raise httpx.ReadError("gone")

    async def revive(began: float) -> bool:
        raise AssertionError("a closed chat starts no server")

    chat = chat_over(gone, revive=revive)
    call = asyncio.create_task(chat.chat(ask()))
    await arrived.wait()
    await chat.aclose()
    closed.set()
    with pytest.raises(EndpointError):
        await call
    assert asked == 1


async def test_a_reply_cut_off_in_its_thoughts_is_tried_again_with_more_tokens() -> None:
    script = Script(says(None, "length"), says("<think>so", "length"), says("4"))
    chat = chat_over(script)
    assert (await chat.chat(ask())).text == "4"
    assert [body["max_tokens"] for body in script.bodies] == [16, 32, 64]
    assert chat.ledger.failures == {"cut_off": 2}


async def test_thinking_tokens_come_on_top() -> None:
    script = Script(says("4"))
    await chat_over(script, limits=EndpointLimits(thinking_tokens=1000)).chat(ask())
    assert script.bodies[0]["max_tokens"] == 1016


async def test_a_client_mistake_is_not_tried_again() -> None:
    script = Script(refuses(401, f"Incorrect API key provided: {KEY}"))
    with pytest.raises(EndpointError) as raised:
        await chat_over(script, key_variable="MY_KEY").chat(ask())
    assert str(raised.value) == (
        f"executor m at {URL}: HTTP 401: Incorrect API key provided: ***; set MY_KEY (1 try)"
    )
    assert len(script.requests) == 1


async def test_a_field_that_the_endpoint_does_not_take_is_left_out_from_then_on() -> None:
    def strict(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        for name in ("seed", "max_tokens"):
            if name in body:
                return refuses(400, f"Unsupported parameter: '{name}'")
        return says(str(body["max_completion_tokens"]))

    chat = chat_over(strict)
    assert (await chat.chat(ask(seed=3))).text == "16"
    assert chat.left_out == {"seed", "max_tokens"}
    assert (await chat.chat(ask(seed=3))).attempts == 1


async def test_retry_after_is_honored_and_too_long_a_pause_is_a_failure() -> None:
    soon = Script(refuses(429, "slow down", **{"Retry-After": "0.05"}), says("4"))
    loop = asyncio.get_running_loop()
    started = loop.time()
    assert (await chat_over(soon).chat(ask())).text == "4"
    assert loop.time() - started >= 0.05
    later = Script(refuses(429, "quota", **{"Retry-After": "3600"}))
    with pytest.raises(EndpointError, match="asks to wait 3600 s"):
        await chat_over(later).chat(ask())


@pytest.mark.parametrize("failure", [httpx.ConnectError("refused"), httpx.ConnectTimeout("slow")])
async def test_an_endpoint_that_cannot_be_reached_is_counted_as_that(failure: Exception) -> None:
    chat = chat_over(Script(failure), limits=EndpointLimits(retries=0))
    with pytest.raises(EndpointError, match=": cannot connect "):
        await chat.chat(ask())
    assert chat.ledger.failures == {"connect": 1}


async def test_a_path_that_is_not_there_asks_for_base_url_and_model() -> None:
    with pytest.raises(
        EndpointError, match=r"HTTP 404: no route .*base_url end in /v1.*model_name"
    ):
        await chat_over(Script(refuses(404, "no route"))).chat(ask())


async def test_requests_in_flight_never_pass_the_limit() -> None:
    flying = highest = 0

    async def slow(request: httpx.Request) -> httpx.Response:
        nonlocal flying, highest
        flying += 1
        highest = max(highest, flying)
        await asyncio.sleep(0.01)
        flying -= 1
        return says("4")

    chat = chat_over(slow, limits=EndpointLimits(concurrency=3))
    await asyncio.gather(*(chat.chat(ask()) for _ in range(12)))
    assert highest == 3


async def test_addresses_are_shown_without_credentials(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    chat = OpenAIChat(
        "m",
        "http://user:hunter2@model.test/v1?token=hunter2",
        api_key=KEY,
        limits=EndpointLimits(retries=0),
        transport=httpx.MockTransport(Script(refuses(500, KEY))),
    )
    with pytest.raises(EndpointError) as raised:
        await chat.chat(ask())
    shown = f"{raised.value} {chat!r} {caplog.text}"
    assert "hunter2" not in str(raised.value) + repr(chat)
    assert KEY not in shown


def test_a_base_url_without_scheme_is_refused_at_once() -> None:
    with pytest.raises(ModelError, match=r"base_url is 'localhost:8002', wanted http://HOST"):
        OpenAIChat("m", "localhost:8002")


def test_the_client_outlives_its_event_loop() -> None:
    chat = chat_over(Script(says("4")))
    for _ in range(2):
        assert asyncio.run(chat.chat(ask())).text == "4"


async def test_opened_closes_its_connections() -> None:
    async with chat_over(Script(says("4"))).opened() as chat:
        assert (await chat.chat(ask())).text == "4"
    assert (await chat.chat(ask())).text == "4"


@pytest.mark.parametrize(
    "key", ["sk-very\nsecret", "sk-v\N{LATIN SMALL LETTER E WITH ACUTE}ry-secret"]
)
def test_a_key_that_cannot_be_sent_is_refused_at_once_and_not_shown(key: str) -> None:
    with pytest.raises(ConfigError, match=r"executor m: api_key: this key holds") as raised:
        chat_over(Script(says("4")), api_key=key)
    assert "secret" not in str(raised.value)


async def test_a_line_end_after_a_key_is_not_sent() -> None:
    script = Script(says("4"))
    await chat_over(script, api_key=f"{KEY}\n").chat(ask())
    assert script.requests[0].headers["authorization"] == f"Bearer {KEY}"
