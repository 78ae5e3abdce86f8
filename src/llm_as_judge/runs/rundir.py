"""Reading a run's folder while it may still be written, by readers that must not fall over.

Broken lines are left out and counted; only a folder that holds no run at all is an error. What a
figure is made of is a finite number or absent: a foreign file cannot put text into a chart.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from llm_as_judge.errors import DataError
from llm_as_judge.jsonl import MAX_LINE_BYTES, Broken, JsonLines, is_whole
from llm_as_judge.renamed import with_new_names
from llm_as_judge.runs.runlog import METRICS, ROLLOUTS, TIMINGS, is_number

RUN_FILES = (METRICS, ROLLOUTS, "config.yaml", "run.json")


@dataclass(slots=True)
class RunDir:
    """What a run's folder says at this moment."""

    folder: Path
    steps: list[dict[str, float]] = field(default_factory=list)
    """Metrics and timings by step, in order; every value a number (``nan`` where a run logged it)."""
    config: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    ledger: dict[str, Any] = field(default_factory=dict)
    """The bill of the run (``ledger.json``); empty where there is none."""
    written_at: float | None = None
    """Time (seconds since 1970) of the last write to metrics or rollouts."""
    warnings: tuple[str, ...] = ()
    """What the run itself warned of in its last step, each with what to do."""
    broken_lines: int = 0


def read_run(folder: Path) -> RunDir:
    """Everything but the rollouts.

    Raises:
        DataError: the folder does not exist or holds no run.
    """
    require_run(folder)
    run = RunDir(folder)
    merged: dict[int, dict[str, float]] = {}
    for name in (METRICS, TIMINGS):
        count = Broken()
        for row in JsonLines(folder / name).sound_rows(count):
            step = row.get("step")
            if not is_whole(step):
                count.lines += 1
            elif name == METRICS or step in merged:
                merged.setdefault(step, {}).update(numbers(with_new_names(row)))
                if name == METRICS and step == max(merged):
                    run.warnings = _texts(row.get("warnings"))
        run.broken_lines += count.lines
    run.steps = [merged[step] for step in sorted(merged)]
    run.config = _mapping(folder / "config.yaml")
    run.facts = _mapping(folder / "run.json")
    run.ledger = _mapping(folder / "ledger.json")
    run.written_at = _last_write(folder)
    return run


def require_run(folder: Path) -> None:
    """Nothing, if ``folder`` holds at least one file of a run.

    Raises:
        DataError: one line that says what is there instead.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; wanted that of a run, like logs/train_grpo")
    if any((folder / name).is_file() for name in RUN_FILES):
        return
    try:
        found = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror}") from None
    shown = ", ".join(repr(name)[1:-1][:40] for name in found[:4]) or "nothing"
    more = f" and {len(found) - 4} more" if len(found) > 4 else ""
    raise DataError(
        f"{folder}: no run here: found {shown}{more}, wanted {METRICS}; "
        "name a run's folder, logs/train_... say"
    )


def numbers(row: Mapping[str, Any]) -> dict[str, float]:
    """The numeric entries of ``row``."""
    return {str(key): float(value) for key, value in row.items() if is_number(value)}


def _texts(told: object) -> tuple[str, ...]:
    values = told.values() if isinstance(told, dict) else ()
    return tuple(value for value in values if isinstance(value, str))


def finite(value: object) -> float | None:
    """``value`` as a float if it is a finite number, else None."""
    if not isinstance(value, int | float) or not is_number(value):
        return None
    return float(value) if math.isfinite(value) else None


def _mapping(path: Path) -> dict[str, Any]:
    """A YAML or JSON object; empty if missing, half-written or something else."""
    try:
        text = path.read_text(encoding="utf-8")[:MAX_LINE_BYTES]
        data = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _last_write(folder: Path) -> float | None:
    times = []
    for name in (METRICS, ROLLOUTS):
        try:
            times.append((folder / name).stat().st_mtime)
        except OSError:
            continue
    return max(times, default=None)
