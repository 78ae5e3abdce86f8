"""Choice among replicas: the server that gets the next request, and how fast requests may start."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

_COOL_DOWN_S = 5.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(slots=True)
class Replica:
    """One server behind an endpoint."""

    base_url: str
    in_flight: int = 0
    not_before: float = 0.0
    """Monotonic seconds until which it is chosen only if all others rest too."""
    sent: int = 0

    @property
    def shown(self) -> str:
        """The address as messages show it: without user, password and query."""
        parts = urlsplit(self.base_url)
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


class Replicas:
    """Servers of the same model; the least loaded one that is not resting is next."""

    def __init__(
        self, base_urls: tuple[str, ...], clock: Callable[[], float] = time.monotonic
    ) -> None:
        if not base_urls:
            raise ValueError("an endpoint needs at least one base_url")
        self.servers = tuple(Replica(url.rstrip("/")) for url in base_urls)
        self._clock = clock

    def choose(self, among: Sequence[Replica] | None = None) -> Replica:
        """The least loaded server, the least used of equals; resting ones only if all rest.

        Args:
            among: those that come into question; default: all.
        """
        now = self._clock()
        return min(
            among or self.servers, key=lambda s: (max(s.not_before - now, 0.0), s.in_flight, s.sent)
        )

    def rest(self, server: Replica, seconds: float = _COOL_DOWN_S) -> None:
        """Prefer others for a while: it refused, dropped or did not answer."""
        server.not_before = max(server.not_before, self._clock() + seconds)


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
        self._refill()
        self._available -= units

    def delay(self, units: float = 0.0) -> float:
        """Book ``units`` now; seconds until they may start."""
        self.spend(units)
        return max(0.0, -self._available / self._per_second)

    async def wait(self, units: float = 0.0) -> None:
        await asyncio.sleep(self.delay(units))

    def _refill(self) -> None:
        now = self._clock()
        gained = (now - self._updated) * self._per_second
        self._available = min(self._burst, self._available + gained)
        self._updated = now
