"""The bank: what each program did on each problem at each draw, on disk as it grows.

    FOLDER/about.json       by what the cells came about: executor, judge, settings, code
    FOLDER/programs.jsonl   the programs; equal ones (up to names and layout) are one
    FOLDER/problems.jsonl   the problems
    FOLDER/cells.jsonl      program, problem, draw -> right, cost, tokens, calls, status, answer

A line is appended as each run of a program ends, so that a killed process loses at most the runs that
it was in. One process writes at a time; any number may read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from llm_as_judge.errors import DataError
from llm_as_judge.files import exclusive, output_errors, write_text
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.types import Domain, Problem, from_json, to_json

ABOUT, PROGRAMS, PROBLEMS, CELLS = "about.json", "programs.jsonl", "problems.jsonl", "cells.jsonl"
ANOTHER = "name another --bank (headroom: another --out)"
VERSION = "version of the grading rules"
"""Among the conditions in about.json; a bank without it is of version 1."""
Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BankProgram:
    """A program of the bank."""

    domain: Domain
    hash: str
    """Of the normalized program: equal programs of a domain are one."""
    name: str
    """What it is shown as: a shipped workflow, a file, or how it was made."""
    origin: str
    """``shipped``, ``given``, ``sampled`` (by a policy), ``drawn`` (from the grammar) or ``mutated``."""
    text: str

    @property
    def key(self) -> str:
        return f"{self.domain}/{self.hash}"


@dataclass(frozen=True, slots=True)
class Cell:
    """One run of a program on a problem, from one of the executor's draws on."""

    program: str
    """Key of the program."""
    problem: str
    """Id of the problem."""
    draw: int
    right: float | None
    """1 or 0; None = open: not graded."""
    cost: float
    """In written tokens: each prompt of the run once, at its price."""
    tokens: int
    """Prompt and written tokens, all alike."""
    calls: int
    status: str
    """How the run ended, see ``types.ExecutionStatus``."""
    answer: str = ""
    """Hash of the answer under the folder's salt, see ``grading/answer_hash.py``; empty: none was given,
    or by an earlier version."""

    @property
    def place(self) -> Place:
        return self.program, self.problem, self.draw


Place = tuple[str, str, int]
"""Key of the program, id of the problem, draw."""


@dataclass(frozen=True)
class Table:
    """Cells as arrays: J programs x P problems x D draws, NaN where there is none."""

    programs: tuple[BankProgram, ...]
    problems: tuple[Problem, ...]
    right_JPD: Array
    """An open run is not right: 0."""
    open_JPD: Array
    """1 where a run was left open, else 0."""
    cost_JPD: Array
    tokens_JPD: Array
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
            self.tokens_JPD[at],
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


class Bank:
    """The cells of a folder, in memory and on disk."""

    def __init__(self, folder: Path) -> None:
        """Reads what is there.

        Raises:
            DataError: a file of it cannot be read (``file:line``).
        """
        self.folder = folder
        self.programs: dict[str, BankProgram] = {}
        self.problems: dict[str, Problem] = {}
        self.cells: dict[Place, Cell] = {}
        for program in self._read(PROGRAMS, partial(from_json, BankProgram)):
            self.programs[program.key] = program
        for problem in self._read(PROBLEMS, partial(from_json, Problem)):
            self.problems[problem.id] = problem
        for cell in self._read(CELLS, _cell):
            self.cells[cell.place] = cell

    @classmethod
    def named(cls, folder: Path, key: str) -> Bank:
        """The bank that a configuration names under ``key``.

        Raises:
            DataError: there is none, or a file of it cannot be read (``file:line``).
        """
        if not (folder / CELLS).is_file():
            raise DataError(
                f"{key}: {folder} is no bank (no {CELLS}); fill one: llm-as-judge pool fill, "
                "headroom FILE, or search --split train"
            )
        return cls(folder)

    def sha256(self) -> str:
        """Digest of what it holds, in whatever order it was filled; the answers' hashes are left out:
        another salt makes no other bank."""
        known = [to_json(one) for part in (self.programs, self.problems) for one in part.values()]
        cells = [{name: getattr(cell, name) for name in _FORM} for cell in self.cells.values()]
        rows = sorted(map(json.dumps, [*known, *cells]))
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()

    def _read(self, name: str, read: Callable[[Mapping[str, Any]], Any]) -> Iterator[Any]:
        path = self.folder / name
        for number, row in enumerate(JsonLines(path).rows(missing_ok=True), start=1):
            try:
                yield read(row)
            except TypeError as error:
                raise DataError(f"{path}:{number}: {error}; remove that line") from None

    @classmethod
    @contextmanager
    def writing(cls, folder: Path, about: Mapping[str, Any]) -> Iterator[Bank]:
        """The bank of ``folder``, for one process that adds to it.

        Args:
            about: what decides a cell beside program, problem and draw.
        Raises:
            DataError: the cells there came about by something else, or cannot be read.
            OutputError: another process writes there, or the folder cannot be written.
        """
        with exclusive(folder, ANOTHER, doing="filling the bank"):
            path = folder / ABOUT
            text = json.dumps(about, indent=1, sort_keys=True) + "\n"
            # without a cell nothing came about by the conditions that are written there
            filled = path.is_file() and (folder / CELLS).is_file()
            if filled and (found := _other(path, json.loads(text))):
                raise DataError(
                    f"{folder}: filled by other conditions ({found}); {ANOTHER}, or "
                    "name the configuration that it was filled by"
                )
            write_text(path, text)
            yield cls(folder)

    # ------------------------------------------------------------------------------------- adding
    def add_program(self, program: BankProgram) -> BankProgram:
        """The program as the bank knows it: of equal ones the first.

        Raises:
            OutputError: the folder cannot be written.
        """
        known = self.programs.get(program.key)
        if known is None:
            self._append(PROGRAMS, program)
            self.programs[program.key] = known = program
        return known

    def add_problem(self, problem: Problem) -> None:
        """
        Raises:
            DataError: another problem of this id is there.
            OutputError: the folder cannot be written.
        """
        known = self.problems.get(problem.id)
        if known is None:
            self._append(PROBLEMS, problem)
            self.problems[problem.id] = problem
        elif known is not problem and to_json(known) != to_json(problem):
            raise DataError(
                f"{self.folder / PROBLEMS}: {problem.id} is not the same problem as before; "
                f"{ANOTHER}"
            )

    def add(self, cell: Cell) -> None:
        """
        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        self._append(CELLS, cell)
        self.cells[cell.place] = cell

    def _append(self, name: str, value: object) -> None:
        with output_errors(self.folder):
            JsonLines(self.folder / name).append(json.dumps(to_json(value), ensure_ascii=True))

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
        most = draws or 1 + max((draw for _, _, draw in self.cells), default=0)
        arrays = [np.full((len(keys), len(ids), most), np.nan) for _ in range(5)]
        for j, key in enumerate(keys):
            for p, id_ in enumerate(ids):
                for draw in range(most):
                    if cell := self.cells.get((key, id_, draw)):
                        values = (
                            cell.right or 0.0,
                            cell.right is None,
                            cell.cost,
                            cell.tokens,
                            cell.calls,
                        )
                        for array, value in zip(arrays, values, strict=True):
                            array[j, p, draw] = value
        return Table(
            tuple(self.programs[key] for key in keys),
            tuple(self.problems[id_] for id_ in ids),
            *arrays,
        )

    def means(self, least: int = 2) -> dict[str, float]:
        """Mean right of each problem over all graded cells of it, where there are ``least`` of them."""
        sums: dict[str, list[float]] = {}
        for cell in self.cells.values():
            if cell.right is not None:
                sums.setdefault(cell.problem, []).append(cell.right)
        return {id_: sum(v) / len(v) for id_, v in sums.items() if len(v) >= least}


_FORM: Mapping[str, tuple[type, ...]] = {
    "program": (str,),
    "problem": (str,),
    "draw": (int,),
    "right": (float, int, type(None)),
    "cost": (float, int),
    "tokens": (int,),
    "calls": (int,),
    "status": (str,),
}


def _cell(row: Mapping[str, Any]) -> Cell:
    """As ``from_json``, which at some 100,000 rows takes minutes.

    Raises:
        TypeError: the row is no cell.
    """
    for name, kinds in _FORM.items():
        if not isinstance(row.get(name), kinds):
            raise TypeError(f"{name!r} is {row.get(name)!r}")
    answer = row.get("answer", "")
    if not isinstance(answer, str):
        raise TypeError(f"'answer' is {answer!r}")
    return Cell(**{name: row[name] for name in _FORM}, answer=answer)


def grading_version(folder: Path) -> int:
    """Of the rules that graded the runs of a bank.

    Raises:
        DataError: its about.json cannot be read.
    """
    path = folder / ABOUT
    try:
        version = json.loads(path.read_text(encoding="utf-8")).get(VERSION, 1)
    except FileNotFoundError:
        return 1
    except (OSError, ValueError, AttributeError) as error:
        raise DataError(f"{path}: cannot be read: {error}; remove the folder") from None
    return version if isinstance(version, int) else 1


def _other(path: Path, about: Mapping[str, Any]) -> str:
    """The first condition in which the folder's differ; empty where they are equal."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}; remove the folder") from None
    if not isinstance(found, dict):
        raise DataError(f"{path}: not the file of a bank; remove the folder")
    for name in sorted({*found, *about}):
        if found.get(name) != about.get(name):
            return f"{name}: {found.get(name)!r} there, {about.get(name)!r} here"
    return ""
