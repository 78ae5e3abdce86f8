"""Kinds that the answers of own sets are read as, counted for the owner of the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from llm_as_judge.data.files import read_problems
from llm_as_judge.grading.choice import is_choice
from llm_as_judge.grading.units import read_unit
from llm_as_judge.grading.values import gold_kind
from llm_as_judge.types import AnswerKind, Problem

MOST_ROWS = 2000
"""Rows of a set that are looked at; of a larger one the first."""


@dataclass(slots=True)
class SetKinds:
    """The answers of one set of mathematics or QA."""

    name: str
    kinds: Counter[AnswerKind] = field(default_factory=Counter)
    unanswerable: int = 0
    units: Counter[str] = field(default_factory=Counter)
    """Units that rows say and nothing here knows."""
    is_sample: bool = False

    @property
    def shown(self) -> str:
        """``11 money, 1 number``, the most frequent first."""
        counts = [f"{count} {kind}" for kind, count in self.kinds.most_common()]
        if self.unanswerable:
            counts.append(f"{self.unanswerable} without an answer")
        return ", ".join(counts) + (f" (of the first {MOST_ROWS} rows)" if self.is_sample else "")


def kinds_of_sets(data_dir: Path, sets: Sequence[str]) -> list[SetKinds]:
    """Of each set that ``data process`` left in ``data_dir`` and no tests grade.

    Raises:
        DataError: a file of the sets is missing or broken.
    """
    found = []
    for name in sets:
        one = SetKinds(name)
        problems = list(islice(_problems(data_dir, name), MOST_ROWS + 1))
        one.is_sample = len(problems) > MOST_ROWS
        for problem in problems[:MOST_ROWS]:
            _count(one, problem)
        if one.kinds or one.unanswerable:
            found.append(one)
    return found


def _problems(data_dir: Path, name: str) -> Iterator[Problem]:
    for folder, side in (("processed", "train"), ("processed", "val"), ("test", "test")):
        for problem in read_problems(data_dir / folder / f"{name}_{side}.jsonl"):
            if problem.domain != "code":
                yield problem


def _count(found: SetKinds, problem: Problem) -> None:
    spec = problem.spec
    if not problem.answers:
        found.unanswerable += 1
    elif spec.kind is None and is_choice(problem):
        found.kinds["choice"] += 1
    else:
        found.kinds[gold_kind(problem.answers[0], problem.question, problem.domain, spec)] += 1
    if spec.unit and spec.unit != "%" and not read_unit(spec.unit):
        found.units[spec.unit] += 1
