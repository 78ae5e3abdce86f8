from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import httpx
import pytest

from llm_as_judge.errors import (
    BudgetError,
    ConfigError,
    ContextError,
    EndpointError,
    ModelError,
)
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.ledger import Budget, Ledger, Price
from llm_as_judge.types import ChatRequest, Message, Usage

KEY = "sk-very-secret"
URL = "http://model.test/v1"
SILENT = httpx.Response(200, json={"choices": [{"message": {"content": "four"}}]})
BOUND = 4 + 16 + 16
"""Tokens that ``ask()`` may use: its bytes, what a template puts around them, and the reply."""


def ask(text: str = "2+2?", **changes: object) -> ChatRequest:
    return ChatRequest((Message("user", text),), max_tokens=16, **changes)  # type: ignore[arg-type]


def says(text: object, finish: str = "stop", **message: object) -> httpx.Response:
    return httpx.Response(
        200,
        json={
            "choices": [{"message": {"content": text, **message}, "finish_reason": finish}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        },
    )


def refuses(status: int, message: str = "", **headers: str) -> httpx.Response:
    return httpx.Response(status, json={"error": {"message": message}}, headers=headers)


class Script:
    """A transport that gives scripted responses (or raises them) and keeps the requests."""

    def __init__(self, *steps: httpx.Response | Exception) -> None:
        self.steps = list(steps)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        step = self.steps[min(len(self.requests), len(self.steps)) - 1]
        if isinstance(step, Exception):
            raise step
        return step

    @property
    def bodies(self) -> list[dict[str, object]]:
        return [json.loads(request.content) for request in self.requests]


def chat_over(handler: Callable[..., object], **changes: object) -> OpenAIChat:
    settings: dict[str, object] = {
        "limits": EndpointLimits(retries=2, backoff_s=0.001),
        "api_key": KEY,
    }
    settings.update(changes)
    return OpenAIChat("m", URL, transport=httpx.MockTransport(handler), **settings)  # type: ignore[arg-type]


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
    assert (
        script.bodies[0] == script.bodies[2]
    )  # its seed too: the reply is that of an unbroken run
    assert chat.ledger.total.failed_attempts == 2
    told.clear()
    overloaded = chat_over(
        Script(refuses(503, "later")), limits=EndpointLimits(retries=0), revive=revive
    )
    with pytest.raises(EndpointError, match="http_503"):
        await overloaded.chat(ask())
    assert told == []  # there was a server


async def test_thoughts_are_not_the_reply() -> None:
    inline = chat_over(Script(says("<think>is it 5?</think>\n4", reasoning_content="hm")))
    assert (await inline.chat(ask())).text == "4"


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


async def test_effort_is_asked_until_the_endpoint_refuses_it() -> None:
    script = Script(says("4"), refuses(400, "Unknown parameter: 'reasoning_effort'"), says("5"))
    chat = chat_over(script, limits=EndpointLimits(reasoning_effort="low"))
    assert [(await chat.chat(ask())).text, (await chat.chat(ask())).text] == ["4", "5"]
    assert [body.get("reasoning_effort") for body in script.bodies] == ["low", "low", None]
    plain = Script(says("4"))
    await chat_over(plain).chat(ask())
    assert "reasoning_effort" not in plain.bodies[0]


async def test_a_client_mistake_is_not_tried_again() -> None:
    script = Script(refuses(401, f"Incorrect API key provided: {KEY}"))
    with pytest.raises(EndpointError) as raised:
        await chat_over(script).chat(ask())
    assert str(raised.value) == (
        f"executor m at {URL}: http_401: HTTP 401: Incorrect API key provided: *** (1 try)"
    )
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 8192 tokens.",
        "request (3031 tokens) exceeds the available context size (1024 tokens)",
    ],
    ids=["openai", "llama.cpp"],
)
async def test_a_request_longer_than_the_context_is_an_error_of_its_own(said: str) -> None:
    with pytest.raises(ContextError, match="too_long"):
        await chat_over(Script(refuses(400, said))).chat(ask())


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


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        (httpx.Response(200, content=b'{"choices": [{"mess'), "bad_json"),
        (httpx.Response(200, content=b"[1]"), "bad_shape"),
        (httpx.Response(200, json={"choices": []}), "bad_shape"),
        (says(["a"]), "bad_shape"),
        (says("  \n"), "empty"),
        (refuses(503, "overloaded"), "http_503"),
        (httpx.ConnectError("refused"), "connect"),
        (httpx.ConnectTimeout("slow"), "connect"),
        (httpx.ReadTimeout("slow"), "timeout"),
        (httpx.RemoteProtocolError("gone"), "dropped"),
        (httpx.Response(200, content=b"[" * 100_000), "bad_json"),
        (httpx.Response(200, content=b" " * (17 << 20)), "too_large"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_each_kind_of_failure_has_its_name(
    response: httpx.Response | Exception, kind: str
) -> None:
    chat = chat_over(Script(response), limits=EndpointLimits(retries=0))
    with pytest.raises(EndpointError, match=f": {kind}: "):
        await chat.chat(ask())
    assert chat.ledger.failures == {kind: 1}


async def test_a_path_that_is_not_there_asks_for_base_url_and_model() -> None:
    with pytest.raises(
        EndpointError, match=r"HTTP 404: no route .*base_url end in /v1.*model_name"
    ):
        await chat_over(Script(refuses(404, "no route"))).chat(ask())


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": -1, "completion_tokens": 2},
        {"prompt_tokens": True},
        {"prompt_tokens": 0, "completion_tokens": 0},
        "many",
    ],
    ids=["none", "empty", "negative", "bool", "zero", "text"],
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


async def test_load_goes_to_all_servers_and_leaves_one_that_fails() -> None:
    hosts: list[str] = []

    async def serve(request: httpx.Request) -> httpx.Response:
        hosts.append(request.url.host)
        await asyncio.sleep(0.005)
        return refuses(500) if request.url.host == "b.test" else says("4")

    chat = OpenAIChat(
        "m",
        ["http://a.test/v1", "http://b.test/v1", "http://c.test/v1"],
        limits=EndpointLimits(backoff_s=0.001),
        transport=httpx.MockTransport(serve),
    )
    replies = await asyncio.gather(*(chat.chat(ask()) for _ in range(9)))
    assert {reply.text for reply in replies} == {"4"}
    assert hosts[:9].count("a.test") == hosts[:9].count("b.test") == 3
    hosts.clear()
    await asyncio.gather(*(chat.chat(ask()) for _ in range(6)))
    assert sorted(hosts) == ["a.test"] * 3 + ["c.test"] * 3


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


async def test_the_probe_lists_what_is_served() -> None:
    models = httpx.Response(200, json={"data": [{"id": "other"}, {"id": "third"}]})
    with pytest.raises(ModelError, match=r"model 'm' is not served \(served: other, third\)"):
        await chat_over(Script(models)).probe()
    await chat_over(Script(models), model_name="third").probe()


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (httpx.ConnectError("Connection refused"), "not reachable (Connection refused); start"),
        (httpx.ReadTimeout(""), "no answer in 10 s"),
        (refuses(401), "the API key was refused"),
        (httpx.Response(200, text="<html>"), "does base_url end in /v1?"),
    ],
    ids=["down", "silent", "key", "not-an-endpoint"],
)
async def test_the_probe_says_in_one_line_what_to_do(
    response: httpx.Response | Exception, message: str
) -> None:
    with pytest.raises(ModelError) as raised:
        await chat_over(Script(response)).probe()
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


async def test_an_endpoint_without_a_model_list_passes_the_probe() -> None:
    await chat_over(Script(refuses(404))).probe()


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


@pytest.mark.parametrize("proxy", ["nosuch://someone:hunter2@proxy:1", "http://proxy:port"])
async def test_a_client_that_cannot_be_opened_says_why_and_closes_quietly(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    for name in ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(ModelError, match="proxy settings of the environment") as raised:
        async with OpenAIChat("m", URL).opened() as chat:
            await chat.probe()
    assert "hunter2" not in str(raised.value)
    await chat.aclose()


class CountingProxy(BaseHTTPRequestHandler):
    """Refuses everything, and keeps what it was asked for."""

    seen: ClassVar[list[str]]

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_error(502)

    def log_message(self, *_: object) -> None: ...


@pytest.mark.parametrize(
    ("no_proxy", "by_proxy"),
    [
        (False, True),
        ("localhost,127.0.0.1", True),
        ("localhost, 127.0.0.2", False),
        (True, False),
        ("*", False),
    ],
)
async def test_hosts_of_no_proxy_are_asked_without_the_proxy(
    monkeypatch: pytest.MonkeyPatch, no_proxy: bool | str, by_proxy: bool
) -> None:
    for name in ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)

    class Proxy(CountingProxy):
        seen: ClassVar[list[str]] = []

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.server_address[1]}")
        for host in ("127.0.0.2", "127.0.0.1"):  # nothing listens on port 9
            with pytest.raises(ModelError):
                async with OpenAIChat("m", f"http://{host}:9/v1", no_proxy=no_proxy).opened() as c:
                    await c.probe()
        server.shutdown()
    assert {path.split("/")[2] for path in Proxy.seen} == ({"127.0.0.2:9"} if by_proxy else set())


async def test_a_missing_key_is_not_called_refused() -> None:
    with pytest.raises(ModelError, match="it wants a key, and none was given"):
        await chat_over(Script(refuses(401)), api_key="").probe()
