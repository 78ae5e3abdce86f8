"""Probes of an endpoint before work is sent to it, with and without a proxy."""

from __future__ import annotations

import httpx
import pytest
from scripted_endpoint import URL, Script, chat_over, refuses

from http_answers import answering
from llm_as_judge.errors import ModelError
from llm_as_judge.llm.client import OpenAIChat


@pytest.fixture(autouse=True)
def _no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (httpx.ConnectError("Connection refused"), "not reachable (Connection refused); start"),
        (refuses(401), "the API key was refused"),
        (httpx.Response(200, text="<html>"), "does base_url end in /v1?"),
    ],
    ids=["down", "key", "not-an-endpoint"],
)
async def test_the_probe_says_in_one_line_what_to_do(
    response: httpx.Response | Exception, message: str
) -> None:
    with pytest.raises(ModelError) as raised:
        await chat_over(Script(response)).probe()
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


async def test_an_address_that_lacks_its_v1_is_told_so_before_work_is_sent() -> None:
    models = httpx.Response(200, json={"data": [{"id": "m"}]})
    with pytest.raises(ModelError, match=r"no such page there, .* write base_url: \S+/v1$"):
        await chat_over(Script(refuses(404), models)).probe()


@pytest.mark.parametrize("proxy", ["nosuch://someone:hunter2@proxy:1", "http://proxy:port"])
async def test_a_client_that_cannot_be_opened_says_why_and_closes_quietly(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(ModelError, match="proxy settings of the environment") as raised:
        async with OpenAIChat("m", URL).opened() as chat:
            await chat.probe()
    assert "hunter2" not in str(raised.value)
    await chat.aclose()


@pytest.mark.slow
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
    seen: list[str] = []

    def refused(path: str) -> int:
        seen.append(path)
        return 502

    with answering(refused) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy)
        for host in ("127.0.0.2", "127.0.0.1"):  # nothing listens on port 9
            with pytest.raises(ModelError):
                async with OpenAIChat("m", f"http://{host}:9/v1", no_proxy=no_proxy).opened() as c:
                    await c.probe()
    assert {path.split("/")[2] for path in seen} == ({"127.0.0.2:9"} if by_proxy else set())
