"""Progress of a long command: a line now and then, on standard error."""

from __future__ import annotations

import time

from llm_as_judge.views.console import note

SAY_EVERY_S = 30.0
ENOUGH = 5
"""Done, before their time says anything of the others': the first waits for a server that starts."""


class Pace:
    """Says at the first that is done, then now and then, how many there are and how long the rest will take.

    Args:
        what: is counted, as ``runs``.
        expected: how many, about, those that were done before among them.
    """

    def __init__(self, what: str, expected: int) -> None:
        self._what = what
        self._expected = expected
        self._done = self._found = 0
        self._began = time.monotonic()
        self._said: float | None = None

    def found(self, count: int = 1) -> None:
        """Some were done before, and took no time now."""
        self._found += count

    def did(self, count: int = 1) -> None:
        self._done += count
        now = time.monotonic()
        if self._said is not None and now - self._said < SAY_EVERY_S:
            return
        self._said = now
        there = self._done + self._found
        expected = max(self._expected, there)
        line = f"{there} of about {expected} {self._what}{self._before()}"
        if self._done >= ENOUGH:
            left = (now - self._began) / self._done * (expected - there)
            line += f", about {clock(left)} left"
        note(line)

    def ended(self) -> None:
        """The last line: how many were done, and how long it took."""
        if self._done:
            took = clock(time.monotonic() - self._began)
            note(f"{self._done + self._found} {self._what}{self._before()}, {took}")

    def _before(self) -> str:
        return f", {self._found} of them from before" if self._found else ""


def clock(seconds: float) -> str:
    """``8:37``, ``1:02:03``"""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
