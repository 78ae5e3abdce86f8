"""Lines and progress bars on the terminal: results on standard output, the work on standard error."""

from __future__ import annotations

import json
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
