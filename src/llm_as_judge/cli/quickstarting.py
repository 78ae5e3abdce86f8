"""quickstart: a first run, on a task that was made to have something to learn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_as_judge.assembly.chat_models import embedded_servers_kept, require_known_models
from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.config import Config, known_model
from llm_as_judge.evaluation.before_after import is_better, is_shown
from llm_as_judge.evaluation.compare import Comparison
from llm_as_judge.evaluation.pages import page_of
from llm_as_judge.files import require_writable
from llm_as_judge.views.console import console, say
from llm_as_judge.views.open_answers import counted
from llm_as_judge.views.progress import Progress
from llm_as_judge.views.report import write_report
from llm_as_judge.views.tables import show_table

if TYPE_CHECKING:
    from llm_as_judge.evaluation.quickstart import Outcome  # loads torch


def quickstart(asked: Asked, *, out: Path) -> None:
    settings = _settings(out, asked)
    known_model(settings.policy.name, "policy.name")
    require_known_models(settings)
    require_writable(out)
    from llm_as_judge.evaluation.quickstart import PARTS, TRAINED, WARM  # torch
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


def show_outcome(outcome: Outcome, page: Path, config: str) -> None:
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
    show_table("Held-out rows right", ["", *kinds, "all", "tokens"], rows, False)
    for line in _graded_how(outcome):
        say(line)
    for what, pair in {
        "trained - warm-started": outcome.against_warm,
        "the same with drawn programs": outcome.against_warm_sampled,
        "trained - best fixed programs": outcome.against_fixed,
        "trained - untrained": outcome.against_untrained,
    }.items():
        cost = "" if pair.token_ratio is None else f"; executor tokens x {pair.token_ratio:.2f}"
        say(f"{what}: on {pair.problems} rows {pair.figures}{cost}")
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


def verdict(outcome: Outcome) -> list[str]:
    """What each part has taught, and what to do where GRPO's is not shown."""
    fixed = (
        "The trained policy beats the best fixed programs: it reads the problem."
        if is_better(outcome.against_fixed)
        else "The trained policy is not shown to beat the best fixed programs."
    )
    return [*_of_grpo(outcome), fixed]


def _of_grpo(outcome: Outcome) -> list[str]:
    greedy, drawn = outcome.against_warm, outcome.against_warm_sampled
    rows = f"{_won(greedy)} rows won : lost against the warm-started policy, {_won(drawn)} with drawn programs"
    if greedy.difference < 0 and is_shown(greedy):
        return [
            f"GRPO did harm: {rows}. The checkpoint step_0 is the better policy.",
            "Lower --set training.learning_rate in a new --out, or take more problems to a step.",
        ]
    if is_better(greedy):
        return [
            f"GRPO taught the policy to choose: {rows}.",
            "The warm start had taught it to write each program, and to prefer none.",
        ]
    return [
        f"GRPO's part is not shown on this seed: {rows}.",
        "--steps 16 goes on from here; another --seed makes another task.",
    ]


def _won(pair: Comparison) -> str:
    return f"{pair.only_other} : {pair.only_reference}"


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
