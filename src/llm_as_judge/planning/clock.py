"""A clock that jumps from event to event, and things that only so many can use at once.

A process is a generator of waits: ``yield 2.0`` waits two seconds, ``yield resource.turn()`` for a
turn, ``yield event`` for what another process sets. Equal times go in the order of asking, so a
simulation is the same each time.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Generator
from itertools import count

__all__ = ["Clock", "Event", "Process", "Resource"]


class Event:
    """Happens once; those who wait go on in their order."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: list[Process] = []
        self.happened = False

    def set(self) -> None:
        self.happened = True
        waiting, self._waiting = self._waiting, []
        for process in waiting:
            self._clock.soon(process)

    def wait(self, process: Process) -> None:
        if self.happened:
            self._clock.soon(process)
        else:
            self._waiting.append(process)


Process = Generator["float | Event", None, None]


class Clock:
    """Seconds from 0."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = count()
        self._due: list[tuple[float, int, Process]] = []

    def start(self, process: Process) -> None:
        self.soon(process)

    def soon(self, process: Process, after_s: float = 0.0) -> None:
        heapq.heappush(self._due, (self.now + after_s, next(self._order), process))

    def run(self) -> None:
        """Until nothing is left to happen."""
        while self._due:
            self.now, _, process = heapq.heappop(self._due)
            wanted = next(process, None)
            if isinstance(wanted, Event):
                wanted.wait(process)
            elif wanted is not None:
                self.soon(process, wanted)


class Resource:
    """``capacity`` may use it at once; the others wait in order."""

    def __init__(self, clock: Clock, capacity: int) -> None:
        self._clock = clock
        self.capacity = max(1, capacity)
        self._free = self.capacity
        self._waiting: deque[Event] = deque()
        self.busy_s = 0.0
        """Seconds of use, all users together."""

    @property
    def using(self) -> int:
        """How many use it now."""
        return self.capacity - self._free

    def turn(self) -> Event:
        """Happens when the asker may begin; it ends with :meth:`done`."""
        event = Event(self._clock)
        if self._free:
            self._free -= 1
            event.happened = True
        else:
            self._waiting.append(event)
        return event

    def done(self) -> None:
        if self._waiting:
            self._waiting.popleft().set()
        else:
            self._free += 1

    def use(self, seconds: float) -> Process:
        """Wait for a turn, use it so long."""
        yield self.turn()
        yield from self.used(seconds)

    def used(self, seconds: float) -> Process:
        """Use it so long, the turn being had."""
        yield seconds
        self.busy_s += seconds
        self.done()
