"""How far a long command is: a line now and then, on standard error."""

from __future__ import annotations

import time
from datetime import timedelta

from llm_as_judge.cli.options import note

SAY_EVERY_S = 30.0
ENOUGH = 5
"""Done, before their time says anything of the others': the first waits for a server that starts."""


class Pace:
    """Says now and then what is done, and how long the rest will take.

    Args:
        what: is done, as ``runs made``.
        expected: how many, about.
    """

    def __init__(self, what: str, expected: int) -> None:
        self._what = what
        self._expected = expected
        self._done = self._found = 0
        self._began = self._said = time.monotonic()

    def found(self, count: int = 1) -> None:
        """Some were done before, and took no time now."""
        self._found += count

    def did(self, count: int = 1) -> None:
        self._done += count
        now = time.monotonic()
        if now - self._said < SAY_EVERY_S:
            return
        self._said = now
        expected = max(self._expected - self._found, self._done)
        line = f"{self._done} {self._what} of about {expected}"
        if self._done >= ENOUGH:
            left = (now - self._began) / self._done * (expected - self._done)
            line += f", {timedelta(seconds=round(left))} left"
        if self._found:
            line += f", {self._found} were there before"
        note(line)
