"""One request on the wire: a deadline, a bound on the response, and one name for each way to fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from llm_as_judge.llm.replicas import Replica
from llm_as_judge.llm.wire import Unusable

CONNECT_S = 10.0
POOL = httpx.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=2.0)
"""Servers made with uvicorn (vLLM) close a connection that was idle for 5 s. httpx would use one just
as long, and now and then send a request into a connection that is being closed."""
_MAX_BODY = 16 * 2**20


async def post_json(
    http: httpx.AsyncClient,
    server: Replica,
    path: str,
    body: Mapping[str, Any],
    *,
    timeout_s: float,
    hide: Callable[[str], str] = str,
) -> tuple[int, httpx.Headers, bytes]:
    """Status, headers and content of the answer to a POST.

    Args:
        path: below the server's address, e.g. ``/chat/completions``.
        timeout_s: for the whole exchange.
        hide: takes secrets out of what the transport says.
    Raises:
        Unusable: ``connect``, ``timeout``, ``dropped`` or ``too_large``.
    """
    try:
        return await asyncio.wait_for(read_post(http, f"{server.base_url}{path}", body), timeout_s)
    except (asyncio.TimeoutError, httpx.TimeoutException) as error:
        if isinstance(error, httpx.ConnectTimeout):
            raise Unusable(
                "connect", f"{server.shown} cannot be connected to", untouched=True
            ) from None
        raise Unusable("timeout", f"no reply in {timeout_s:g} s") from None
    except (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.ProxyError) as error:
        raise Unusable("connect", f"cannot connect ({hide(str(error))})", untouched=True) from None
    except (httpx.HTTPError, httpx.StreamError) as error:
        raise Unusable("dropped", f"connection broke ({type(error).__name__})") from None


async def read_post(
    http: httpx.AsyncClient, url: str, body: Mapping[str, Any]
) -> tuple[int, httpx.Headers, bytes]:
    """The same without deadline and names.

    Raises:
        Unusable: ``too_large``.
        httpx.HTTPError: whatever happens on the wire.
    """
    async with http.stream("POST", url, json=body) as response:
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > _MAX_BODY:
                raise Unusable("too_large", f"response exceeds {_MAX_BODY >> 20} MiB")
        return response.status_code, response.headers, bytes(content)
