"""Processors that other programs take from this one."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil

EVERY_S = 10.0
"""Seconds between looks: shorter ones see single bursts."""
FULL, SHARE = 0.9, 0.25
"""The machine is full from this share of its processor time on, and it is busy with others where they take
this share of it."""


def busy_words(others: float, used: float, cores: int) -> str:
    """A clause for a line of progress; empty where the machine is this program's, or has room.

    Args:
        others: processor seconds a second that are not of this program and its children, those included that
            the host gives to other machines.
        used: of everybody.
    """
    if used < FULL * cores or others < SHARE * cores:
        return ""
    return f"busy: others take {others:.1f} of {cores} cores"


class Busy:
    """``busy()``: the clause of the last few seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._process = psutil.Process()
        self._last = (clock(), *self._seconds())
        self._words = ""

    def __call__(self) -> str:
        now = self._clock()
        before, used_before, ours_before = self._last
        if now - before >= EVERY_S:
            used, ours = self._seconds()
            total = (used - used_before) / (now - before)
            # a child that ends between two looks is counted by its parent a moment later
            own = max(0.0, ours - ours_before) / (now - before)
            self._words = busy_words(total - own, total, psutil.cpu_count() or 1)
            self._last = (now, used, ours)
        return self._words

    def _seconds(self) -> tuple[float, float]:
        """(processor seconds of everybody, of this process and what it has started) so far."""
        times = psutil.cpu_times()._asdict()
        ours = 0.0
        for process in [self._process, *self._process.children(recursive=True)]:
            try:
                ours += sum(process.cpu_times()[:4])  # with those of children that have ended
            except psutil.Error:  # it has ended
                continue
        named = ("user", "nice", "system", "irq", "softirq", "steal")  # guests are in user
        return sum(times.get(name, 0.0) for name in named), ours
