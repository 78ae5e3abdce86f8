"""Lines on the terminal: results on standard output, the work on standard error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

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


def clock(seconds: float) -> str:
    """``8:37``, ``1:02:03``"""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def about(seconds: float) -> str:
    """``about 40 s``, ``about 3 min``, ``about 2 h 10 min``"""
    if seconds < 100:
        return f"about {max(5, 5 * round(seconds / 5))} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if not hours:
        return f"about {minutes} min"
    return f"about {hours} h {minutes} min" if minutes else f"about {hours} h"
