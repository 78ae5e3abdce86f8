"""Remarks on own rows: solutions read as answers, copies, contradictions, unused columns."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm_as_judge.data.custom import FIELDS
from llm_as_judge.data.golds import Marker, markers_of
from llm_as_judge.data.rows import RawRow
from llm_as_judge.quoting import quoted
from llm_as_judge.types import Problem

_SHOWN = 3
_READ: Mapping[Marker, str] = {"####": "what follows ####", "\\boxed": "the last \\boxed{}"}


@dataclass(slots=True)
class _Found:
    """Rows of one kind: how many, and the first ones as they are told."""

    count: int = 0
    told: list[str] = field(default_factory=list)

    def add(self, said: str) -> None:
        self.count += 1
        if len(self.told) < _SHOWN:
            self.told.append(said)

    def line(self, one: str, many: str) -> str:
        if not self.count:
            return ""
        more = f", and {self.count - _SHOWN} more" if self.count > _SHOWN else ""
        head = f"1 {one}" if self.count == 1 else f"{self.count} {many}"
        return f"{head}: {'; '.join(self.told)}{more}"


@dataclass(slots=True)
class RowRemarks:
    """Gathers the remarks on the rows of one set, row by row."""

    _solutions: dict[Marker, _Found] = field(default_factory=dict)
    _copies: _Found = field(default_factory=_Found)
    _contradictions: _Found = field(default_factory=_Found)
    _columns: dict[str, None] = field(default_factory=dict)
    _seen: dict[bytes, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """Digest of what is asked -> place and golds of the first row that asks it."""

    def add(self, row: RawRow, problem: Problem) -> None:
        """A row that became ``problem``."""
        record: Mapping[str, Any] = row.record
        known = FIELDS[problem.domain]
        self._columns.update(dict.fromkeys(str(name) for name in record if name not in known))
        if problem.domain != "code":
            for marker in sorted(markers_of(record.get("answer"))):
                said = f"{row.where} gives {quoted(problem.answers[0], 40)!r}"
                self._solutions.setdefault(marker, _Found()).add(said)
        golds = problem.hidden_tests if problem.domain == "code" else problem.answers
        where, earlier = self._seen.setdefault(_asked(problem), (row.where, golds))
        if where == row.where:
            return
        if _agree(golds, earlier):
            self._copies.add(f"{row.where} of {where}")
        elif problem.domain != "code":
            self._contradictions.add(
                f"{row.where} says {_shown(golds)}, {where} says {_shown(earlier)}"
            )

    @property
    def unused(self) -> tuple[str, ...]:
        """Columns that nothing reads, in the order in which they came."""
        return tuple(self._columns)

    def lines(self) -> tuple[str, ...]:
        """One line for each kind of remark."""
        one, many = "answer is a whole solution", "answers are whole solutions"
        lines = [
            found.line(*(f"{what}, of which {_READ[marker]} is read" for what in (one, many)))
            for marker, found in self._solutions.items()
        ]
        one, many = "row contradicts an earlier one", "rows contradict an earlier one"
        lines.append(self._copies.line("row is a copy", "rows are copies"))
        lines.append(self._contradictions.line(one, many))
        return tuple(filter(None, lines))


def _asked(problem: Problem) -> bytes:
    """Of the question with its passage and options: equal for equal words in any case and spacing."""
    words = (" ".join(text.split()).casefold() for text in (problem.context, problem.question))
    options = (" ".join(text.split()) for text in problem.options)
    text = "\0".join([*words, problem.setup_code, *options])
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def _agree(golds: Iterable[str], others: Iterable[str]) -> bool:
    mine, theirs = {*map(_value, golds)}, {*map(_value, others)}
    return mine == theirs or bool(mine & theirs)


def _value(gold: str) -> str | float:
    """A number however it is written, "12" and "12.0"; any other text by its words."""
    if any(map(str.isdigit, gold)):
        with contextlib.suppress(ValueError):
            return float(gold)
    return " ".join(gold.split()).casefold()


def _shown(golds: tuple[str, ...]) -> str:
    return repr(quoted(golds[0], 40)) if golds else "that there is no answer"


def unused_columns(sets: Sequence[tuple[str, tuple[str, ...]]]) -> str:
    """One line on the columns that nothing reads; empty where there is none.

    Args:
        sets: names of sets, each with its unused columns; a column of them all is told without names.
    """
    by_column: dict[str, list[str]] = {}
    for name, columns in sets:
        for column in columns:
            by_column.setdefault(column, []).append(name)
    told = [
        quoted(column, 40) + ("" if len(names) == len(sets) else f" ({', '.join(names)})")
        for column, names in by_column.items()
    ]
    return f"columns not used: {', '.join(told)}" if told else ""
