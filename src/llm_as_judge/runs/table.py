"""The run table: what each program did on each problem at each draw, one append-only file a folder.

    FOLDER/runs.jsonl       a RunRecord a line, as each run ends
    FOLDER/problems.jsonl   the problems
    FOLDER/programs.jsonl   of a bank: the programs; equal ones (up to names and layout) are one
    FOLDER/about.json       of a bank: the conditions of its runs: executor, judge, settings, code

A killed process loses at most the runs that it was in. One process writes at a time; any number may
read. :mod:`.runner` runs what a table lacks; :mod:`.older` reads the files of earlier versions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from llm_as_judge.errors import DataError
from llm_as_judge.files import exclusive, read_json, write_text
from llm_as_judge.jsonl import Broken, JsonLines
from llm_as_judge.renamed import hint
from llm_as_judge.runs.record import FIGURES, OLDER, RunKey, RunRecord, older_runs, read_record
from llm_as_judge.types import Domain, Problem, from_json, to_json

ABOUT, PROGRAMS, PROBLEMS, RUNS = "about.json", "programs.jsonl", "problems.jsonl", "runs.jsonl"
ANOTHER = "name another --bank (headroom: another --out)"
_SHOWN = 3
"""Of the conditions that differ."""
VERSION = "version of the grading rules"
"""Among the conditions in about.json; a bank without it is of version 1."""
Array = npt.NDArray[np.float64]
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class BankProgram:
    """A program of the bank."""

    domain: Domain
    hash: str
    """Of the normalized program: equal programs of a domain are one."""
    name: str
    """What it is shown as: a shipped workflow, a file, or how it was made."""
    origin: str
    """``shipped``, ``given`` or ``drawn`` (from the grammar); in older banks ``sampled`` and ``mutated``, too."""
    text: str

    @property
    def key(self) -> str:
        return f"{self.domain}/{self.hash}"


@dataclass(frozen=True)
class Table:
    """Runs as arrays: J programs x P problems x D draws, NaN where there is none."""

    programs: tuple[BankProgram, ...]
    problems: tuple[Problem, ...]
    right_JPD: Array
    """An open run is not right: 0."""
    open_JPD: Array
    """1 where a run was left open, else 0."""
    cost_JPD: Array
    calls_JPD: Array

    @cached_property
    def sets(self) -> tuple[str, ...]:
        """Data set of each problem."""
        return tuple(problem.dataset for problem in self.problems)

    def of(self, programs: Sequence[int], problems: Sequence[int]) -> Table:
        """The part of these programs and problems, by their positions."""
        rows, columns = np.array(programs, dtype=int), np.array(problems, dtype=int)
        at = np.ix_(rows, columns)
        return Table(
            tuple(self.programs[j] for j in programs),
            tuple(self.problems[p] for p in problems),
            self.right_JPD[at],
            self.open_JPD[at],
            self.cost_JPD[at],
            self.calls_JPD[at],
        )

    def whole(self, domain: Domain) -> Table:
        """What can be compared cell by cell: the problems of a domain that its most-run program has
        been run on at every draw, and the programs that have been on all of these."""
        mine = [j for j, program in enumerate(self.programs) if program.domain == domain]
        right_JPD = self.right_JPD[mine]
        there_JP: npt.NDArray[np.bool_] = np.logical_not(np.isnan(right_JPD).any(axis=2))
        if not there_JP.any():
            return self.of([], [])
        problems = np.flatnonzero(there_JP[int(there_JP.sum(axis=1).argmax())])
        # a few runs that failed must not put a program out: its problems go instead
        near = np.flatnonzero(there_JP[:, problems].mean(axis=1) >= 0.9)
        problems = problems[there_JP[near][:, problems].all(axis=0)]
        return self.of([mine[int(j)] for j in near], [int(p) for p in problems])


class Runs:
    """The records of one file, in memory and on disk: of a key the last one holds."""

    def __init__(
        self,
        path: Path | None,
        *,
        read: Callable[[Mapping[str, Any]], RunRecord] = read_record,
        leave_out_broken: bool = False,
    ) -> None:
        """Reads what is there.

        Args:
            path: None = they are kept in memory alone.
            read: a row as a record; raises TypeError where it is none.
            leave_out_broken: a line that is no run is left out, and so made again.
        Raises:
            DataError: the file cannot be read (``file:line``).
        """
        self.runs: dict[RunKey, RunRecord] = {}
        self._file = JsonLines(path) if path is not None else None
        if path is None:
            return
        for record in _rows(path, read, Broken() if leave_out_broken else None):
            self.runs[record.key] = record

    def holds(self, key: RunKey) -> bool:
        """Whether this run has been made, and not failed by our fault."""
        found = self.runs.get(key)
        return found is not None and found.finished

    def add(self, record: RunRecord) -> None:
        """
        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        if self._file is not None:
            self._file.append(record.as_row())
        self.runs[record.key] = record

    def keep_only(self, records: Iterable[RunRecord]) -> None:
        """These and no others; without any the file goes.

        Raises:
            OutputError: the file cannot be written.
        """
        self.runs = {record.key: record for record in records}
        if self._file is not None:
            self._file.rewrite(json.dumps(record.as_row()) for record in self.runs.values())


def _rows(path: Path, read: Callable[[Mapping[str, Any]], R], broken: Broken | None) -> Iterator[R]:
    """What ``read`` makes of the rows of a file, which need not be there.

    Args:
        broken: counts the lines that are left out; None: none is.
    """
    file = JsonLines(path)
    rows = file.rows(missing_ok=True) if broken is None else file.sound_rows(broken)
    try:
        for number, row in enumerate(rows, start=1):
            try:
                yield read(row)
            except TypeError as error:
                if broken is None:
                    raise DataError(f"{path}:{number}: {error}") from None
                broken.lines += 1
    except DataError as error:
        raise DataError(f"{error}; remove that line: what is missing is run again") from None


class RunTable(Runs):
    """The runs of a folder with their problems."""

    def __init__(self, folder: Path) -> None:
        """Reads what is there.

        Raises:
            DataError: a file of it cannot be read (``file:line``).
        """
        super().__init__(folder / RUNS)
        self.folder = folder
        self.problems: dict[str, Problem] = {
            problem.id: problem
            for problem in _rows(folder / PROBLEMS, partial(from_json, Problem), None)
        }
        older = [folder / name for name in OLDER if (folder / name).is_file()]
        self._older = older[0] if older and not (folder / RUNS).is_file() else None
        if self._older is not None:
            hint(
                f"{self._older} is of an earlier version and is read once; runs are kept in {RUNS} now"
            )
            for of, record in older_runs(self._older):
                self.runs[record.key] = record
                if of is not None:
                    self.problems[of.id] = of

    def add_problem(self, problem: Problem) -> None:
        """
        Raises:
            DataError: another problem of this id is there.
            OutputError: the folder cannot be written.
        """
        known = self.problems.get(problem.id)
        if known is None:
            JsonLines(self.folder / PROBLEMS).append(to_json(problem))
            self.problems[problem.id] = problem
        elif known is not problem and to_json(known) != to_json(problem):
            raise DataError(
                f"{self.folder / PROBLEMS}: {problem.id} is not the same problem as before; "
                f"{ANOTHER}"
            )

    def take_over(self) -> None:
        """Write the runs of an earlier version's file as those of this one; that file stays as it is.

        Raises:
            OutputError: the folder cannot be written.
        """
        if self._older is not None:
            problems = (json.dumps(to_json(problem)) for problem in self.problems.values())
            JsonLines(self.folder / PROBLEMS).rewrite(problems)
            self.keep_only(self.runs.values())
            self._older = None


class Bank(RunTable):
    """Runs of programs under one set of conditions."""

    def __init__(self, folder: Path) -> None:
        """Reads what is there.

        Raises:
            DataError: a file of it cannot be read (``file:line``).
        """
        super().__init__(folder)
        self.programs: dict[str, BankProgram] = {}
        for program in _rows(folder / PROGRAMS, partial(from_json, BankProgram), None):
            self.programs[program.key] = program

    @classmethod
    def named(cls, folder: Path, key: str) -> Bank:
        """The bank that a configuration names under ``key``.

        Raises:
            DataError: there is none, or a file of it cannot be read (``file:line``).
        """
        if not is_bank(folder):
            raise DataError(
                f"{key}: {folder} is no bank (no {RUNS}); fill one: llm-as-judge pool fill, "
                "headroom FILE, or search --split train"
            )
        return cls(folder)

    def sha256(self) -> str:
        """Digest of what it holds, in whatever order it was filled; the answers' hashes are left out:
        another salt makes no other bank."""
        known = [to_json(one) for part in (self.programs, self.problems) for one in part.values()]
        cells = [{name: getattr(record, name) for name in FIGURES} for record in self.runs.values()]
        rows = sorted(map(json.dumps, [*known, *cells]))
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()

    @classmethod
    @contextmanager
    def writing(cls, folder: Path, about: Mapping[str, Any]) -> Iterator[Bank]:
        """The bank of ``folder``, for one process that adds to it.

        Args:
            about: what decides a run beside program, problem and draw.
        Raises:
            DataError: the runs there came about by something else, or cannot be read.
            OutputError: another process writes there, or the folder cannot be written.
        """
        with exclusive(folder, ANOTHER, doing="filling the bank"):
            path = folder / ABOUT
            text = json.dumps(about, indent=1, sort_keys=True) + "\n"
            require_conditions(folder, about)
            bank = cls(folder)
            bank.take_over()
            write_text(path, text)
            yield bank

    # ------------------------------------------------------------------------------------- adding
    def add_program(self, program: BankProgram) -> BankProgram:
        """The program as the bank knows it: of equal ones the first.

        Raises:
            OutputError: the folder cannot be written.
        """
        known = self.programs.get(program.key)
        if known is None:
            JsonLines(self.folder / PROGRAMS).append(to_json(program))
            self.programs[program.key] = known = program
        return known

    # ------------------------------------------------------------------------------------ reading
    def table(
        self,
        programs: Sequence[str] | None = None,
        problems: Sequence[str] | None = None,
        draws: int | None = None,
    ) -> Table:
        """Arrays of these programs (keys), problems (ids) and draws 0 .. ``draws`` - 1; default: all."""
        keys = list(self.programs) if programs is None else list(programs)
        ids = list(self.problems) if problems is None else list(problems)
        most = draws or 1 + max((draw for _, _, draw in self.runs), default=0)
        arrays = [np.full((len(keys), len(ids), most), np.nan) for _ in range(4)]
        for j, key in enumerate(keys):
            for p, id_ in enumerate(ids):
                for draw in range(most):
                    if run := self.runs.get(RunKey(key, id_, draw)):
                        values = (run.right or 0.0, run.right is None, run.cost, run.calls)
                        for array, value in zip(arrays, values, strict=True):
                            array[j, p, draw] = value
        return Table(
            tuple(self.programs[key] for key in keys),
            tuple(self.problems[id_] for id_ in ids),
            *arrays,
        )


def is_bank(folder: Path) -> bool:
    """Whether runs of programs are kept there, by this version or an earlier one."""
    runs = any((folder / name).is_file() for name in (RUNS, OLDER[0]))
    return runs and (folder / PROGRAMS).is_file()


def conditions_of(folder: Path) -> dict[str, Any]:
    """Those that the runs of a bank came about by; of an early one none.

    Raises:
        DataError: its about.json cannot be read.
    """
    path = folder / ABOUT
    try:
        found = read_json(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}; remove the folder") from None
    if not isinstance(found, dict):
        raise DataError(f"{path}: cannot be read: it is no object; remove the folder")
    if (found.get("judge.kind"), found.get("judge.model")) == (
        "llm",
        "none",
    ):  # as banks of before say it
        found["judge.kind"] = "rules"
    return found


def grading_version(folder: Path) -> int:
    """Of the rules that graded the runs of a bank.

    Raises:
        DataError: see :func:`conditions_of`.
    """
    version = conditions_of(folder).get(VERSION, 1)
    return version if isinstance(version, int) else 1


def require_conditions(folder: Path, about: Mapping[str, Any]) -> None:
    """Nothing, if more runs may be added to ``folder``; without a run nothing came about by what is written there.

    Raises:
        DataError: its runs came about by something else; says up to three of the conditions that differ.
    """
    if not ((folder / ABOUT).is_file() and is_bank(folder)):
        return
    found, wanted = conditions_of(folder), json.loads(json.dumps(about))
    other = [
        f"{name}: {found.get(name)!r} there, {wanted.get(name)!r} here"
        for name in sorted({*found, *wanted})
        if found.get(name) != wanted.get(name)
    ]
    if other:
        more = [f"and {len(other) - _SHOWN} more"] if len(other) > _SHOWN else []
        raise DataError(
            f"{folder}: filled by other conditions ({'; '.join(other[:_SHOWN] + more)}); {ANOTHER}, or "
            "name the configuration that it was filled by"
        )
