"""``PROVIDER/MODEL`` is an endpoint with its provider's address, key and, where it is known, price."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from llm_as_judge.assembly.chat_models import ChatModels
from llm_as_judge.assembly.executor_settings import price_of
from llm_as_judge.config import load_config, load_endpoints
from llm_as_judge.config.endpoints import Endpoint
from llm_as_judge.config.providers import prices, provided, provider_of, providers
from llm_as_judge.errors import ConfigError
from llm_as_judge.llm.ledger import Price


@pytest.fixture(autouse=True)
def _no_keys_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LLM_AS_JUDGE_CONFIG", raising=False)
    for one in providers().values():
        if one.api_key:
            monkeypatch.delenv(one.api_key, raising=False)


def test_the_model_keeps_the_slashes_behind_its_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "a-key")
    one = load_endpoints()["openrouter/qwen/qwen3-32b"]
    assert (one.base_url, one.model_name) == ("https://openrouter.ai/api/v1", "qwen/qwen3-32b")
    assert one.api_key.get_secret_value() == "a-key"
    assert price_of(one) is None, "who serves it decides the price"


@pytest.mark.parametrize("name", sorted(prices()))
def test_a_price_of_the_table_is_the_endpoints(name: str) -> None:
    listed = prices()[name]
    assert provider_of(name), "a price of a provider that nobody can name"
    assert listed.page.startswith("https://")
    assert price_of(load_endpoints()[name]) == Price(
        listed.prompt, listed.completion, listed.cached
    )


@pytest.mark.parametrize("name", sorted(providers()))
def test_every_provider_makes_a_whole_endpoint(name: str) -> None:
    entry = provided(f"{name}/some-model")
    assert entry is not None
    assert Endpoint.model_validate(entry).model_name == "some-model"


@pytest.mark.parametrize(
    "name", ["groq", "groq/", "acme/model", "mistral/model.gguf", "/models/mine", ""]
)
def test_what_is_no_model_of_a_provider_stays_what_it_was(name: str) -> None:
    assert name not in load_endpoints()


def test_weights_of_a_listed_hub_id_go_before_a_provider_of_that_name() -> None:
    config = load_config(overrides=["executor.model=openai/gpt-oss-120b"])
    assert config.executor.model == "gpt-oss-120b"


def test_an_own_file_replaces_an_address_and_a_price(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "providers.yaml").write_text(
        "providers: {vllm: {base_url: 'http://gpu-7:9000/v1'}}\n"
        "prices: {vllm/m: {prompt: 1, completion: 2, read: 2026-11-03}}\n"
    )
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(tmp_path))
    one = load_endpoints()["vllm/m"]
    assert (one.base_url, price_of(one)) == ("http://gpu-7:9000/v1", Price(1.0, 2.0))
    assert "groq" in providers(), "the shipped ones stay"


def test_a_missing_key_is_one_line_with_its_variable() -> None:
    config = load_config(overrides=["executor.model=groq/llama-3.1-8b-instant"])

    async def opened() -> None:
        async with AsyncExitStack() as stack:
            await ChatModels(config, stack).open(config.executor.model, "executor")

    with pytest.raises(ConfigError, match="no key; set the environment variable GROQ_API_KEY"):
        asyncio.run(opened())
