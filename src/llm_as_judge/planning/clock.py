"""A clock that jumps from event to event, and things that only so many can use at once.

A process is a generator of waits: ``yield 2.0`` waits two seconds, ``yield resource.turn()`` for a
turn, ``yield event`` for what another process sets, ``yield from writer.write(300)`` for a text. Equal times go in the order of asking, so a
simulation is the same each time.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Generator
from itertools import count

__all__ = ["Clock", "Event", "Process", "Resource", "Writer"]


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
        yield seconds
        self.busy_s += seconds
        self.done()


class Writer:
    """Writes texts beside each other: each at the speed of one stream, or at its share of the
    greatest speed, which grows as others end.

    Args:
        slots: texts at once; the others wait in order.
        stream_s: tokens a second of one text at most.
        whole_s: tokens a second of all together at most.
    """

    def __init__(self, clock: Clock, slots: int, stream_s: float, whole_s: float) -> None:
        self._clock = clock
        self._slots = Resource(clock, slots)
        self._stream_s, self._whole_s = stream_s, whole_s
        self._order = count()
        self._writing: list[tuple[float, int, Event]] = []
        """By the length that each text begun at once with the first would have when it ends."""
        self._length, self._at, self._plans = 0.0, 0.0, 0
        self.tokens = 0.0
        """Written so far, or being written."""

    def write(self, tokens: float) -> Process:
        """Wait for a slot, and until so many tokens are written."""
        yield self._slots.turn()
        self.tokens += tokens
        self._advance()
        end = Event(self._clock)
        heapq.heappush(self._writing, (self._length + tokens, next(self._order), end))
        self._plan()
        yield end
        self._slots.done()

    def _speed(self) -> float:
        return min(self._stream_s, self._whole_s / max(1, len(self._writing)))

    def _advance(self) -> None:
        self._length += self._speed() * (self._clock.now - self._at)
        self._at = self._clock.now

    def _plan(self) -> None:
        """The next end, if nobody comes before."""
        self._plans += 1
        if self._writing:
            left_s = max(0.0, self._writing[0][0] - self._length) / self._speed()
            self._clock.start(self._ended(self._plans, left_s))

    def _ended(self, plan: int, left_s: float) -> Process:
        yield left_s
        if plan != self._plans:
            return  # somebody came, so it takes longer
        self._advance()
        self._length = max(self._length, self._writing[0][0])
        while self._writing and self._writing[0][0] <= self._length * (1 + 1e-12):
            heapq.heappop(self._writing)[2].set()
        self._plan()
