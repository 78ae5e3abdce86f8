"""The connections of the server: how many, how long one may take to send a request, and what the log says.

uvicorn bounds neither. A client that opens connections and sends half a request on each would hold
descriptors and memory for as long as it likes. Here a connection has a time limit for the head of a
request and one for its body. When all places are taken, the connection that has been sending longest
gives way to a new one: an honest client sends its request at once, and finds a place.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
from collections import Counter
from dataclasses import dataclass
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

log = logging.getLogger(__name__)

_SILENT = logging.getLogger("uvicorn.error.clients")
_SILENT.setLevel(logging.ERROR)  # what a client did wrong is counted, not told line by line
_RESERVED_DESCRIPTORS = 256
"""For files, models, executors and sandbox children."""


@dataclass(frozen=True, slots=True)
class FrontLimits:
    """Bounds of what clients may hold of the server without asking anything."""

    connections: int = 1024
    head_s: float = 10.0
    """From the beginning of a connection, or the end of its last reply, to the end of a head."""
    body_s: float = 30.0
    """From the end of the head to the end of the body."""
    told_every_s: float = 60.0
    """A line of the log says what was cut and refused since the last one."""


class Front:
    """The connections of one server. :meth:`protocol` makes uvicorn's side of each."""

    def __init__(self, limits: FrontLimits) -> None:
        self.limits = limits
        self._untold: Counter[str] = Counter()
        """Connections that were ended, by reason, since the last line of the log."""
        self._sending: dict[Connection, None] = {}
        """Those that have not sent a whole request, the one that began first before the others."""
        self._open = 0
        self._telling: asyncio.TimerHandle | None = None

    def protocol(self, **settings: Any) -> Connection:
        """As uvicorn's configuration ``http`` takes it."""
        return Connection(self, **settings)

    # ----------------------------------------------------------------- told by the connections
    def opened(self) -> bool:
        """Whether there is a place, if need be that of another."""
        self._open += 1
        if self._open <= self.limits.connections:
            return True
        oldest = next(iter(self._sending), None)
        if oldest is None:
            self.count("refused: all places are taken")
            return False
        self._sending.pop(oldest)
        oldest.cut("gave way: it had sent no whole request")
        return True

    def closed(self, connection: Connection) -> None:
        self._open -= 1
        self._sending.pop(connection, None)

    def sends(self, connection: Connection) -> None:
        """It has begun a head; a place in the row is kept until its request is whole."""
        self._sending.setdefault(connection)

    def has_sent(self, connection: Connection) -> None:
        self._sending.pop(connection, None)

    # ----------------------------------------------------------------------------------- log
    def count(self, reason: str) -> None:
        self._untold[reason] += 1
        if self._telling is None:
            loop = asyncio.get_running_loop()
            self._telling = loop.call_later(self.limits.told_every_s, self.tell)

    def tell(self) -> None:
        """One line about the connections that were ended since the last one."""
        if self._telling is None:
            return
        self._telling.cancel()
        self._telling = None
        said = "; ".join(f"{count} {reason}" for reason, count in self._untold.most_common())
        self._untold.clear()
        log.warning("connections ended by the server: %s", said)


class Connection(H11Protocol):
    """One connection, with a time limit for what its client has to send."""

    def __init__(self, front: Front, **settings: Any) -> None:
        super().__init__(**settings)
        self.logger = _SILENT
        self._front = front
        self._stage = ""
        self._due: asyncio.TimerHandle | None = None
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not self._front.opened():
            self._refused = True
            transport.abort()
            return
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_watch()
        self._front.closed(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self._refused:
            super().data_received(data)
            self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def send_400_response(self, msg: str) -> None:
        self._front.count("answered with 400: no HTTP request")
        super().send_400_response(msg)

    def cut(self, reason: str) -> None:
        """Ends the connection without a word: its client has not asked anything yet."""
        self._end_watch()
        self._front.count(reason)
        self.transport.abort()

    def _watch(self) -> None:
        """Restarts the time when a head or a body begins, and not with each piece of it."""
        state = self.conn.their_state
        stage = "body" if state is h11.SEND_BODY else "head" if state is h11.IDLE else ""
        if stage == self._stage or self.transport.is_closing():
            return
        self._end_watch()
        self._stage = stage
        if not stage:
            self._front.has_sent(self)
            return
        self._front.sends(self)
        limits = self._front.limits
        seconds = limits.head_s if stage == "head" else limits.body_s
        reason = f"cut: no whole {stage} in {seconds:g} s"
        self._due = self.loop.call_later(seconds, self.cut, reason)

    def _end_watch(self) -> None:
        self._stage = ""
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _unsupported_upgrade_warning(self) -> None:
        """An upgrade is not made, and nobody needs to know."""


def places(wanted: int) -> int:
    """How many of ``wanted`` connections this process can hold, after it has raised its soft limit of
    descriptors as far as it may and needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _RESERVED_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < needed:
        raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS has another bound, of the kernel
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    return max(1, soft - _RESERVED_DESCRIPTORS, soft // 2)
