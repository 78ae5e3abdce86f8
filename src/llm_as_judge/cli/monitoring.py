"""monitor: a run while it goes on."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from llm_as_judge.cli.asking import Asked
from llm_as_judge.errors import ConfigError
from llm_as_judge.runs.judges import judges_of
from llm_as_judge.runs.rundir import read_run
from llm_as_judge.runs.runlog import newest_run
from llm_as_judge.views.console import (
    console,
    warn_of_judges,
)
from llm_as_judge.views.keyboard import Keys
from llm_as_judge.views.screen import HELP, KEYS, look, read_tail


def monitor(asked: Asked, *, run_dir: Path | None, once: bool, domain: str, every_s: float) -> None:
    if domain not in KEYS.values():
        raise ConfigError(f"--domain {domain!r}: wanted {', '.join(KEYS.values())}")
    folder = run_dir or newest_run(asked.settings().output.logs)
    warn_of_judges(judges_of(folder))

    def view(steps: int) -> RenderableType:
        run = read_run(folder)
        return look(run, read_tail(run, domain), domain=domain, now=time.time(), steps=steps)

    if once:
        console.print(view(0))
        return
    with (
        Keys() as keys,
        Live(console=console, auto_refresh=False, screen=console.is_terminal) as live,
    ):
        while True:
            live.update(Group(view(8), Text(HELP, style="dim")), refresh=True)
            key = keys.wait(every_s)
            if key == "q":
                return
            domain = KEYS.get(key or "", domain)
