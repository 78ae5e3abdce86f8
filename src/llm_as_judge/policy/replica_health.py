"""Health of the replicas: which may be asked, drain, and the way back in.

Every few seconds each replica is asked ``/health``. One that does not answer, or says 503, gets no new
work until it answers again; it is then let in by a callback, which gives it the adapters that it has
forgotten. A replica whose address stands in the file of drained ones gets no new work either, and
keeps what it is writing. Where none may be asked, work waits a bounded time for one to come back.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from llm_as_judge.errors import EndpointError, ModelError
from llm_as_judge.files import output_errors, write_text
from llm_as_judge.llm.connection import Replica, Replicas, is_loopback
from llm_as_judge.llm.refusals import ReplyError

log = logging.getLogger(__name__)

DRAINED = "drained"
"""Name of the file in the folder of adapters: an address a line."""
_OURS = re.compile(r"policy-v\d+-[0-9a-f]{8}")
_LOOK_EVERY_S = 5.0
_ANSWERS_IN_S = 10.0


def drained(folder: Path) -> list[str]:
    """Addresses that shall get no new work."""
    with suppress(FileNotFoundError):
        listed = (folder / DRAINED).read_text(encoding="utf-8").split()
        return [url.rstrip("/") for url in listed]  # as the replicas are named
    return []


def set_drained(folder: Path, urls: Sequence[str]) -> None:
    """Replace the list.

    Raises:
        OutputError: the folder cannot be written.
    """
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / DRAINED, "".join(f"{url}\n" for url in sorted(set(urls))))


async def unhealthy(http: httpx.AsyncClient, server: Replica) -> str:
    """Why a replica cannot work, or nothing."""
    url = server.base_url.removesuffix("/v1") + "/health"
    try:
        answer = await asyncio.wait_for(http.get(url), _ANSWERS_IN_S)
    except (asyncio.TimeoutError, httpx.TimeoutException):
        return f"no answer to /health in {_ANSWERS_IN_S:g} s"
    except httpx.HTTPError as error:
        return f"connect: {type(error).__name__}"
    return "" if answer.status_code < 500 else f"/health says HTTP {answer.status_code}"


async def status_of(urls: Sequence[str], listed: Collection[str]) -> list[dict[str, Any]]:
    """How each replica is now, and the policy's adapters that it has.

    Args:
        listed: addresses that are drained.
    """
    async with httpx.AsyncClient(trust_env=not all(map(is_loopback, urls))) as http:
        return list(await asyncio.gather(*(_status(http, Replica(u), u in listed) for u in urls)))


async def _status(http: httpx.AsyncClient, server: Replica, is_drained: bool) -> dict[str, Any]:
    why = await unhealthy(http, server)
    adapters: list[str] = []
    if not why:
        try:
            answer = await http.get(f"{server.base_url}/models", timeout=_ANSWERS_IN_S)
            names = [str(one["id"]) for one in answer.json()["data"]]
            adapters = [name for name in names if _OURS.fullmatch(name)]
        except (httpx.HTTPError, ValueError, KeyError, TypeError, RecursionError) as error:
            why = f"/models cannot be read ({type(error).__name__})"
    return {
        "replica": server.shown,
        "state": _said(why, is_drained) or "ready",
        "answers": not why,
        "drained": is_drained,
        "adapters": adapters,
    }


def _said(why: str, is_drained: bool) -> str:
    """Why it gets no new work: both, where it is drained and does not answer either."""
    return "; ".join(filter(None, ("drained" if is_drained else "", why)))


@dataclass(slots=True)
class _State:
    why: str = ""
    """Why it is out; nothing: it is in."""
    drained: bool = False

    @property
    def ready(self) -> bool:
        return not self.why and not self.drained

    def __str__(self) -> str:
        return _said(self.why, self.drained)


class ReplicaHealth:
    def __init__(
        self,
        http: httpx.AsyncClient,
        replicas: Replicas,
        folder: Path,
        *,
        let_in: Callable[[Replica], Awaitable[None]],
        outage_s: float,
    ) -> None:
        """
        Args:
            folder: of the adapters, where the file of drained replicas lies.
            let_in: makes a replica that answers again fit for work; raises ReplyError or ModelError
                where it cannot.
            outage_s: how long work waits while no replica may be asked.
        """
        self._http, self._replicas, self._folder = http, replicas, folder
        self._let_in, self._outage_s = let_in, outage_s
        self._states = {server.base_url: _State() for server in replicas.servers}
        self._ready = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None

    # ---------------------------------------------------------------------------------- asked
    def ready(self, server: Replica) -> bool:
        """Whether it may get new work."""
        return self._states[server.base_url].ready

    def alive(self, server: Replica) -> bool:
        """Whether it answers; a drained one does."""
        return not self._states[server.base_url].why

    @property
    def all_ready(self) -> list[Replica]:
        return [server for server in self._replicas.servers if self.ready(server)]

    async def choose(self) -> Replica:
        """The next to be asked, waiting for one where none may be.

        Raises:
            EndpointError: none came back in time.
        """
        while not (found := self.all_ready):
            if self._watching is not None and self._watching.done():
                self._watching.result()  # what has ended it; otherwise nobody could come back
            try:
                await asyncio.wait_for(self._ready.wait(), self._outage_s)
            except asyncio.TimeoutError:
                raise EndpointError(self._nobody()) from None
        return self._replicas.choose(found)

    def _nobody(self) -> str:
        each = "; ".join(f"{s.shown}: {self._states[s.base_url]}" for s in self._replicas.servers)
        return (
            f"policy sampler: no replica may be asked for {self._outage_s:g} s "
            f"(sampling.outage_s): {each}"
        )

    # ----------------------------------------------------------------------------------- told
    def lost(self, server: Replica, why: str) -> None:
        """It does not answer: no new work until it does."""
        state = self._states[server.base_url]
        if not state.why:
            log.warning("policy sampler at %s: %s; no new work until it answers", server.shown, why)
        state.why = why
        self._note()

    def _note(self) -> None:
        if self.all_ready:
            self._ready.set()
        else:
            self._ready.clear()

    # --------------------------------------------------------------------------------- looking
    async def look(self) -> None:
        """Look at all replicas once, and let in those that are back."""
        wanted = set(drained(self._folder))
        for server in self._replicas.servers:
            state, now = self._states[server.base_url], server.base_url in wanted
            if state.drained != now:
                log.warning(
                    "policy sampler at %s: %s",
                    server.shown,
                    "drained" if now else "takes work again",
                )
            state.drained = now
        self._note()
        await asyncio.gather(*(self._look_at(server) for server in self._replicas.servers))

    async def _look_at(self, server: Replica) -> None:
        why = await unhealthy(self._http, server)
        if why:
            return self.lost(server, why)
        state = self._states[server.base_url]
        if state.why:
            try:
                await self._let_in(server)
            except (ReplyError, ModelError) as problem:
                state.why = f"answers, but {problem}"
                log.warning("policy sampler at %s: %s", server.shown, state.why)
            else:
                state.why = ""
                log.warning("policy sampler at %s: back", server.shown)
                self._note()
        return None

    def watch(self) -> None:
        """Look from now on, until :meth:`aclose`."""
        self._watching = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            await self.look()

    async def aclose(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
