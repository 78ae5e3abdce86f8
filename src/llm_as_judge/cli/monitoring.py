"""monitor: a run while it goes on, with single keys of the terminal."""

from __future__ import annotations

import os
import select
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from llm_as_judge.cli.asking import Asked
from llm_as_judge.errors import ConfigError
from llm_as_judge.runs.judges import judges_of
from llm_as_judge.runs.rundir import read_run
from llm_as_judge.runs.runlog import newest_run
from llm_as_judge.views.console import console, warn_of_judges
from llm_as_judge.views.screen import HELP, KEYS, look, read_tail


def monitor(asked: Asked, *, run_dir: Path | None, once: bool, domain: str, every_s: float) -> None:
    if domain not in KEYS.values():
        raise ConfigError(f"--domain {domain!r}: wanted {', '.join(KEYS.values())}")
    folder = run_dir or newest_run(asked.settings().output.logs)
    warn_of_judges(judges_of(folder))

    def view(size: tuple[int, int] | None) -> RenderableType:
        run = read_run(folder)
        return look(run, read_tail(run, domain), domain=domain, now=time.time(), size=size)

    if once:
        console.print(view(None))
        return
    with (
        Keys() as keys,
        Live(console=console, auto_refresh=False, screen=console.is_terminal) as live,
    ):
        while True:
            screen = console.width, console.height - 1
            live.update(Group(view(screen), Text(HELP, style="dim")), refresh=True)
            key = keys.wait(every_s)
            if key == "q":
                return
            domain = KEYS.get(key or "", domain)


class Keys:
    """``with Keys() as keys: key = keys.wait(5.0)``: the next key, or None after that long."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stdin
        self._saved: list[Any] | None = None

    def __enter__(self) -> Keys:
        if self._stream.isatty():
            import termios  # not everywhere there is Python
            import tty

            self._saved = termios.tcgetattr(self._stream)
            tty.setcbreak(self._stream)
        return self

    def __exit__(self, *_: object) -> None:
        if self._saved is not None:
            import termios

            termios.tcsetattr(self._stream, termios.TCSADRAIN, self._saved)

    def wait(self, seconds: float) -> str | None:
        if self._saved is None:
            time.sleep(seconds)
            return None
        ready, _, _ = select.select([self._stream], [], [], seconds)
        if not ready:
            return None
        # the file descriptor: a buffered reader would keep keys that select cannot see
        data = os.read(self._stream.fileno(), 64)
        return data.decode("utf-8", "replace")[:1] or "q"  # no data: the terminal has gone
