"""Rollouts that are paid for and not yet learned from: nothing finished is lost or paid twice.

``pending.jsonl`` in the run's folder gets a record (:class:`RunRecord`) when a program has been written
and another when its rollout has ended, at once and before anything else happens to them. When a step's
rollouts are in ``rollouts.jsonl``, their records go. A run that is killed and goes on from its last
checkpoint finds what it needs of later steps in these two files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from llm_as_judge.errors import DataError
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.runs.record import RunRecord, read_record
from llm_as_judge.runs.runlog import PENDING, ROLLOUTS
from llm_as_judge.runs.table import Runs
from llm_as_judge.types import PromptFacts, Rollout, from_json


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
    """The file of one run.

    Args:
        version: of the rules that grade.
    Raises:
        DataError: a line of it is broken (``file:line``).
    """

    def __init__(self, folder: Path, version: int) -> None:
        self.path = folder / PENDING
        self._learned = folder / ROLLOUTS
        self._version = version
        self._runs = Runs(self.path, read=_pending_record)

    def add(self, place: Place, kept: Kept) -> None:
        """Keep what is known of a rollout now; the last line of a place holds.

        Raises:
            OutputError: the file cannot be written.
        """
        self._runs.add(self._record(place, kept))

    def drop(self, step: int) -> None:
        """Forget ``step`` and those before it: their rollouts are in rollouts.jsonl.

        Raises:
            OutputError: the file cannot be written.
        """
        runs = self._runs.runs.values()
        self._runs.keep_only([run for run in runs if _place(run).step > step])

    def recover(self, after: int) -> dict[Place, Kept]:
        """Rollouts of the steps after ``after``, which are from now on all in this file.

        What failed by our fault has no failure any more, and what could not be graded no verdict:
        both are done again. Nothing has a reward: that is the whole group's matter.

        Raises:
            DataError: a line is broken (``file:line``).
            OutputError: the file cannot be written.
        """
        found: dict[Place, Kept] = {}
        # a place in both: the file of pending ones has its seconds
        for run in (*self._logged(after), *self._runs.runs.values()):
            assert run.rollout is not None, "the reader has seen to it"
            if _place(run).step > after:
                rollout = _unfinished_parts_removed(run.rollout)
                found[_place(run)] = Kept(rollout, run.prompt or PromptFacts())
        self._runs.keep_only([self._record(place, found[place]) for place in sorted(found)])
        return found

    def _logged(self, after: int) -> Iterator[RunRecord]:
        rows = JsonLines(self._learned).rows("step", missing_ok=True)
        for number, row in enumerate(rows, start=1):
            if row["step"] > after:
                try:
                    yield _pending_record(row)
                except TypeError as error:
                    raise DataError(f"{self._learned}:{number}: {error}") from None

    def _record(self, place: Place, kept: Kept) -> RunRecord:
        program = f"step_{place.step}/group_{place.group}"
        record = RunRecord.of(program, kept.rollout, self._version)
        return replace(record, prompt=kept.prompt)


def _place(run: RunRecord) -> Place:
    step, group = (int(part.rpartition("_")[2]) for part in run.program.split("/"))
    return Place(step, group, run.draw)


def _pending_record(row: Mapping[str, Any]) -> RunRecord:
    """Of a line of either file.

    Raises:
        TypeError: it is none.
    """
    try:
        if (
            "step" not in row
        ):  # rollouts.jsonl, and pending ones of earlier versions, say step and group
            record = read_record(row)
            _place(record)
        else:
            rollout = from_json(Rollout, row["rollout"])
            record = RunRecord.of(f"step_{row['step']}/group_{row['group']}", rollout, 1)
            record = replace(record, prompt=from_json(PromptFacts, row["prompt"]))
    except (KeyError, ValueError, TypeError) as error:
        raise TypeError(f"not a rollout of a step: {error}") from None
    if record.rollout is None:
        raise TypeError("not a rollout of a step: no field 'rollout'")
    return record


def _unfinished_parts_removed(rollout: Rollout) -> Rollout:
    verdict = rollout.verdict
    if rollout.failure or verdict is None or verdict.correct is None:
        verdict = None
    return replace(rollout, verdict=verdict, failure=None, reward=None)
