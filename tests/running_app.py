"""A web application on a port of its own, in this process."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from llm_as_judge.serving.server import _Server


@asynccontextmanager
async def running(app: Any, port: int = 0) -> AsyncIterator[str]:
    """The address of ``app`` while it runs."""
    listener = socket.create_server(("127.0.0.1", port))
    server = _Server(uvicorn.Config(app, log_level="error", ws="none", timeout_keep_alive=60))
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
