"""The connections of a client and the places in flight over them: both belong to one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext

import httpx

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.transport import CONNECT_S, POOL


class Connection:
    """
    Args:
        api_key: sent as bearer token; empty = none is sent.
        concurrency: requests in flight at most.
        timeout_s: of one attempt.
        direct: servers asked without a proxy of the environment.
        trust_env: others are asked by it.
        transport: stands in for the network in tests.
    """

    http: httpx.AsyncClient
    """After :meth:`bind`."""
    probing: asyncio.Lock
    """Held by who finds out what the endpoint can do; after :meth:`bind`."""

    def __init__(
        self,
        *,
        api_key: str,
        concurrency: int,
        timeout_s: float,
        direct: Sequence[str],
        trust_env: bool,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._concurrency = concurrency
        self._timeout = httpx.Timeout(timeout_s, connect=CONNECT_S, pool=None)
        self._direct = tuple(direct)
        self._trust_env = trust_env
        self._transport = transport
        self._loop: asyncio.AbstractEventLoop | None = None

    def bind(self, described: str) -> None:
        """Make it the running loop's; a new loop gets new connections.

        Args:
            described: who asks, for the message.
        Raises:
            ModelError: the proxy of the environment cannot be used.
        """
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        try:
            self.http = httpx.AsyncClient(
                headers=self._headers,
                timeout=self._timeout,
                limits=POOL,
                trust_env=self._trust_env,
                mounts={f"all://{httpx.URL(url).netloc.decode()}": None for url in self._direct},
                transport=self._transport,
            )
        except (ValueError, ImportError, httpx.InvalidURL) as error:  # the address of a proxy
            raise ModelError(
                f"{described}: the proxy settings of the environment cannot be used "
                f"({error}); correct HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, or set no_proxy: true"
            ) from None
        self._turn = asyncio.Semaphore(self._concurrency)
        self._several, self.probing = asyncio.Lock(), asyncio.Lock()
        self._loop = loop  # last: a client that could not be opened has nothing to close

    @asynccontextmanager
    async def turns(self, wanted: int) -> AsyncIterator[None]:
        """A place in flight for each draw: a server works at them at the same time."""
        wanted, held = min(wanted, self._concurrency), 0
        try:
            async with self._several if wanted > 1 else nullcontext():  # one such at a time, or two
                while held < wanted:  # with half of their places each would wait for ever
                    await self._turn.acquire()
                    held += 1
            yield
        finally:
            for _ in range(held):
                self._turn.release()

    async def aclose(self) -> None:
        """Close what the running loop has opened."""
        if self._loop is asyncio.get_running_loop():
            await self.http.aclose()
            self._loop = None
