"""The embedded server with a real model: what a reply depends on, and what is refused."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from llm_as_judge.errors import ContextError, ModelError
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.local import EmbeddedServer, ServerSettings
from llm_as_judge.types import ChatRequest, Message
from small_weights import small_weights

pytestmark = pytest.mark.slow

SHIP = ChatRequest(
    (Message("user", "Write one sentence about a ship and a number."),),
    max_tokens=24,
    temperature=1.0,
    seed=3,
)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    settings = ServerSettings(slots=8, context_tokens=512)
    with EmbeddedServer(small_weights(), "smollm2-135m", settings) as started:
        yield started


def client(server: EmbeddedServer) -> OpenAIChat:
    limits = EndpointLimits(timeout_s=300, retries=0)
    return OpenAIChat("smollm2-135m", server.base_url, api_key=server.api_key, limits=limits)


async def test_a_reply_is_the_same_alone_and_among_others(server: EmbeddedServer) -> None:
    requests = [
        replace(
            SHIP,
            messages=(Message("user", f"Write one sentence about {n} ships."),),
            temperature=float(n % 2),  # every second one is greedy
            seed=n,
        )
        for n in range(1, 9)
    ]
    async with client(server).opened() as chat:
        alone = [(await chat.chat(request)).text for request in requests]
        among = [reply.text for reply in await asyncio.gather(*map(chat.chat, requests))]
    assert same_but_for_rounding(among, alone)
    assert len(set(alone)) > 4


@pytest.mark.chaos
async def test_draws_of_one_request_are_those_of_requests_with_the_seeds_that_follow(
    server: EmbeddedServer,
) -> None:
    async with client(server).opened() as chat:
        single = [await chat.chat(SHIP.later(draw)) for draw in range(8)]
        together = await chat.draws(SHIP, 8)
        assert (await chat.known_draws()).count_each is False
    texts = [draw.text for draw in together]
    assert same_but_for_rounding(texts, [draw.text for draw in single])
    assert len(set(texts)) > 4
    if texts == [draw.text for draw in single]:
        assert sum(d.usage.completion_tokens for d in together) == sum(
            d.usage.completion_tokens for d in single
        )


async def test_a_reply_has_the_log_probs_of_the_models_own_distribution(
    server: EmbeddedServer,
) -> None:
    limits = EndpointLimits(timeout_s=300, retries=0, logprobs=0)
    asked = OpenAIChat("smollm2-135m", server.base_url, api_key=server.api_key, limits=limits)
    async with asked.opened() as chat, client(server).opened() as plain:
        greedy = await chat.chat(replace(SHIP, temperature=0.0))
        nearly = await chat.chat(replace(SHIP, temperature=0.01))
        hot = await chat.chat(replace(SHIP, temperature=1.5))
        together = await chat.draws(SHIP, 4)
        without = await plain.chat(replace(SHIP, temperature=0.0))
    assert (without.text, without.logprobs) == (greedy.text, None)
    for reply in (greedy, hot, *together):
        assert reply.logprobs is not None
        assert reply.logprobs.tokens == reply.usage.completion_tokens
        assert reply.logprobs.entropy is None
    assert greedy.logprobs is not None
    assert nearly.logprobs is not None
    assert hot.logprobs is not None
    if nearly.text == greedy.text:
        assert nearly.logprobs.mean == pytest.approx(greedy.logprobs.mean, abs=0.02)
    assert hot.logprobs.mean < greedy.logprobs.mean < 0


def same_but_for_rounding(texts: list[str], others: list[str]) -> bool:
    """Five of eight agree: who else is in the batch rounds otherwise, and two tokens can be as likely.

    A generator or a cache that two requests share changes nearly all.
    """
    return sum(map(str.__eq__, texts, others)) >= 5


async def test_the_server_chats_by_schema_lists_its_model_and_wants_its_key(
    server: EmbeddedServer,
) -> None:
    schema = {"type": "object", "properties": {"sum": {"enum": [4]}}, "required": ["sum"]}
    async with client(server).opened() as chat:
        await chat.probe()
        reply = await chat.chat(replace(SHIP, json_schema=schema))
    assert '"sum"' in reply.text
    assert reply.usage.completion_tokens > 0
    async with OpenAIChat("smollm2-135m", server.base_url, api_key="wrong").opened() as thief:
        with pytest.raises(ModelError, match="API key was refused"):
            await thief.probe()


async def test_a_reply_ends_at_its_limit_or_before_its_stop_string(server: EmbeddedServer) -> None:
    async with client(server).opened() as chat:
        cut = await chat.chat(replace(SHIP, temperature=0.0, max_tokens=5))
        assert (cut.finish_reason, cut.usage.completion_tokens) == ("length", 5)
        whole = await chat.chat(replace(SHIP, temperature=0.0))
        mark = whole.text.split()[3]
        stopped = await chat.chat(replace(SHIP, temperature=0.0, stop=(mark,)))
    assert stopped.text == whole.text[: whole.text.index(mark)]
    assert stopped.finish_reason == "stop"


async def test_a_prompt_that_fills_the_context_is_refused_and_one_that_nearly_does_is_cut(
    server: EmbeddedServer,
) -> None:
    async with client(server).opened() as chat:
        with pytest.raises(ContextError, match="context size is 512"):
            await chat.chat(replace(SHIP, messages=(Message("user", "word " * 600),)))
        near = replace(
            SHIP,
            messages=(Message("user", "word " * 470),),
            max_tokens=400,
            json_schema={"type": "array", "items": {"const": 1}, "minItems": 400},
        )
        reply = await chat.chat(near)
    assert reply.finish_reason == "length"
    assert reply.usage.prompt_tokens + reply.usage.completion_tokens == 512


@pytest.mark.chaos
async def test_a_request_whose_client_has_gone_is_worked_on_no_more(server: EmbeddedServer) -> None:
    endless = {
        "messages": [{"role": "user", "content": "Count."}],
        "max_tokens": 450,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"schema": {"type": "array", "items": {"const": 1}, "minItems": 400}},
        },
    }
    key = {"Authorization": f"Bearer {server.api_key}"}
    url = f"{server.base_url}/chat/completions"
    async with httpx.AsyncClient(headers=key, timeout=1.0) as impatient:
        with pytest.raises(httpx.ReadTimeout):
            await impatient.post(url, json=endless)
    await idle(server)


async def idle(server: EmbeddedServer) -> None:
    """Until the server's processor time stands still; a request that goes on would not end here."""
    stat, before, still = Path(f"/proc/{server.pid}/stat"), -1, 0
    deadline = time.monotonic() + 120
    while still < 3:
        assert time.monotonic() < deadline, "it works on"
        await asyncio.sleep(0.3)
        fields = stat.read_text().rpartition(")")[2].split()
        used = int(fields[11]) + int(fields[12])
        still = still + 1 if used == before else 0
        before = used


@pytest.mark.chaos
async def test_a_prompt_is_never_cut_at_the_models_own_context() -> None:
    settings = ServerSettings(slots=1, context_tokens=16_384)  # twice the model's
    with EmbeddedServer(small_weights(), "smollm2-135m", settings) as server:
        async with client(server).opened() as chat:
            with pytest.raises(ContextError, match="context size is 8192"):
                await chat.chat(replace(SHIP, messages=(Message("user", "word " * 9_000),)))


@pytest.mark.chaos
def test_slots_that_no_memory_holds_are_one_line_that_says_what_to_lower() -> None:
    settings = ServerSettings(slots=1_000_000, context_tokens=4096)
    with pytest.raises(ModelError, match=r"1000000 slots of 4096 tokens.*lower executor\.slots"):
        EmbeddedServer(small_weights(), "smollm2-135m", settings).start()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"messages": []}, "messages"),
        ({"temperature": -1}, "temperature"),
        ({"stream": True}, "stream is not supported"),
        ({"logprobs": True, "top_logprobs": 2}, "top_logprobs is not supported"),
        ({"n": 9}, "at most 8"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_honored_is_refused(
    server: EmbeddedServer, fields: dict[str, object], said: str
) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1, **fields}
    key = {"Authorization": f"Bearer {server.api_key}"}
    response = httpx.post(f"{server.base_url}/chat/completions", json=body, headers=key)
    assert response.status_code == 400
    assert said in response.json()["error"]["message"]


def test_the_engine_loads_without_what_would_report_to_anybody() -> None:
    code = (
        "import sys\nfrom llm_as_judge.llm import local_server\nlocal_server.without_telemetry()\n"
        "import openvino_genai\n"
        "print([m for m in sys.modules if m.startswith('openvino_telemetry') and sys.modules[m]])"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
