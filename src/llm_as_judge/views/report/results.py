"""Results files and a judge audit as rows of the page; parts that are missing are dashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm_as_judge.runs.rundir import finite
from llm_as_judge.views.report import charts, curves

ROWS = (
    ("strictly valid", "strictly_valid", "{:.0%}"),
    ("executed", "executed", "{:.0%}"),
    ("not graded", "not_graded", "{:.0f}"),
    ("calls per problem", "calls", "{:.2f}"),
    ("tokens per problem", "tokens", "{:,.0f}"),
)


@dataclass(frozen=True, slots=True)
class ResultsView:
    """Results side by side, and the front of cost and accuracy where there are several."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    front: charts.Chart | None


@dataclass(frozen=True, slots=True)
class AuditView:
    title: str
    passed: bool
    bars: tuple[tuple[str, ...], ...]
    attacks: tuple[tuple[str, ...], ...]


def results_view(results: Mapping[str, Any]) -> ResultsView:
    """
    Args:
        results: heading -> parsed results file (the documented form).
    """
    names = dict.fromkeys(
        str(row["dataset"]) for data in results.values() for row in _sets(data) if "dataset" in row
    )
    rows = [
        (name, *(accuracy_text(_metrics(data, name)) for data in results.values()))
        for name in names
    ]
    rows.append(("overall", *(accuracy_text(_overall(data)) for data in results.values())))
    rows.append(
        (
            "balanced over sets",
            *(accuracy_text(balanced(_overall(data))) for data in results.values()),
        )
    )
    for label, key, form in ROWS:
        rows.append((label, *(_cell(_overall(data), key, form) for data in results.values())))
    head = (heading_of(name, data) for name, data in results.items())
    return ResultsView(("data set", *head), tuple(rows), _front(results))


def _front(results: Mapping[str, Any]) -> charts.Chart | None:
    named = []
    for heading, data in results.items():
        overall = _overall(data)
        tokens, right = finite(overall.get("tokens")), finite(overall.get("accuracy"))
        if tokens is not None and right is not None and not _is_control(data):
            low, high = finite(overall.get("accuracy_low")), finite(overall.get("accuracy_high"))
            named.append((heading, curves.Point(tokens, right, low, high)))
    if len(named) < 2:
        return None
    return charts.front_chart(
        "front",
        "Cost and accuracy",
        "Every result by what it uses and how often it is right; bars: 95 % intervals; the line "
        "joins those that no other beats in both.",
        "executor tokens per problem",
        named,
        curves.pareto([(point.x, point.y) for _, point in named]),
    )


def audit_view(audit: Mapping[str, Any]) -> AuditView:
    bars = [bar for bar in audit.get("bars") or [] if isinstance(bar, dict)]
    attacks = audit.get("attacks")
    return AuditView(
        f"Judge {audit.get('fingerprint', '-')} ({audit.get('mode', '-')})",
        audit.get("passed") is True,
        tuple(
            (
                str(bar.get("name", "-")),
                _cell(bar, "found", "{:.4g}"),
                str(bar.get("wanted", "-")),
                "ok" if bar.get("passed") is True else "missed",
            )
            for bar in bars
        ),
        tuple(
            (str(name), _cell(row, "accepted", "{:.0f}"), _cell(row, "n", "{:.0f}"))
            for name, row in (attacks if isinstance(attacks, dict) else {}).items()
            if isinstance(row, dict)
        ),
    )


def _sets(data: Any) -> list[dict[str, Any]]:
    found = data.get("datasets") if isinstance(data, dict) else None
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _metrics(data: Any, name: str) -> Mapping[str, Any]:
    for row in _sets(data):
        metrics = row.get("metrics")
        if row.get("dataset") == name and isinstance(metrics, dict):
            return metrics
    return {}


def _is_control(data: Any) -> bool:
    """Known answers, which cost nothing: of no front."""
    return isinstance(data, dict) and data.get("control") is True


def heading_of(name: str, data: Any) -> str:
    """``name``, with what keeps its figures from being a policy's on held-out rows:
    ``name (control)``, ``name (train rows)``."""
    if _is_control(data):
        return f"{name} (control)"
    split = data.get("split", "test") if isinstance(data, dict) else "test"
    return name if split == "test" else f"{name} ({split} rows)"


def _overall(data: Any) -> Mapping[str, Any]:
    overall = data.get("overall") if isinstance(data, dict) else None
    return overall if isinstance(overall, dict) else {}


def balanced(overall: Mapping[str, Any]) -> dict[str, Any]:
    """Of overall figures those that are balanced over sets, as accuracy and interval; without them
    in older files."""
    ends = ("accuracy", "accuracy_low", "accuracy_high")
    return {name: overall.get(f"macro_{name}") for name in ends}


def accuracy_text(metrics: Mapping[str, Any]) -> str:
    """``30% [11%, 60%]``; a share of nothing is no 0 %."""
    if metrics.get("graded") == 0:
        return "none graded"
    parts = [finite(metrics.get(key)) for key in ("accuracy", "accuracy_low", "accuracy_high")]
    if parts[0] is None:
        return "-"
    if parts[1] is None or parts[2] is None:
        return f"{parts[0]:.0%}"
    return f"{parts[0]:.0%} [{parts[1]:.0%}, {parts[2]:.0%}]"


def _cell(row: Mapping[str, Any], key: str, form: str) -> str:
    value = finite(row.get(key))
    return "-" if value is None else form.format(value)
