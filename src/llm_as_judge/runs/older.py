"""Runs as earlier versions kept them: a bank's cells.jsonl, an evaluation's rollouts.jsonl."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from llm_as_judge.errors import DataError
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.runs.record import RunRecord, read_record
from llm_as_judge.types import Problem, Rollout, from_json

OLDER = ("cells.jsonl", "rollouts.jsonl")


def older_runs(path: Path) -> Iterator[tuple[Problem | None, RunRecord]]:
    """The runs of a file of :data:`OLDER`, each with its problem where the line holds it.

    Raises:
        DataError: a line is broken (``file:line``), or the file beside it that says the rest.
    """
    bank = path.name == OLDER[0]
    beside = _beside(path.with_name("about.json" if bank else "plan.json"))
    version = beside.get("version of the grading rules" if bank else "grading_version", 1)
    for number, row in enumerate(JsonLines(path).rows(), start=1):
        try:
            if bank:
                yield None, read_record({**row, "grading_version": version})
                continue
            rollout: Rollout = from_json(Rollout, row.get("rollout"))
            policy = str(beside.get("policy", ""))
            yield from_json(Problem, row.get("problem")), RunRecord.of(policy, rollout, version)
        except TypeError as error:
            raise DataError(f"{path}:{number}: not a run: {error}; remove that line") from None


def _beside(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    return found if isinstance(found, dict) else {}
