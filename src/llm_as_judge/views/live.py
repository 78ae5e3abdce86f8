"""Steps and results of a run as lines and tables of the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from llm_as_judge.data.selection import MIXED
from llm_as_judge.dollars import in_dollars
from llm_as_judge.runs.results import Results
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
    ("sample s", "time/sample_s", "{:.0f}"),
    ("run s", "time/execute_and_grade_s", "{:.0f}"),
    ("learn s", "time/update_s", "{:.0f}"),
)
"""Heading, key of metrics.jsonl or timings.jsonl, format."""


FEW = 100
"""Graded problems, fewer than which show no difference that training makes."""


def cells(row: Mapping[str, Any]) -> list[str]:
    """One step as text, a dash where it has no such figure."""
    return [form.format(row[key]) if key in row else "-" for _, key, form in STEP_COLUMNS]


LINE: Sequence[tuple[str, str | Callable[[float], str]]] = (
    ("time/step_s", "{:.0f} s"),
    ("accuracy/all", "right {:.0%}"),
    ("rollout/not_graded", "open {:.0%}"),
    ("rollout/strictly_valid", "valid {:.0%}"),
    ("reward/mean", "reward {:+.2f}"),
    ("judge/decided", "trained judge decided {:.0%}"),
    ("ledger/cost", "cost {:,.0f} written tokens"),
    ("ledger/cost_usd", in_dollars),
)
"""Key of metrics.jsonl or timings.jsonl, how the line of a step says it; what a step has none of is left
out."""


def step_line(step: int, steps: int, metrics: Mapping[str, float]) -> str:
    """``step 3 of 20: 41 s, right 50%, valid 97%, reward +1.20, cost 1,234 written tokens``"""
    said = [
        (form.format if isinstance(form, str) else form)(metrics[key])
        if metrics[key] or key != "ledger/cost"
        else "no new replies to pay"
        for key, form in LINE
        if metrics.get(key) is not None
        and (metrics[key] or key not in ("rollout/not_graded", "judge/decided"))
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
    """``direct: 30% [11%, 60%] right on 12 problems, 410 written tokens a problem.``, what became of the
    answers that failed or are open, and what so few cannot show; empty where nothing has a verdict."""
    overall = data.overall
    if overall["accuracy"] is None:
        return ""
    sets = [one for one in data.datasets if one.dataset != MIXED] or data.datasets
    problems = overall.get("answered") or sum(one.num_samples for one in sets)
    cost = overall.get("cost")
    spent = f", at a cost of {cost:,.0f} written tokens a problem" if cost is not None else ""
    line = f"{name}: {accuracy_text(overall)} right on {several(problems, 'problem')}{spent}."
    return " ".join(filter(None, [line, _asked_for(overall), smallness({name: data})]))


def _asked_for(figures: Mapping[str, float | None]) -> str:
    """``6 answers asked for: 4 graded, 1 open, 1 failed (in no figure).``; empty where all are graded."""
    counts = {name: figures.get(name) or 0.0 for name in ("graded", "open", "failed")}
    if not counts["open"] and not counts["failed"]:
        return ""
    asked = sum(counts.values())
    said = ", ".join(f"{count:.0f} {name}" for name, count in counts.items() if count)
    nowhere = " (in no figure)" if counts["failed"] else ""
    return f"{several(asked, 'answer')} asked for: {said}{nowhere}."


def several(count: float, noun: str) -> str:
    """``1 row``, ``2 rows``"""
    return f"{count:.0f} {noun}{'' if count == 1 else 's'}"


def smallness(results: Mapping[str, Results]) -> str:
    """What so few problems cannot show; empty where the intervals are narrow, or unknown."""
    figures = [data.overall for data in results.values()]
    counts = (f.get("answered", f.get("graded")) for f in figures)
    few = min((count for count in counts if count is not None), default=FEW)
    if few >= FEW:
        return ""
    sets = [one for data in results.values() for one in data.datasets]
    whole = all(0 < one.rows_in_test_file <= one.num_samples for one in sets)
    more = "Bring more rows: these are all" if whole else "Evaluate more, with --limit"
    widest = max((f["accuracy_high"] or 1.0) - (f["accuracy_low"] or 0.0) for f in figures)
    return f"So few problems give the accuracy to within {50 * widest:.0f} points; a smaller gain hardly shows. {more}."
