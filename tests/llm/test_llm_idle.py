from __future__ import annotations

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from llm_as_judge.llm.connection import POOL
from running_app import running


@pytest.mark.slow
async def test_a_connection_is_given_up_before_a_server_closes_it() -> None:
    ports: list[int] = []

    async def seen(request: Request) -> PlainTextResponse:
        assert request.client is not None
        ports.append(request.client.port)
        return PlainTextResponse("")

    assert POOL.keepalive_expiry is not None
    served = Starlette(routes=[Route("/", seen)])
    async with running(served) as url, httpx.AsyncClient(limits=POOL) as client:
        await client.get(url)
        await client.get(url)
        await asyncio.sleep(POOL.keepalive_expiry + 0.2)
        await client.get(url)
    assert ports[0] == ports[1], "a connection in use is kept"
    assert ports[2] != ports[1], "an idle one is not used again"
