"""Results files as rows of the page; parts that are missing are dashes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from llm_as_judge.accuracy import interval_text
from llm_as_judge.data.selection import MIXED
from llm_as_judge.runs.results import Results
from llm_as_judge.runs.rundir import finite
from llm_as_judge.views.report import charts, curves

ROWS = (
    ("graded", "graded", "{:.0f}"),
    ("strictly valid", "strictly_valid", "{:.0%}"),
    ("executed", "executed", "{:.0%}"),
    ("open", "open", "{:.0f}"),
    ("failed", "failed", "{:.0f}"),
    ("calls per problem", "calls", "{:.2f}"),
    ("tokens per problem", "tokens", "{:,.0f}"),
    ("cost, written tokens", "cost", "{:,.0f}"),
)


@dataclass(frozen=True, slots=True)
class ResultsView:
    """Results side by side, and the front of cost and accuracy where there are several."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    front: charts.Chart | None


@dataclass(frozen=True, slots=True)
class Side:
    """What one of two systems did."""

    answer: str
    program: str


@dataclass(frozen=True, slots=True)
class Change:
    """A problem that only one of two systems got right."""

    dataset: str
    question: str
    wanted: str
    """An answer that is right; empty where tests decide."""
    sides: tuple[Side, Side]


@dataclass(frozen=True, slots=True)
class Changes:
    """What the second of two systems won and lost against the first."""

    names: tuple[str, str]
    won: tuple[Change, ...]
    lost: tuple[Change, ...]


def row_name(name: str, names: Collection[str]) -> str:
    """Of a set; the mix is drawn from the others, beside which it counts in no other row."""
    return f"{name} (test mix, not in overall)" if name == MIXED and len(names) > 1 else name


def results_view(results: Mapping[str, Results]) -> ResultsView:
    """Of results by their heading."""
    columns = results.values()
    names = dict.fromkeys(row.dataset for data in columns for row in data.datasets)
    rows = [
        (row_name(name, names), *(accuracy_text(data.metrics_of(name)) for data in columns))
        for name in names
    ]
    rows.append(("overall", *(accuracy_text(data.overall) for data in columns)))
    if len(names) > 1:  # else the same figure again
        rows.append(
            ("balanced over sets", *(accuracy_text(balanced(data.overall)) for data in columns))
        )
    for label, key, form in ROWS:
        rows.append((label, *(_cell(data.overall, key, form) for data in columns)))
    head = (heading_of(name, data) for name, data in results.items())
    return ResultsView(("data set", *head), tuple(rows), _front(results))


def _front(results: Mapping[str, Results]) -> charts.Chart | None:
    named = []
    priced = all(data.overall.get("cost") is not None for data in results.values())
    for heading, data in results.items():
        spent, right = data.overall.get("cost" if priced else "tokens"), data.overall["accuracy"]
        if spent is not None and right is not None:
            low, high = data.overall["accuracy_low"], data.overall["accuracy_high"]
            named.append((heading, curves.Point(spent, right, low, high)))
    if len(named) < 2:
        return None
    return charts.front_chart(
        "front",
        "Cost and accuracy",
        "Every result by what it uses and how often it is right; bars: 95 % intervals; the line "
        "joins those that no other beats in both.",
        "cost per problem, in written tokens" if priced else "executor tokens per problem",
        named,
        curves.pareto([(point.x, point.y) for _, point in named]),
    )


def heading_of(name: str, data: Results) -> str:
    """``name``, where its rows are not the held-out ones with their split: ``name (train rows)``."""
    return name if data.split == "test" else f"{name} ({data.split} rows)"


def balanced(overall: Mapping[str, float | None]) -> dict[str, float | None]:
    """Of overall figures those that are balanced over sets, as accuracy and interval; without them
    in older files."""
    ends = ("accuracy", "accuracy_if_open_right", "accuracy_low", "accuracy_high")
    return {name: overall.get(f"macro_{name}") for name in ends}


def accuracy_text(metrics: Mapping[str, float | None]) -> str:
    """``30% [11%, 60%]``, with open answers ``30% to 50% [11%, 75%]``; a share of nothing is no 0 %."""
    ends = ("accuracy", "accuracy_low", "accuracy_high")
    right, low, high = (metrics.get(key) for key in ends)
    if right is None:
        return "-"
    most = metrics.get("accuracy_if_open_right")
    if low is None or high is None:
        return f"{right:.0%}"
    return interval_text(right, right if most is None else most, low, high, "{:.0%}")


def _cell(row: Mapping[str, Any], key: str, form: str) -> str:
    value = finite(row.get(key))
    return "-" if value is None else form.format(value)
