"""Lines, progress bars and pace on the terminal: results on standard output, the work on standard error."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from llm_as_judge.runs.judges import unaudited_warning

console = Console()
status_console = Console(stderr=True)
"""Kept off standard output, which may be piped to another program."""


def say(line: str, style: str = "") -> None:
    """A line of the result, as it is: names and paths are neither marked up nor wrapped."""
    console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def say_json(value: Any) -> None:
    """A line of JSON for scripts."""
    print(json.dumps(value), flush=True)  # noqa: T201


def note(line: str, style: str = "") -> None:
    """A line about the work, on standard error; see :func:`say`."""
    status_console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def warn(line: str) -> None:
    note(f"warning: {line}", "yellow")


def warn_of_judges(judges: Sequence[Mapping[str, Any]]) -> None:
    """A line on standard error if one of ``judges`` rewarded without a passing audit."""
    if warning := unaudited_warning(judges):
        warn(warning)


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int | None], None]]:
    """A callback ``(what, done, total)`` that moves a bar on the terminal; a file or pipe gets none."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=status_console,
        disable=not status_console.is_terminal,
    ) as bars:
        task = bars.add_task("starting", total=None)

        def show(what: str, done: int, total: int | None) -> None:
            bars.update(task, description=what, completed=done, total=total)

        yield show


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
