"""The server process: models loaded, port opened, signals turned into an orderly end."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import uvicorn

from llm_as_judge.assembly import Workbench
from llm_as_judge.config import checked_key
from llm_as_judge.errors import ConfigError
from llm_as_judge.serving.answering import Answerer
from llm_as_judge.serving.app import ServerOptions, make_app
from llm_as_judge.serving.front import Front, FrontLimits, places
from llm_as_judge.solving.writers import ProgramWriter

LOOPBACK = ("127.0.0.1", "localhost", "::1")
KEY_CHARS = 16
"""A shorter key could be guessed by trying, and nothing here slows tries down."""
_MAKE_ONE = 'make one: python -c "import secrets; print(secrets.token_urlsafe(32))"'


@dataclass(frozen=True, slots=True)
class Binding:
    """Where the server listens, and how long it waits for running requests when it is stopped."""

    host: str = "127.0.0.1"
    port: int = 8080
    grace_s: int = 30
    front: FrontLimits = field(default_factory=FrontLimits)


async def serve(
    opening: AbstractAsyncContextManager[tuple[Workbench, ProgramWriter]],
    options: ServerOptions,
    binding: Binding,
    *,
    announce: Callable[[str], None] = lambda url: None,
    told: Callable[[str], None] = lambda line: None,
) -> None:
    """Serve until SIGINT or SIGTERM; requests that run then are finished first.

    Args:
        opening: opens where programs run, and what writes them; entered once the port is ours.
        announce: told the address, once requests are accepted.
        told: told a line of each request that ended.
    Raises:
        ConfigError: open to the network without a key, or the port is taken.
        UserError: a model is missing.
    """
    options = safe_options(options, binding)
    listener = _listen(binding)
    try:
        async with opening as (bench, writer):
            app = make_app(Answerer(bench, writer, told), options)
            limits = replace(binding.front, connections=places(binding.front.connections))
            server = Server(app, Front(limits), binding.grace_s)
            port = listener.getsockname()[1]
            host = f"[{binding.host}]" if ":" in binding.host else binding.host
            server.on_ready = lambda: announce(f"http://{host}:{port}/v1")
            await server.serve([listener])
    finally:
        listener.close()


def safe_options(options: ServerOptions, binding: Binding) -> ServerOptions:
    """Without a key: loopback only, and only under loopback names, so that no web page can reach
    us through a name of its own (DNS rebinding).

    Raises:
        ConfigError: open to the network without a key, or with one that can be guessed; or a key
            that is blank or that no client can send.
    """
    if options.api_key:
        key = checked_key(options.api_key, "LLM_AS_JUDGE_API_KEY")
        if not key:
            raise ConfigError(f"LLM_AS_JUDGE_API_KEY: the key is blank; unset it, or {_MAKE_ONE}")
        if binding.host not in LOOPBACK and len(key) < KEY_CHARS:
            raise ConfigError(
                f"--host {binding.host}: LLM_AS_JUDGE_API_KEY is shorter than {KEY_CHARS} "
                f"characters, and others could guess it; {_MAKE_ONE}"
            )
        return options if key == options.api_key else replace(options, api_key=key)
    if binding.host not in LOOPBACK:
        raise ConfigError(
            f"--host {binding.host}: a server that others can reach needs a key: set "
            f"LLM_AS_JUDGE_API_KEY, or serve on 127.0.0.1; {_MAKE_ONE}"
        )
    return replace(options, hosts=("127.0.0.1", "localhost", "[::1]", "::1"))


def _listen(binding: Binding) -> socket.socket:
    family = socket.AF_INET6 if ":" in binding.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((binding.host, binding.port))
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise ConfigError(
            f"{binding.host}:{binding.port}: cannot listen: {reason}; name another --port or --host"
        ) from None
    return listener


class Server(uvicorn.Server):
    """uvicorn behind a :class:`Front`; a signal that ended it is not raised again: an orderly end is a
    success."""

    on_ready: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, app: Any, front: Front, grace_s: int) -> None:
        settings = uvicorn.Config(
            app,
            http=front.protocol,  # type: ignore[arg-type]  # called as a class is
            log_level="warning",
            ws="none",
            access_log=False,
            timeout_graceful_shutdown=grace_s,
            # a client cannot say from where it comes, nor learn what we run on
            proxy_headers=False,
            server_header=False,
        )
        super().__init__(settings)
        self._front = front

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        self._front.tell()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.getsignal(number) for number in numbers}
        for number in numbers:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)
