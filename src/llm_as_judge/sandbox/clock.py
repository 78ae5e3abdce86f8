"""The deadline of a run: it counts the program's own time and no one else's."""

from __future__ import annotations

import asyncio


class OwnTime:
    """A bound on the time in which a program is not waiting for the host.

    It stands still while the host answers at least one of its operator calls: a crowded executor
    is no fault of the program. What is computed meanwhile is bounded by processor time, and how
    long the host answers by the limits of the executor and the number of calls.

    Args:
        seconds: of the program's own.

    ``over`` is done when they are used up; it never fails.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._calls = 0
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[None] = self._loop.create_future()

    def start(self) -> None:
        self._since = self._loop.time()
        self._timer = self._loop.call_later(max(0.0, self._left), self._end)

    def pause(self) -> None:
        """A call of the program is being answered."""
        if not self._calls and self._timer is not None:
            self._timer.cancel()
            self._left -= self._loop.time() - self._since
        self._calls += 1

    def resume(self) -> None:
        """One of its calls has been answered."""
        self._calls -= 1
        if not self._calls and not self.over.done():
            self.start()

    def stop(self) -> None:
        """The run is over."""
        if self._timer is not None:
            self._timer.cancel()
        self.over.cancel()

    def _end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)
