"""A web application on a port of its own, in this process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from llm_as_judge.serving.front import Front, FrontLimits
from llm_as_judge.serving.server import Server


@asynccontextmanager
async def running(app: Any, port: int = 0, front: Front | None = None) -> AsyncIterator[str]:
    """The address of ``app`` while it runs."""
    listener = socket.create_server(("127.0.0.1", port))
    server = Server(app, front or Front(FrontLimits(connections=200)), grace_s=30)
    ready = asyncio.Event()
    server.on_ready = ready.set
    task = asyncio.create_task(server.serve([listener]))
    try:
        await ready.wait()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listener.close()
