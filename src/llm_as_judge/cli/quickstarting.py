"""quickstart: a first run, on a task that was made to have something to learn."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llm_as_judge.assembly.chat_models import embedded_servers_kept, require_known_models
from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.config import Config, known_model
from llm_as_judge.evaluation.before_after import verdict as verdict_of
from llm_as_judge.evaluation.layout import read_results
from llm_as_judge.files import require_writable
from llm_as_judge.types import Rollout
from llm_as_judge.views.console import clock, say
from llm_as_judge.views.report import Sources, write_report

LOOK_S, QUIET_S = 1.0, 30.0
"""Seconds between looks, and without a line, after which one says what is going on."""


def quickstart(asked: Asked, *, out: Path) -> None:
    settings = _settings(out, asked)
    known_model(settings.policy.name, "policy.name")
    require_known_models(settings)
    require_writable(out)
    from llm_as_judge.cli.quickstart_outcome import show_outcome  # torch
    from llm_as_judge.evaluation.quickstart import TRAINED, WARM
    from llm_as_judge.evaluation.quickstart import quickstart as run

    root = settings.output.logs.parent
    for line in INTRODUCTION:
        say(line)
    with Lines() as lines, embedded_servers_kept():
        kept = f"finished parts are kept in {root}: the same command goes on there"

        def work(coroutine: Any) -> Any:
            with stoppable(kept) as stopping:
                return stopping.run(coroutine)

        outcome = run(settings, lines, work)
        lines.done("all is measured")
    page = root / "report.html"
    results = {name: read_results(path) for name, path in outcome.results.items()}
    said = verdict_of(outcome.results[WARM], outcome.results[TRAINED], (WARM, TRAINED))
    write_report(Sources(outcome.run_dir, results, verdict=said), page)
    show_outcome(outcome, page, asked.config or "")


def _settings(out: Path, asked: Asked) -> Config:
    """The configuration, everything it writes below OUT/seed_N but the executor's replies, which
    other seeds can use, too."""
    root = out / f"seed_{asked.settings().training.seed}"
    flags = {
        "data.data_dir": root / "data",
        "output.logs": root / "logs",
        "output.checkpoints": root / "checkpoints",
        "output.results": root / "results",
        "training.warm_start": root / "bank",
        "calls.folder": out / "calls",
    }
    return asked.settings(flags)


INTRODUCTION = (
    (
        "A small task of our own: long arithmetic, which wants a program; puzzles whose answer stands in the "
        "text, where a program errs; lookups in a passage; small Python functions."
    ),
    (
        "It was made to have room, so that there is something to learn. `llm-as-judge headroom FILE` tells "
        "whether your own task has room."
    ),
)


class Lines:
    """A line for each part that ends, and one where nothing has ended for a while."""

    def __init__(self) -> None:
        self._began = self._said = time.monotonic()
        self._doing = ""
        self._runs = 0
        self._operators: Counter[str] = Counter()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Lines:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    @property
    def is_watching(self) -> bool:
        return self._thread.is_alive()

    def _watch(self) -> None:
        while not self._ended.wait(LOOK_S):
            if time.monotonic() - self._said > QUIET_S:
                runs = f", {self._runs} programs run" if self._runs else ""
                self._line(f"... {self._doing}{runs}")

    def _line(self, text: str) -> None:
        now = time.monotonic()
        self._said = now
        say(f"{clock(now - self._began):>5}  {text}")

    def stage(self, text: str) -> None:
        self._doing, self._runs = text, 0

    def doing(self, text: str) -> None:
        self.stage(text)

    def warning(self, text: str) -> None:
        self._line(f"warning: {text}")

    def rollout(self, rollout: Rollout) -> None:
        self._runs += 1
        self._operators.update(rollout.program.operators)

    def step(self, step: int, steps: int, metrics: Mapping[str, float]) -> None:
        used = ", ".join(f"{name} {n}" for name, n in self._operators.most_common(4))
        judged = metrics.get("judge/decided", 0.0)
        self._operators.clear()
        self._line(
            f"step {step} of {steps}: right {metrics.get('accuracy/all', 0.0):.0%}, valid "
            f"{metrics.get('rollout/strictly_valid', 0.0):.0%}, {metrics.get('time/step_s', 0.0):.0f} s; "
            f"operators: {used or 'none'}{f'; trained judge decided {judged:.0%}' if judged else ''}"
        )

    def done(self, text: str) -> None:
        self._operators.clear()
        self._line(text)
