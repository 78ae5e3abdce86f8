"""quickstart: a first run, on a task that was made to have something to learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llm_as_judge.assembly.chat_models import embedded_servers_kept, require_known_models
from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.config import Config, known_model
from llm_as_judge.evaluation.pages import page_of
from llm_as_judge.files import require_writable
from llm_as_judge.views.console import console
from llm_as_judge.views.progress import Progress
from llm_as_judge.views.report import write_report


def quickstart(asked: Asked, *, out: Path) -> None:
    settings = _settings(out, asked)
    known_model(settings.policy.name, "policy.name")
    require_known_models(settings)
    require_writable(out)
    from llm_as_judge.cli.quickstart_outcome import show_outcome  # torch
    from llm_as_judge.evaluation.quickstart import PARTS, TRAINED, WARM
    from llm_as_judge.evaluation.quickstart import quickstart as run

    root = settings.output.logs.parent
    for line in INTRODUCTION:
        console.print(line, markup=False, highlight=False)  # wrapped, as the lines below are short
    with Progress(console, PARTS) as view, embedded_servers_kept():
        kept = f"finished parts are kept in {root}: the same command goes on there"

        def work(coroutine: Any) -> Any:
            with stoppable(kept) as stopping:
                return stopping.run(coroutine)

        outcome = run(settings, view, work)
    page = root / "report.html"
    write_report(page_of(outcome.results, outcome.run_dir, pair=(WARM, TRAINED)), page)
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
