"""Connections of a client: the places in flight over them, one request with its deadline, and the
requests by which an endpoint is tried before work is sent to it; rates."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.refusals import ReplyError
from llm_as_judge.quoting import quoted, without_known_keys


class Connection:
    """
    Args:
        api_key: sent as bearer token; empty = none is sent.
        concurrency: requests in flight at most.
        timeout_s: of one attempt.
        trust_env: it is asked by a proxy of the environment, where there is one.
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
        trust_env: bool,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._concurrency = concurrency
        self._timeout = httpx.Timeout(timeout_s, connect=CONNECT_S, pool=None)
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


CONNECT_S = 10.0
POOL = httpx.Limits(max_connections=None, max_keepalive_connections=64, keepalive_expiry=2.0)
"""Servers made with uvicorn (vLLM) close a connection that was idle for 5 s. httpx would use one just
as long, and now and then send a request into a connection that is being closed."""
_MAX_BODY = 16 * 2**20


async def post_json(
    http: httpx.AsyncClient, base_url: str, path: str, body: Mapping[str, Any], timeout_s: float
) -> tuple[int, httpx.Headers, bytes]:
    """Status, headers and content of the answer to a POST.

    Args:
        path: below the server's address, e.g. ``/chat/completions``.
        timeout_s: for the whole exchange.
    Raises:
        ReplyError: ``connect``, ``timeout``, ``dropped`` or ``too_large``.
    """
    try:
        asking = _read(http, "POST", f"{base_url}{path}", body)
        return await asyncio.wait_for(asking, timeout_s)
    except (asyncio.TimeoutError, httpx.TimeoutException) as error:
        if isinstance(error, httpx.ConnectTimeout):
            said = f"cannot connect in {CONNECT_S:g} s"
            raise ReplyError("connect", said, untouched=True) from None
        said = f"no reply in {timeout_s:g} s (timeout_s; a slow server needs longer)"
        raise ReplyError("timeout", said) from None
    except (httpx.ConnectError, httpx.UnsupportedProtocol, httpx.ProxyError) as error:
        said = f"cannot connect ({quoted(str(error))})"
        raise ReplyError("connect", said, untouched=True) from None
    except (httpx.HTTPError, httpx.StreamError) as error:
        raise ReplyError("dropped", f"connection broke ({type(error).__name__})") from None


async def _read(
    http: httpx.AsyncClient, method: str, url: str, body: Mapping[str, Any] | None = None
) -> tuple[int, httpx.Headers, bytes]:
    async with http.stream(method, url, json=body) as response:
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > _MAX_BODY:
                raise ReplyError("too_large", f"response exceeds {_MAX_BODY >> 20} MiB")
        return response.status_code, response.headers, bytes(content)


async def served_models(
    http: httpx.AsyncClient, base_url: str, where: str, wait_s: float, key_variable: str
) -> list[str] | None:
    """Model ids of an endpoint; None where it has no list.

    Args:
        where: begins every message.
        key_variable: of the environment.
    Raises:
        ModelError: not reachable, key refused, or no OpenAI-compatible endpoint.
    """
    listing = _read(http, "GET", f"{base_url}/models")
    try:
        status, _, content = await asyncio.wait_for(listing, wait_s)
    except (asyncio.TimeoutError, httpx.TimeoutException):
        raise ModelError(f"{where}: no answer in {wait_s:g} s; is the server up?") from None
    except ReplyError as problem:
        said = f"/models: {problem.message}; does base_url end in /v1?"
        raise ModelError(f"{where}: {said}") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise ModelError(
            f"{where}: not reachable ({quoted(str(error)) or type(error).__name__}); "
            "start the server or correct base_url"
        ) from None
    if status in (401, 403):
        given = "authorization" in http.headers
        what = "the API key was refused" if given else "it wants a key, and none was given"
        raise ModelError(f"{where}: {what}; set {key_variable} or api_key")
    if status in (404, 405, 501):
        if await _lists_below_v1(http, base_url, wait_s):
            raise ModelError(
                f"{where}: no such page there, and its models are listed at /v1/models; write "
                f"base_url: {shown_address(base_url)}/v1"
            )
        return None
    listed = _listed(content)
    if listed is None:
        raise ModelError(
            f"{where}: /models answered HTTP {status} without a list of models; "
            "does base_url end in /v1?"
        )
    return listed


def _listed(content: bytes) -> list[str] | None:
    """Ids in a list of models; None: it is none."""
    try:
        ids = [model["id"] for model in json.loads(content)["data"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return [without_known_keys(name) for name in ids if isinstance(name, str)]


async def _lists_below_v1(http: httpx.AsyncClient, base_url: str, wait_s: float) -> bool:
    """Whether the address only lacks its /v1: every request would be a page not found."""
    listing = _read(http, "GET", f"{base_url}/v1/models")
    try:
        _, _, content = await asyncio.wait_for(listing, wait_s)
    except (asyncio.TimeoutError, httpx.HTTPError, ReplyError):
        return False
    return _listed(content) is not None


async def answered(
    http: httpx.AsyncClient, base_url: str, body: Mapping[str, Any]
) -> dict[str, Any] | None:
    """The response to one request: an object with a list of choices; None if it is refused, or does not
    come in the time of one attempt."""
    asking = _read(http, "POST", f"{base_url}/chat/completions", body)
    try:
        status, _, content = await asyncio.wait_for(asking, http.timeout.read)
        data = json.loads(content)
    except (asyncio.TimeoutError, httpx.HTTPError, ReplyError, ValueError, RecursionError):
        return None
    whole = status == 200 and isinstance(data, dict) and isinstance(data.get("choices"), list)
    return data if whole else None


_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def shown_address(base_url: str) -> str:
    """As messages show it: without user, password and query."""
    parts = urlsplit(base_url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def is_loopback(base_url: str) -> bool:
    return (urlsplit(base_url).hostname or "") in _LOOPBACK


def asked_directly(base_url: str, no_proxy: bool | str) -> bool:
    """Whether this server is asked without a proxy: loopback addresses always are.

    Args:
        no_proxy: True = every server; text = hosts as in the variable NO_PROXY, with commas
            between: a name stands for itself and what ends in it, ``*`` for all.
    """
    if is_loopback(base_url) or no_proxy is True:
        return True
    parts = urlsplit(base_url)
    host = (parts.hostname or "").lower()
    place = f"{host}:{parts.port}"
    for item in (no_proxy or "").lower().split(","):
        name = item.strip().removeprefix("*").removeprefix(".")
        if item.strip() == "*" or (name and (name in (host, place) or host.endswith(f".{name}"))):
            return True
    return False


class RateLimit:
    """At most ``per_minute`` units start a minute, evenly; a second's worth may start at once.

    ``spend`` books what was not known beforehand (tokens of a reply): the debt is waited off by
    later callers.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_minute / 60.0
        self._burst = max(1.0, self._per_second)
        self._available = self._burst
        self._clock = clock
        self._updated = clock()

    def spend(self, units: float) -> None:
        now = self._clock()
        gained = (now - self._updated) * self._per_second
        self._available = min(self._burst, self._available + gained) - units
        self._updated = now

    def delay(self, units: float = 0.0) -> float:
        """Book ``units`` now; seconds until they may start."""
        self.spend(units)
        return max(0.0, -self._available / self._per_second)

    async def wait(self, units: float = 0.0) -> None:
        await asyncio.sleep(self.delay(units))
