"""Terminal view of a run: progress while it goes on, and tables of what was logged."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from llm_as_judge.data.selection import MIXED
from llm_as_judge.runs.results import Results
from llm_as_judge.types import Rollout
from llm_as_judge.views.report.results import accuracy_text, results_view

STEP_COLUMNS: Sequence[tuple[str, str, str]] = (
    ("step", "step", "{:.0f}"),
    ("valid", "rollout/strictly_valid", "{:.0%}"),
    ("ran", "execution/ok", "{:.0%}"),
    ("right", "accuracy/all", "{:.0%}"),
    ("math", "accuracy/math", "{:.0%}"),
    ("qa", "accuracy/qa", "{:.0%}"),
    ("code", "accuracy/code", "{:.0%}"),
    ("reward", "reward/mean", "{:+.2f}"),
    ("calls", "executor/calls", "{:.1f}"),
    ("tokens", "executor/tokens", "{:.0f}"),
    ("smp s", "time/sample_s", "{:.0f}"),
    ("run s", "time/execute_and_grade_s", "{:.0f}"),
    ("upd s", "time/update_s", "{:.0f}"),
)
"""Heading, key of metrics.jsonl or timings.jsonl, format."""


FEW = 100
"""Graded problems, fewer than which show no difference that training makes."""


def cells(row: Mapping[str, Any]) -> list[str]:
    """One step as text, a dash where it has no such figure."""
    return [form.format(row[key]) if key in row else "-" for _, key, form in STEP_COLUMNS]


LINE: Sequence[tuple[str, str]] = (
    ("time/step_s", "{:.0f} s"),
    ("accuracy/all", "right {:.0%}"),
    ("rollout/not_graded", "open {:.0%}"),
    ("rollout/strictly_valid", "valid {:.0%}"),
    ("reward/mean", "reward {:+.2f}"),
    ("ledger/cost", "cost {:,.0f} written tokens"),
    ("ledger/cost_usd", "${:,.4g}"),
)
"""Key of metrics.jsonl or timings.jsonl, how the line of a step says it; what a step has none of is left
out."""


def step_line(step: int, steps: int, metrics: Mapping[str, float]) -> str:
    """``step 3 of 20: 41 s, right 50%, valid 97%, reward +1.20, cost 1,234 written tokens``"""
    said = [
        form.format(metrics[key])
        for key, form in LINE
        if metrics.get(key) is not None and (metrics[key] or key != "rollout/not_graded")
    ]
    free = metrics.get("ledger/cost_usd") == 0
    return f"step {step} of {steps}: {', '.join(said[:-1] if free else said)}"


def step_table(steps: Sequence[Mapping[str, Any]], title: str = "") -> Table:
    """Steps as a table for the terminal."""
    table = Table(title=title or None, box=None, padding=(0, 1, 0, 0))  # fits 80 columns
    for heading, _, _ in STEP_COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in steps:
        table.add_row(*cells(row))
    return table


def step_markdown(steps: Sequence[Mapping[str, Any]]) -> str:
    """Steps as a table for a document."""
    lines = [
        "| " + " | ".join(heading for heading, _, _ in STEP_COLUMNS) + " |",
        "|" + "---:|" * len(STEP_COLUMNS),
    ]
    lines += ["| " + " | ".join(cells(row)) + " |" for row in steps]
    return "\n".join(lines)


def results_table(results: Mapping[str, Results]) -> Table:
    """Results side by side, by their heading."""
    view = results_view(results)
    table = Table(title="Accuracy (95 % interval)")
    table.add_column(view.head[0], no_wrap=True)
    for heading in view.head[1:]:
        table.add_column(escape(heading), justify="right")
    for row in view.rows:
        if row[0] == "overall":
            table.add_section()
        table.add_row(*map(escape, row))
    return table


def results_line(name: str, data: Results) -> str:
    """``direct: 30% [11%, 60%] right on 12 problems, 410 written tokens a problem.``, and what so few cannot
    show; empty where nothing has a verdict."""
    overall = data.overall
    if overall["accuracy"] is None:
        return ""
    sets = [one for one in data.datasets if one.dataset != MIXED] or data.datasets
    problems = sum(one.num_samples for one in sets)
    cost = overall.get("cost")
    spent = f", {cost:,.0f} written tokens a problem" if cost is not None else ""
    line = f"{name}: {accuracy_text(overall)} right on {problems} problems{spent}."
    return " ".join(filter(None, [line, smallness({name: data})]))


def smallness(results: Mapping[str, Results]) -> str:
    """What so few problems cannot show; empty where the intervals are narrow, or unknown."""
    figures = [data.overall for data in results.values()]
    few = min((f["graded"] or 0.0 for f in figures if "graded" in f), default=FEW)
    if few >= FEW:
        return ""
    widest = max((f["accuracy_high"] or 1.0) - (f["accuracy_low"] or 0.0) for f in figures)
    return (
        f"{few:.0f} graded problems: the accuracy is known to within {50 * widest:.0f} points. So few "
        "show that everything runs, not whether training helps: evaluate more with --limit"
    )


QUIET_S = 60.0
"""Seconds after which a log without bars says how far it is."""
LONG_S = 20.0
"""Seconds that a part of a step must have taken for a log to say when the next of its kind begins."""


class ProgressView:
    """Progress bars on a terminal. Where it is none, a log: a line a step, one where a part of it begins that
    takes long, and one a minute at most while nothing else is said."""

    def __init__(
        self,
        console: Console,
        rollouts: int,
        steps: int | None = None,
        *,
        each: str = "program",
        counted: str = "programs run",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            clock: seconds, for the lines of a log.
            rollouts: of one step, or of the whole evaluation where ``steps`` is None.
            each: what one rollout is called.
            counted: what the bar counts.
        """
        self._console = console
        self._rollouts = rollouts
        self._done = 0
        self._clock, self._said_at = clock, clock()
        self._part, self._part_began = "", self._said_at
        self._took: dict[str, float] = {}
        """Seconds of the last part of each kind."""
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._steps = self._progress.add_task("steps", total=steps) if steps else None
        self._each = each
        self._task = self._progress.add_task(counted, total=rollouts)

    def __enter__(self) -> ProgressView:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def expect(self, rollouts: int) -> None:
        """So many, and not those said at first."""
        self._rollouts = rollouts
        self._progress.update(self._task, total=rollouts, visible=rollouts > 0)

    def stage(self, text: str) -> None:
        self._end_part()
        self._say(text, style="dim")

    def doing(self, text: str) -> None:
        """What goes on until the next of these: beside the bar. In a log it is a line where the last of its
        kind took long, or there was none."""
        self._end_part()
        self._part = re.sub(r"\d+", "", text)
        self._progress.update(self._task, description=text)
        if not self._console.is_terminal and self._took.get(self._part, LONG_S) >= LONG_S:
            self._say(text, style="dim")

    def _end_part(self) -> None:
        now = self._clock()
        if self._part:
            self._took[self._part] = now - self._part_began
        self._part, self._part_began = "", now

    def warning(self, text: str) -> None:
        self._say(f"warning: {text}", style="yellow")

    def rollout(self, rollout: Rollout) -> None:
        self._progress.advance(self._task)
        self._done += 1
        quiet = self._clock() - self._said_at >= QUIET_S
        if quiet and not self._console.is_terminal:  # a log shows no bar, and minutes of nothing
            self._say(f"{self._each} {self._done} of {self._rollouts}")

    def _say(self, text: str, style: str | None = None) -> None:
        self._said_at = self._clock()
        self._progress.console.print(
            text, style=style, markup=False, highlight=False, soft_wrap=True
        )

    def step(self, step: int, steps: int, metrics: Mapping[str, float]) -> None:
        if self._steps is not None:
            self._progress.update(self._steps, completed=step, total=steps)
        self._end_part()
        self._progress.reset(self._task, total=self._rollouts)
        self._done = 0
        self._say(step_line(step, steps, metrics))
