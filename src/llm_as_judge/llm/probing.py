"""What an endpoint is asked before work is sent to it: its models, and requests of one word."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.replicas import Replica
from llm_as_judge.llm.transport import read_post
from llm_as_judge.llm.wire import Unusable


async def served_models(
    http: httpx.AsyncClient,
    server: Replica,
    where: str,
    wait_s: float,
    hide: Callable[[str], str],
) -> list[str] | None:
    """Model ids of ``server``; None where it has no list.

    Args:
        where: begins every message.
        hide: takes the key out of a text.
    Raises:
        ModelError: not reachable, key refused, or no OpenAI-compatible endpoint.
    """
    try:
        response = await http.get(f"{server.base_url}/models", timeout=wait_s)
    except httpx.TimeoutException:
        raise ModelError(f"{where}: no answer in {wait_s:g} s; is the server up?") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ModelError(
            f"{where}: not reachable ({hide(str(error)) or type(error).__name__}); "
            "start the server or correct base_url"
        ) from None
    if response.status_code in (401, 403):
        given = "authorization" in http.headers
        what = "the API key was refused" if given else "it wants a key, and none was given"
        raise ModelError(f"{where}: {what}; set OPENAI_API_KEY or api_key")
    if response.status_code in (404, 405, 501):
        if await _lists_below_v1(http, server, wait_s):
            raise ModelError(
                f"{where}: no such page there, and its models are listed at /v1/models; write "
                f"base_url: {server.shown}/v1"
            )
        return None
    try:
        return [str(model["id"]) for model in response.json()["data"]]
    except (ValueError, KeyError, TypeError):
        raise ModelError(
            f"{where}: /models answered HTTP {response.status_code} without a list of models; "
            "does base_url end in /v1?"
        ) from None


async def _lists_below_v1(http: httpx.AsyncClient, server: Replica, wait_s: float) -> bool:
    """Whether the address only lacks its /v1: every request would be a page not found."""
    try:
        response = await http.get(f"{server.base_url}/v1/models", timeout=wait_s)
        return isinstance(response.json()["data"], list)
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return False


async def answered(
    http: httpx.AsyncClient, server: Replica, body: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The response to one request: an object with a list of choices; None if it is refused."""
    try:
        status, _, content = await read_post(
            http, f"{server.base_url}/chat/completions", dict(body)
        )
        data = json.loads(content)
    except (httpx.HTTPError, Unusable, ValueError):
        return None
    whole = status == 200 and isinstance(data, dict) and isinstance(data.get("choices"), list)
    return data if whole else None
