"""The time of a run: its own and no one else's, and at its end the question whose fault that is.

A clock on the wall counts what others do: a neighbor that stalls this process, a machine with more to
do than it can. So a run is over when it has used its time on a processor, or when it waits by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llm_as_judge.errors import OverloadError
from llm_as_judge.sandbox.launch import Child

PATIENCE = 10
"""A run that computes, but is given little time to, is waited for so many times its limit."""
LEAST_SHARE = 0.01
"""Of a processor: a run that used less while the host was awake was waiting by itself."""
_SLICES = 20
_LEAST_SLICE_S = 0.02


class OwnTime:
    """A bound on the time in which a program is not waiting for the host.

    It stands still while the host answers at least one of its operator calls: a crowded executor
    is no fault of the program. What is computed meanwhile is bounded by processor time, and how
    long the host answers by the limits of the executor and the number of calls. It is counted in
    slices, of which each is one slice however late the host wakes: what holds the host up, the
    program cannot help.

    Args:
        seconds: of the program's own.

    ``over`` is done when they are used up; it never fails.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._slice = max(seconds / _SLICES, _LEAST_SLICE_S)
        self._calls = 0
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[None] = self._loop.create_future()

    def start(self) -> None:
        seconds = max(0.0, min(self._left, self._slice))
        self._since = self._loop.time()
        self._timer = self._loop.call_later(seconds, self._end_slice, seconds)

    def pause(self) -> None:
        """A call of the program is being answered."""
        if not self._calls and self._timer is not None:
            self._timer.cancel()
            self._left -= min(self._loop.time() - self._since, self._slice)
        self._calls += 1

    def resume(self) -> None:
        """One of its calls has been answered."""
        self._calls -= 1
        if not self._calls and not self.over.done():
            self.start()

    def extend(self, seconds: float) -> None:
        """After it was over: so much more."""
        self._left = seconds
        self.over = self._loop.create_future()
        if not self._calls:
            self.start()

    def stop(self) -> None:
        """The run is over."""
        if self._timer is not None:
            self._timer.cancel()
        self.over.cancel()

    def _end_slice(self, seconds: float) -> None:
        self._left -= seconds
        if self._left > 0:
            self.start()
        elif not self.over.done():
            self.over.set_result(None)


class Deadline:
    """What happens at the end of a run's own time.

    Args:
        seconds: the limit.
        children: the processes of the run; each was fresh when it began.
    """

    def __init__(self, seconds: float, children: Sequence[Child]) -> None:
        self._seconds = self._window = seconds
        self._children = children
        self._waited = self._used = 0.0

    async def kept(self, own: OwnTime, *watched: asyncio.Future[Any]) -> bool:
        """Waits until one of ``watched`` is done; False: the run has used up its time.

        Raises:
            OverloadError: neither, for the machine had no time for it.
        """
        while True:
            await asyncio.wait({*watched, own.over}, return_when=asyncio.FIRST_COMPLETED)
            if any(future.done() for future in watched):
                return True
            goes_on = await self._goes_on()
            if any(future.done() for future in watched):
                return True
            if not goes_on:
                return False
            own.extend(self._window)

    async def _goes_on(self) -> bool:
        looks = await asyncio.gather(*(child.processor_s() for child in self._children))
        used = sum(look for look in looks if look is not None)
        share = (used - self._used) / self._window
        self._used = used
        self._waited += self._window
        known = None not in looks  # one has ended: what it said is about to be heard
        if known and (used >= self._seconds or share < LEAST_SHARE):
            return False
        if self._waited >= PATIENCE * self._seconds:
            raise OverloadError(
                f"this machine gave a run {used:.1f} of {self._seconds:g} s of processor time in "
                f"{self._waited:g} s; run fewer things on it at once"
            )
        self._window = self._seconds / 8
        return True
