"""What a terminal shows of a run: progress while it goes on, and tables of what was logged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from llm_as_judge.runs.results import Results
from llm_as_judge.types import Rollout
from llm_as_judge.views.report.results import results_view

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


class ProgressView:
    """Progress bars on the terminal (a line an event where it is no terminal)."""

    def __init__(
        self,
        console: Console,
        rollouts: int,
        steps: int | None = None,
        *,
        each: str = "program",
        counted: str = "programs run",
    ) -> None:
        """
        Args:
            rollouts: of one step, or of the whole evaluation where ``steps`` is None.
            each: what one rollout is called.
            counted: what the bar counts.
        """
        self._console = console
        self._rollouts = rollouts
        self._done = 0
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
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
        self._progress.console.print(f"[dim]{text}[/dim]", highlight=False)

    def warning(self, text: str) -> None:
        self._progress.console.print(
            f"warning: {text}", style="yellow", markup=False, highlight=False, soft_wrap=True
        )

    def rollout(self, rollout: Rollout) -> None:
        self._progress.advance(self._task)
        if not self._console.is_terminal:  # a log file shows no bar, and minutes of nothing
            self._done += 1
            self._console.print(f"{self._each} {self._done} of {self._rollouts}", highlight=False)

    def step(self, step: int, steps: int, metrics: Mapping[str, float]) -> None:
        if self._steps is not None:
            self._progress.update(self._steps, completed=step, total=steps)
        self._progress.reset(self._task, total=self._rollouts)
        self._done = 0
        named = zip(STEP_COLUMNS, cells({"step": step, **metrics}), strict=True)
        self._progress.console.print(
            "  ".join(f"{heading} {cell}" for (heading, _, _), cell in named), highlight=False
        )
