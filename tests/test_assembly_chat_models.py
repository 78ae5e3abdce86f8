"""Names -> chat models: an endpoint's settings are applied, a replay starts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from fault_endpoint import FaultEndpoint
from llm_as_judge.assembly.chat_models import (
    ChatModels,
    embedded_limits,
    embedded_servers_kept,
    require_known_models,
    start_embedded,
)
from llm_as_judge.assembly.executor_settings import estimate_of, operator_settings
from llm_as_judge.config import Config, load_config
from llm_as_judge.errors import BudgetError, ConfigError, ModelError
from llm_as_judge.llm.client import OpenAIChat
from llm_as_judge.llm.estimate import Means
from llm_as_judge.llm.gathered import GatheredDraws
from llm_as_judge.llm.ledger import Budget, Price, Totals
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recording import Outcome
from llm_as_judge.llm.shared import request_digest
from llm_as_judge.types import ChatReply, ChatRequest, Message, Problem, Usage
from small_weights import small_weights

PRICES = {"usd_per_million_prompt_tokens": 2.0, "usd_per_million_completion_tokens": 8.0}
HELLO = ChatReply("hello", "stop", Usage())
ASK = ChatRequest((Message("user", "p1 say hello"),), max_tokens=16)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "config").mkdir()
    return tmp_path


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as opened:
        yield opened


@pytest.fixture
async def server() -> AsyncIterator[FaultEndpoint]:
    async with FaultEndpoint(0.0) as one:
        yield one


def endpoint(**keys: Any) -> None:
    Path("config/aflow_llm.yaml").write_text(yaml.safe_dump({"models": {"served": keys}}))


def config(**sections: Any) -> Config:
    executor = {"model": "served", "retries": 0, **sections.pop("executor", {})}
    return Config.model_validate({"executor": executor, "judge": {"model": "none"}, **sections})


async def opened(stack: AsyncExitStack, settings: Config) -> Any:
    return await ChatModels(settings, stack).open(settings.executor.model, "executor")


# ------------------------------------------------------------------------------------- endpoints
async def test_rates_thoughts_and_price_of_an_endpoint_reach_its_client(
    server: FaultEndpoint, stack: AsyncExitStack
) -> None:
    endpoint(
        base_url=server.url,
        requests_per_minute=6000,
        tokens_per_minute=1e6,
        thinking_tokens=500,
        reasoning_effort="low",
        **PRICES,
    )
    chat = await opened(
        stack, config(executor={"concurrency": 7, "timeout_s": 9, "draws_at_once": 1})
    )
    assert isinstance(chat, OpenAIChat)
    assert (chat.limits.requests_per_minute, chat.limits.tokens_per_minute) == (6000, 1e6)
    assert (chat.limits.thinking_tokens, chat.limits.reasoning_effort) == (500, "low")
    assert (chat.limits.concurrency, chat.limits.timeout_s) == (7, 9)
    assert chat.price == Price(2.0, 8.0)


@pytest.mark.parametrize(
    ("of_endpoint", "of_executor", "wanted"),
    [
        ({}, {}, (0.0, 0.0, 1.0)),
        ({"temperature": 0.6, "top_p": 0.9}, {}, (0.6, 0.6, 0.9)),
        ({"temperature": 0.6, "top_p": 0.9}, {"temperature": 0.0, "top_p": 1.0}, (0.0, 0.0, 1.0)),
        ({}, {"temperature": 0.7}, (0.7, 0.0, 1.0)),
        ({"temperature": 0.6}, {"temperature": 0.7}, (0.7, 0.6, 1.0)),
    ],
    ids=["neither", "endpoint", "executor wins", "executor drafts", "both"],
)
def test_temperature_and_top_p_of_the_endpoint_apply_where_the_executor_says_nothing(
    of_endpoint: dict[str, float], of_executor: dict[str, float], wanted: tuple[float, ...]
) -> None:
    endpoint(base_url="http://localhost:1/v1", **of_endpoint)
    settings = operator_settings(config(executor=of_executor))
    assert (settings.temperature, settings.steady_temperature, settings.top_p) == wanted


@pytest.mark.parametrize(
    ("own", "of_training", "wanted"), [(None, 4, 4), (0, 4, 0), (2, 4, 2_000_006)]
)
def test_the_executors_seed_is_its_own_or_that_of_the_training(
    own: int | None, of_training: int, wanted: int
) -> None:
    settings = operator_settings(config(executor={"seed": own}, training={"seed": of_training}))
    assert settings.seed == wanted


async def test_draws_are_gathered_unless_the_configuration_says_one_a_request(
    server: FaultEndpoint, stack: AsyncExitStack
) -> None:
    endpoint(base_url=server.url)
    assert isinstance(await opened(stack, config()), GatheredDraws)


async def test_draws_that_an_executor_cannot_give_at_once_are_one_line_that_names_it(
    server: FaultEndpoint, stack: AsyncExitStack
) -> None:
    two_endpoints(server.url, server.url)
    chats = ChatModels(several({"model": "little"}, executor={"draws_at_once": 4}), stack)
    for name, role in (("served", "executor"), ("little", "executor small")):
        with pytest.raises(
            ModelError, match=rf"draws_at_once: 4, but {role} {name} gives one"
        ) as e:
            await chats.open(name, role)
        assert "\n" not in str(e.value)


@pytest.mark.slow
@pytest.mark.chaos
async def test_an_embedded_server_that_is_kept_serves_the_next_system_and_ends_with_the_last() -> (
    None
):
    small_weights()
    settings = load_config("smoke")
    name = settings.executor.model
    with embedded_servers_kept():
        async with AsyncExitStack() as stack:
            first = await start_embedded(stack, settings, name)
        async with AsyncExitStack() as stack:
            second = await start_embedded(stack, settings, name)
        assert second is first
        assert first.alive()
    assert not first.alive()
    async with AsyncExitStack() as stack:
        alone = await start_embedded(stack, settings, name)
        assert alone is not first
    assert not alone.alive()


@pytest.mark.parametrize(("concurrency", "slots", "at_once"), [(64, 4, 4), (2, 8, 2)])
def test_an_embedded_server_never_has_more_requests_than_slots(
    concurrency: int, slots: int, at_once: int
) -> None:
    executor = {"concurrency": concurrency, "slots": slots, "timeout_s": 7, "retries": 1}
    limits = embedded_limits(config(executor=executor))
    assert (limits.concurrency, limits.timeout_s, limits.retries) == (at_once, 7, 1)


async def test_a_name_that_is_nowhere_lists_what_there_is(stack: AsyncExitStack) -> None:
    endpoint(base_url="http://localhost:1/v1")
    with pytest.raises(ConfigError, match=r"executor\.model: no 'gone' \(known: served, qwen"):
        await opened(stack, config(executor={"model": "gone"}))


# ----------------------------------------------------------------------------- several executors
def several(*small: dict[str, Any], **sections: Any) -> Config:
    names = ("small", "tiny")[: len(small)]
    return config(executors=dict(zip(names, small, strict=True)), **sections)


def two_endpoints(default: str, small: str, **keys: Any) -> None:
    cheap = {name: price / 8 for name, price in PRICES.items()}
    models = {
        "served": {"base_url": default, **PRICES},
        "little": {"base_url": small, "model_name": "served", **cheap, **keys},
    }
    Path("config/aflow_llm.yaml").write_text(yaml.safe_dump({"models": models}))


async def test_each_executor_is_opened_and_asked_for_what_names_it() -> None:
    async with (
        FaultEndpoint(0.0) as one,
        FaultEndpoint(0.0) as two,
        AsyncExitStack() as stack,
    ):
        two_endpoints(one.url, two.url)
        chats = ChatModels(several({"model": "little"}), stack)
        executor = await chats.open_executors()
        await executor.chat(ASK)
        await executor.chat(replace(ASK, executor="small"))
        await executor.chat(replace(ASK, executor="small"))
        assert (sum(one.met.values()), sum(two.met.values())) == (1, 2)
        bills = chats.ledger.by_role
        assert (bills["executor"].calls, bills["executor small"].calls) == (1, 2)
        assert bills["executor small"].cost == pytest.approx(2 * bills["executor"].cost / 8)
        assert bills["executor small"].priced_usd == pytest.approx(bills["executor"].priced_usd / 4)


def test_the_price_is_said_or_that_of_the_dollars_or_it_is_one_line() -> None:
    two_endpoints("http://localhost:1/v1", "http://localhost:2/v1", temperature=0.4, top_p=0.5)
    asking = operator_settings(several({"model": "little"})).executors["small"]
    assert (asking.model, asking.written_price, asking.prompt_price) == ("little", 0.125, 0.25)
    assert (asking.temperature, asking.steady_temperature, asking.top_p) == (0.4, 0.4, 0.5)
    said = operator_settings(several({"model": "little", "price": 0.5})).executors["small"]
    assert said.written_price == 0.5
    with pytest.raises(ConfigError, match=r"executors\.small\.price: not set, .*; set it") as told:
        operator_settings(several({"model": "scripted"}))
    assert "\n" not in str(told.value)


async def test_scripted_executors_are_models_of_their_own(stack: AsyncExitStack) -> None:
    small = {"model": "scripted", "price": 0.5}
    settings = several(small, small, executor={"model": "scripted"})
    executor = await ChatModels(settings, stack).open_executors()
    replies = [(await executor.chat(replace(ASK, executor=e))).text for e in ("", "small", "tiny")]
    assert len(set(replies)) == 3


@pytest.mark.parametrize(
    ("small", "said"),
    [
        ({"model": "gone", "price": 1}, r"model: no 'gone' \(known: little, served"),
        ({"model": "qwen25-7b", "price": 1}, "model: 'qwen25-7b' is safetensors"),
        ({"model": "served", "price": 1}, r"model: 'served' is executor\.model alr"),
        ({"model": "scripted"}, "price: not set, and not known"),
    ],
    ids=["unknown", "not served", "the default one", "no price"],
)
async def test_an_executor_that_cannot_be_asked_is_one_line(
    small: dict[str, Any], said: str, server: FaultEndpoint, stack: AsyncExitStack
) -> None:
    two_endpoints(server.url, server.url)
    for check in (
        lambda: ChatModels(several(small), stack).open_executors(),
        lambda: asyncio.to_thread(require_known_models, several(small)),
    ):
        with pytest.raises(ConfigError, match=rf"executors\.small\.{said}") as told:
            await check()
        assert "\n" not in str(told.value)


def test_an_estimate_takes_the_dearest_executor_or_what_was_measured() -> None:
    two_endpoints("http://localhost:1/v1", "http://localhost:2/v1", thinking_tokens=50)
    problem = Problem("a/b/1", "gsm8k", "math", "x" * 400)
    cheap, dear = (several({"model": "little", "price": p}) for p in (0.125, 4.0))
    alone = estimate_of(config(), 10, [problem], None)
    assert estimate_of(cheap, 10, [problem], None).cost == alone.cost
    assert estimate_of(dear, 10, [problem], None).cost == pytest.approx(4 * alone.cost)
    assert estimate_of(cheap, 1, [problem], None).most_completion_tokens == 32 * (2048 + 50)
    measured = Means(2.0, 100.0, 10.0, 5, cost=7.5, cost_usd=0.25)
    found = estimate_of(cheap, 10, [problem], measured)
    assert (found.cost, found.cost_usd) == (75.0, 2.5)


# --------------------------------------------------------------------------------------- budgets
async def test_a_budget_in_dollars_without_a_price_is_said_before_the_run(
    stack: AsyncExitStack,
) -> None:
    endpoint(base_url="http://localhost:1/v1")
    where = r"budget\.usd: the price of executor 'served'.* \S*aflow_llm\.yaml: models\.served, or"
    with pytest.raises(ConfigError, match=where):
        await opened(stack, config(budget={"usd": 1.0}))


async def test_a_call_beyond_the_budget_is_not_sent(
    server: FaultEndpoint, stack: AsyncExitStack
) -> None:
    endpoint(base_url=server.url, **PRICES)
    chat = await opened(stack, config(budget={"calls": 2}))
    for _ in range(2):
        await chat.chat(ASK)
    with pytest.raises(BudgetError, match="2 of 2 calls used"):
        await chat.chat(ASK)
    assert sum(server.met.values()) == 2


# ----------------------------------------------------------------------------- cache, record, replay
async def test_what_was_recorded_is_replayed_when_the_server_is_gone(folder: Path) -> None:
    calls = {"folder": folder / "calls"}
    async with FaultEndpoint(0.0) as server, AsyncExitStack() as stack:
        endpoint(base_url=server.url)
        chat = await opened(stack, config(calls={**calls, "mode": "record"}))
        told = await chat.chat(ASK)
    Path("config/aflow_llm.yaml").write_text("models: {}\n")
    async with AsyncExitStack() as stack:
        chats = ChatModels(config(calls={**calls, "mode": "replay"}), stack)
        chat = await chats.open("served", "executor")
        assert await chat.chat(ASK) == replace(told, cached=True)
        assert chats.ledger.total.prompt_tokens == told.usage.prompt_tokens
        with pytest.raises(ModelError, match="the run differs from the recorded one"):
            await chat.chat(ChatRequest((Message("user", "something else"),), 16))


@pytest.mark.parametrize(
    ("mode", "place", "said"),
    [
        ("replay", "empty", r"no recorded calls in .*empty; record a run first"),
        ("record", "calls", "holds a pool that runs share; name another folder"),
        ("cache", "prog.py", "is a file; name a folder"),
    ],
)
async def test_a_folder_that_does_not_fit_the_mode_is_told_and_left_alone(
    folder: Path, stack: AsyncExitStack, mode: str, place: str, said: str
) -> None:
    Pool(folder / "calls")
    (folder / "prog.py").write_text("x = 1\n")
    with pytest.raises((ConfigError, ModelError), match=said):
        await opened(stack, config(calls={"mode": mode, "folder": folder / place}))
    assert [path.name for path in folder.glob("prog*")] == ["prog.py"]


async def test_a_replay_reads_a_pool_or_else_a_recording(folder: Path) -> None:
    asked, key = {"model": "scripted", "request": ASK}, request_digest("scripted", ASK)
    kept = Pool(folder / "pool")
    kept.put(key, asked, Outcome(HELLO))
    (folder / "recording").mkdir()
    kept.export(folder / "recording" / "calls.jsonl")
    for name in ("pool", "recording", "recording/calls.jsonl"):
        async with AsyncExitStack() as stack:
            calls = {"mode": "replay", "folder": folder / name}
            chat = await ChatModels(config(calls=calls), stack).open("scripted", "executor")
            assert (await chat.chat(ASK)).text == HELLO.text


async def test_a_pool_of_other_weights_is_not_opened(folder: Path, stack: AsyncExitStack) -> None:
    pool = Pool(folder / "calls")
    pool.of("scripted", {"weights": "other", "prompts": "", "seed": "0"})
    pool.put("0" * 64, {"model": "scripted"}, Outcome(HELLO))
    chats = ChatModels(config(calls={"mode": "cache", "folder": folder / "calls"}), stack)
    with pytest.raises(ConfigError, match="of weights other, and now they are scripted"):
        await chats.open("scripted", "executor")


# -------------------------------------------------------------------------------------- estimates
def test_an_estimate_from_the_configuration_is_worked_by_hand() -> None:
    endpoint(base_url="http://localhost:1/v1", **PRICES)
    settings = config(executor={"max_tokens": 100}, workflow={"max_worst_case_calls": 5})
    problem = Problem("a/b/1", "gsm8k", "math", "x" * (400 - len("Question: ") + 10))
    assert len(problem.statement()) == 400
    found = estimate_of(settings, 10, [problem], None)
    # two calls of 400 / 4 + 150 read and 100 written tokens
    assert (found.calls, found.usage.prompt_tokens, found.usage.completion_tokens) == (
        20,
        10 * 2 * 250,
        10 * 2 * 100,
    )
    assert found.cost_usd == pytest.approx((5000 * 2.0 + 2000 * 8.0) / 1e6)
    assert (found.most_calls, found.most_completion_tokens) == (50, 5000)
    limited = config(executor={"max_tokens": 100}, workflow={"max_calls": 3})
    assert estimate_of(limited, 10, [problem], None).most_calls == 30
    assert found.exceeds(Budget(calls=20), Totals()) == ""
    assert "budget.calls = 20 " in found.exceeds(Budget(calls=20), Totals(attempts=1))
    assert "budget.tokens = 6,999 may " in found.exceeds(Budget(tokens=6999), Totals())
    assert "budget.usd" in found.exceeds(Budget(usd=0.02), Totals(priced_usd=0.01))


async def test_a_pool_that_has_every_reply_starts_no_server(
    folder: Path, monkeypatch: pytest.MonkeyPatch, stack: AsyncExitStack
) -> None:
    settings = load_config("embedded", overrides=["calls.mode=cache"])
    name, started = settings.executor.model, list[str]()
    pool = Pool(settings.calls.folder)
    pool.put(request_digest(name, ASK), {"model": name, "request": ASK}, Outcome(HELLO))
    pool.close()

    async def no_server(stack: AsyncExitStack, config: Config, which: str) -> Any:
        started.append(which)
        raise ModelError("no weights")

    monkeypatch.setattr("llm_as_judge.assembly.chat_models.start_embedded", no_server)
    chat = await opened(stack, settings)
    assert (await chat.chat(ASK)).text == HELLO.text
    assert started == []
    with pytest.raises(ModelError, match="no weights"):  # what it lacks starts one
        await chat.chat(replace(ASK, draw=1))
    assert started == [name]
