"""Rollouts that are paid for and not yet learned from: nothing finished is lost or paid twice.

``pending.jsonl`` in the run's folder gets a line when a program has been written and another when
its rollout has ended, at once and before anything else happens to it. When a step's rollouts are in
``rollouts.jsonl``, their lines go. A run that is killed and goes on from its last checkpoint finds
what it needs of later steps in these two files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from llm_as_judge.errors import DataError
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.runs.runlog import PENDING, ROLLOUTS
from llm_as_judge.types import PromptFacts, Rollout, from_json, to_json


class Place(NamedTuple):
    """Where a rollout belongs in a run."""

    step: int
    """From 1."""
    group: int
    """Position of the problem in the step."""
    sample: int
    """Position of the rollout in the group."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is known of a rollout, and what the prompt of its program showed."""

    rollout: Rollout
    prompt: PromptFacts


class PendingRollouts:
    """The file of one run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / PENDING
        self._file = JsonLines(self.path)
        self._learned = JsonLines(folder / ROLLOUTS)
        self._lines: dict[Place, str] = {}

    def add(self, place: Place, kept: Kept) -> None:
        """Keep what is known of a rollout now; the last line of a place holds.

        Raises:
            OutputError: the file cannot be written.
        """
        self._lines[place] = _line(place, kept)
        self._file.append(self._lines[place])

    def drop(self, step: int) -> None:
        """Forget ``step`` and those before it: their rollouts are in rollouts.jsonl.

        Raises:
            OutputError: the file cannot be written.
        """
        self._lines = {place: line for place, line in self._lines.items() if place.step > step}
        self._file.rewrite(self._lines.values())

    def recover(self, after: int) -> dict[Place, Kept]:
        """Rollouts of the steps after ``after``, which are from now on all in this file.

        What failed by our fault has no failure any more, and what could not be graded no verdict:
        both are done again. Nothing has a reward: that is the whole group's matter.

        Raises:
            DataError: a line is broken (``file:line``).
            OutputError: the file cannot be written.
        """
        found: dict[Place, Kept] = {}
        for file in (self._learned, self._file):  # a place in both: this file has its seconds
            found.update(_later(file, after))
        self._lines = {}
        for place in sorted(found):
            self._lines[place] = _line(place, found[place])
        self._file.rewrite(self._lines.values())
        return found


def _line(place: Place, kept: Kept) -> str:
    row = {"step": place.step, "group": place.group, **to_json(kept)}
    return json.dumps(row)


def _later(file: JsonLines, after: int) -> Iterator[tuple[Place, Kept]]:
    for number, row in enumerate(file.rows("step", missing_ok=True), start=1):
        if row["step"] > after:
            yield _placed(row, f"{file.path}:{number}")


def _placed(row: dict[str, Any], where: str) -> tuple[Place, Kept]:
    try:
        rollout: Rollout = from_json(Rollout, row["rollout"])
        prompt: PromptFacts = from_json(PromptFacts, row["prompt"])
        place = Place(row["step"], int(row["group"]), rollout.index)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{where}: not a rollout of a step: {error}") from None
    return place, Kept(_unfinished_parts_removed(rollout), prompt)


def _unfinished_parts_removed(rollout: Rollout) -> Rollout:
    verdict = rollout.verdict
    if rollout.failure or verdict is None or verdict.correct is None:
        verdict = None
    return replace(rollout, verdict=verdict, failure=None, reward=None)
