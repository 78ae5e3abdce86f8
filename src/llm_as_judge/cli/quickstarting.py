"""quickstart: a first run, on a task that was made to have something to learn."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from llm_as_judge.assembly.chat_models import require_known_models
from llm_as_judge.cli.open_answers import counted
from llm_as_judge.cli.options import SeedOption, SetOption, say, settings_of
from llm_as_judge.cli.pace import clock
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.cli.tables import show_table
from llm_as_judge.cli.verbs import verb
from llm_as_judge.config import Config, known_model
from llm_as_judge.files import require_writable
from llm_as_judge.types import Rollout

if TYPE_CHECKING:
    from llm_as_judge.evaluation.compare import Comparison
    from llm_as_judge.evaluation.quickstart import Outcome

LOOK_S, QUIET_S = 1.0, 30.0
"""Seconds between looks, and without a line, after which one says what is going on."""


@verb("Example: llm-as-judge quickstart --seed 1")
def quickstart(
    out: Annotated[Path, typer.Option("--out", help="Folder for all files, by seed.")] = Path(
        "quickstart"
    ),
    steps: Annotated[int | None, typer.Option("--steps", help="Number of updates.")] = None,
    config: Annotated[
        str, typer.Option("--config", help="A YAML file or a shipped profile.")
    ] = "quickstart",
    seed: SeedOption = None,
    set_: SetOption = None,
) -> None:
    """Train and compare small real models on a small task.

    The same command continues after a stop.
    """
    settings = _settings(out, config, seed, steps, set_)
    known_model(settings.policy.name, "policy.name")
    require_known_models(settings)
    require_writable(out)
    from llm_as_judge.assembly.chat_models import embedded_servers_kept
    from llm_as_judge.evaluation.before_after import verdict as verdict_of
    from llm_as_judge.evaluation.layout import read_results
    from llm_as_judge.evaluation.quickstart import quickstart as run
    from llm_as_judge.views.report import Sources, write_report

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
    said = verdict_of(outcome.results["untrained"], outcome.results["trained"])
    write_report(Sources(outcome.run_dir, results, verdict=said), page)
    _show(outcome, page, config)


def _settings(
    out: Path, config: str, seed: int | None, steps: int | None, set_: list[str] | None
) -> Config:
    """The configuration, everything it writes below OUT/seed_N but the executor's replies, which
    other seeds can use, too."""
    first = settings_of(config, set_, seed=seed)
    root = out / f"seed_{first.training.seed}"
    flags = {
        "training.steps": steps,
        "data.val_file": root / "data" / "mixed" / "val_mixed.jsonl",
        "output.logs": root / "logs",
        "output.checkpoints": root / "checkpoints",
        "output.results": root / "results",
        "training.warm_start": root / "bank",
        "calls.folder": out / "calls",
    }
    return settings_of(config, set_, seed=seed, data_dir=root / "data", flags=flags)


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


# ------------------------------------------------------------------------------------- the outcome
def _show(outcome: Outcome, page: Path, config: str) -> None:
    from llm_as_judge.evaluation.quickstart import right_of

    kinds = list(dict.fromkeys(outcome.systems[0].datasets.values()))
    rows = [
        [
            system.name,
            *(right_of(system, kind) for kind in kinds),
            right_of(system),
            f"{system.mean_tokens:.0f}",
        ]
        for system in outcome.systems
    ]
    show_table("Held-out rows right", ["", *kinds, "all", "executor tokens a row"], rows, False)
    for line in _graded_how(outcome):
        say(line)
    say(_difference("trained - untrained", outcome.against_untrained))
    say(_difference("trained - warm-started", outcome.against_warm))
    say(_difference("trained - best fixed program", outcome.against_fixed))
    for line in verdict(outcome):
        say(line)
    say(f"page  {page}")
    say("What next:")
    for line in _next(outcome, config):
        say(f"  {line}")


def _graded_how(outcome: Outcome) -> list[str]:
    answers = sum(len(c.datasets) for c in outcome.systems)
    counts = {c.name: sum(c.open.values()) for c in outcome.systems if c.open}
    failed = sum(len(c.datasets) - len(c.right) for c in outcome.systems)
    lines = [_verdicts(answers - failed, outcome.judged, sum(counts.values()))]
    if counts:
        lines.append(f"open (not right in the table and in the tests): {counted(counts)}")
    return lines


def _verdicts(answers: int, judged: int, open_: int) -> str:
    by_rules = answers - judged - open_
    return (
        f"verdicts on {answers} answers: {by_rules} by rules and tests, {judged} by the trained judge, which is asked "
        f"where these leave an answer open; {open_} open"
    )


def _difference(what: str, pair: Comparison) -> str:
    from llm_as_judge.evaluation.compare import p_text

    open_ = f". {pair.open_words}" if pair.open else ""
    cost = "" if pair.token_ratio is None else f"; executor tokens x {pair.token_ratio:.2f}"
    return (
        f"{what}: {100 * pair.difference:+.0f} points [{100 * pair.low:+.0f}, {100 * pair.high:+.0f}] "
        f"on {pair.problems} rows, only it right {pair.only_other}, only the other "
        f"{pair.only_reference}, p {p_text(pair.p)}{cost}{open_}"
    )


def verdict(outcome: Outcome) -> list[str]:
    """What was shown, and what to do where it was not."""
    if outcome.unlearned:
        return [
            (
                "The GRPO steps lost part of what imitation had taught: step_0 beside the last checkpoint is the "
                "better policy. Lower --set training.learning_rate, or take more problems to a step."
            )
        ]
    if not outcome.shown:
        return [
            (
                "Nothing is shown: the trained policy is not better than the untrained one beyond chance. Give "
                "it more steps (--steps 12 goes on from here) or another --seed."
            )
        ]
    if not outcome.beats_fixed:
        return [
            "Training helped, but a fixed program does about as well: --steps 12 goes on from here."
        ]
    parts = (
        "GRPO added to what the warm start had taught."
        if outcome.grpo_added
        else "The warm start brought that. GRPO's part is not shown on these greedy programs: "
        "docs/results/quickstart.md measures it on drawn ones."
    )
    return [
        "Training helped, and no fixed program does as well: the policy reads the problem.",
        parts,
    ]


def _next(outcome: Outcome, config: str) -> list[str]:
    results = outcome.results["trained"].parent
    return [
        f"llm-as-judge compare {results}/*_results.json --by-domain",
        (
            f"llm-as-judge solve --config {config} --policy {outcome.checkpoint} --domain math "
            '--problem "Work out 417 * 583 - 96 * 240."'
        ),
        "llm-as-judge init mine.jsonl --executor openai:MODEL@http://HOST:PORT/v1    # your own rows",
    ]
