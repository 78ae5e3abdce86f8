"""A training run, ten steps at a time: what was valid, right and dear, and how alike its programs became.

    python recipes/steps.py logs/train_NAME [logs/train_OTHER ...] [--every 10] [--markdown]

Without a run the newest under logs/ is shown. Several are one table. What each figure means: docs/metrics.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.runs.runlog import METRICS, newest_run, read_steps
from llm_as_judge.views.tables import number_cell, show_table
from recipe import run

SHOWN = {
    "rollout/strictly_valid": ("valid", "{:.0%}"),
    "accuracy/all": ("right", "{:.0%}"),
    "reward/mean": ("reward", "{:.2f}"),
    "executor/cost": ("cost", "{:.0f}"),
    "rollout/distinct_programs": ("differ", "{:.0%}"),
    "update/entropy": ("entropy, nats a token", "{:.3f}"),
}
"""Metric -> its name in the table, and how it is written."""
MIXED = "mixed groups"


@dataclass(frozen=True, slots=True)
class Window:
    """Some steps in a row."""

    steps: str
    """``1-10``"""
    means: Mapping[str, float | None]
    """By the names of the table; of the steps that have the figure, None where none has."""


def windows(steps: Sequence[Mapping[str, Any]], every: int) -> list[Window]:
    """Means of ``every`` steps each; the last window may have fewer.

    Raises:
        ConfigError: ``every`` is below 1.
    """
    if every < 1:
        raise ConfigError(f"--every {every}: wanted 1 or more")
    return [_window(steps[at : at + every]) for at in range(0, len(steps), every)]


def _window(steps: Sequence[Mapping[str, Any]]) -> Window:
    means = {
        name: _mean([step.get(metric) for step in steps]) for metric, (name, _) in SHOWN.items()
    }
    shares = []
    for step in steps:
        used, alike = step.get("update/groups"), step.get("update/groups_without_variance")
        if used is not None and alike is not None and used + alike:
            shares.append(used / (used + alike))
    means[MIXED] = _mean(shares)
    return Window(f"{steps[0]['step']}-{steps[-1]['step']}", means)


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return fmean(there) if there else None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*", type=Path, help="run folders")
    parser.add_argument("--every", type=int, default=10, help="steps of a line (default: 10)")
    parser.add_argument("--markdown", action="store_true", help="a table for a document")
    options = parser.parse_args()
    folders = options.runs or [newest_run(Path("logs"))]
    forms = {**dict(SHOWN.values()), MIXED: "{:.0%}"}
    rows = [
        [
            *([folder.name] if len(folders) > 1 else []),
            one.steps,
            *(number_cell(one.means[name], form) for name, form in forms.items()),
        ]
        for folder in folders
        for one in windows(_steps(folder), options.every)
    ]
    title, first = (str(folders[0]), []) if len(folders) == 1 else ("Step by step", ["run"])
    show_table(title, [*first, "steps", *forms], rows, options.markdown)


def _steps(folder: Path) -> list[dict[str, Any]]:
    if steps := read_steps(folder):
        return steps
    raise DataError(f"{folder / METRICS}: no step in it")


if __name__ == "__main__":
    run(main)
