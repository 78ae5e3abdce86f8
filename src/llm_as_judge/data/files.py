"""Unified JSONL: one ``Problem`` a line, written whole or not at all, read back with file:line."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from llm_as_judge.data.answer_fields import require_fitting
from llm_as_judge.data.code import graded_by_all_asserts
from llm_as_judge.data.custom import custom, custom_domain, is_own_row, own_rows, types_in
from llm_as_judge.data.rows import (
    MAX_ROW_BYTES,
    TABLES,
    TOO_LONG,
    RawRow,
    RowError,
    compact,
    read_rows,
)
from llm_as_judge.errors import DataError
from llm_as_judge.files import write_atomically
from llm_as_judge.told import invalid_utf8
from llm_as_judge.types import DOMAINS, AnswerSpec, Domain, Problem, from_json, to_json

_FIELDS = tuple(Problem.__dataclass_fields__)
_NO_SPEC = AnswerSpec()


def encode_problem(problem: Problem) -> bytes:
    """One line of unified JSONL, newline included.

    Raises:
        RowError: a text cannot be written as UTF-8, holds a NUL character, or is too long.
    """
    try:
        record = {name: getattr(problem, name) for name in _FIELDS if name != "spec"}
        if problem.spec != _NO_SPEC:
            record["spec"] = to_json(problem.spec)
        line = compact(record).encode()
    except UnicodeEncodeError as error:  # readers leave such a sign for a byte that is no text
        undecodable = "\udc80" <= error.object[error.start] <= "\udcff"
        raise RowError(
            invalid_utf8() if undecodable else "invalid UTF-8 (a lone surrogate)"
        ) from None
    if b"\\u0000" in line and _has_nul(json.loads(line)):
        raise RowError("holds a NUL character")
    if len(line) >= MAX_ROW_BYTES:
        raise RowError(TOO_LONG)
    return line + b"\n"


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_has_nul(item) for pair in value.items() for item in pair)
    return isinstance(value, list) and any(map(_has_nul, value))


def decode_problem(line: bytes, path: Path, number: int) -> Problem:
    """The inverse of :func:`encode_problem`; rows of one's own, as ``data process --custom`` takes them,
    are read, too.

    Args:
        path, number: of the file and the line, from 1 on.
    Raises:
        DataError: not a problem; the message starts with ``path:number``.
    """
    where = f"{path}:{number}"
    try:
        row = json.loads(line)
        if is_own_row(row):  # named by its line, which no other row is
            own = {name: value for name, value in row.items() if name != "id"}
            problem = _own_problem(RawRow(where, number, own), path)
        else:
            problem = _problem(row)
    except RowError as error:
        raise DataError(f"{where}: {error} (own rows: docs/DATA.md)") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: {invalid_utf8(line, error.start)}") from None
    except json.JSONDecodeError as error:  # it knows of lines, too, but of those of one line
        raise DataError(
            f"{where}: not JSON: {error.msg.removesuffix(' at')} at character {error.pos + 1}. Run: llm-as-judge data process"
        ) from None
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(f"{where}: {error}. Run: llm-as-judge data process") from None
    return graded_by_all_asserts(problem)


def _own_problem(row: RawRow, path: Path) -> Problem:
    """One's own row, of the set FILE_DOMAIN."""
    if row.fault:
        raise RowError(row.fault)
    return custom(row, "custom", dataset=f"{path.name.split('.')[0]}_{custom_domain(row)}")


_TEXTS = ("id", "dataset", "domain", "question", "context", "entry_point", "setup_code")
_LISTS = ("answers", "options", "visible_tests", "hidden_tests")


def _problem(row: Any) -> Problem:
    """Checks every field by hand: ten times as fast as the general ``types.from_json``."""
    if not isinstance(row, dict):
        raise TypeError(f"found {type(row).__name__}, wanted an object")
    if "candidate" in row:
        raise RowError(
            "found a row for grade, with a 'candidate': llm-as-judge grade --in FILE --out VERDICTS; wanted a "
            "problem, answer and type"
        )
    values = dict(row)
    for name in _TEXTS:
        if name in row and not isinstance(row[name], str):
            raise TypeError(f"{name!r} is {type(row[name]).__name__}, wanted a text")
    for name in _LISTS:
        if name in row:
            if not isinstance(row[name], list) or not all(isinstance(x, str) for x in row[name]):
                raise TypeError(f"{name!r} is not a list of texts")
            values[name] = tuple(row[name])
    meta = row.get("meta", {})
    if not isinstance(meta, dict) or not all(isinstance(x, str) for x in meta.values()):
        raise TypeError("'meta' is not an object of texts")
    if row.get("domain") not in DOMAINS:
        raise TypeError(f"'domain' is {row.get('domain')!r}, wanted math, qa or code")
    if unknown := set(row).difference(_FIELDS):
        raise TypeError(f"unknown field {min(unknown)!r}")
    if missing := {"id", "dataset", "question"}.difference(row):
        raise TypeError(f"no {min(missing)!r} (keys: {', '.join(row)})")
    if "spec" in row:
        values["spec"] = from_json(AnswerSpec, row["spec"])
        require_fitting(values["spec"], row["domain"], row.get("answers", ()))
    problem = Problem(**values)
    if not problem.question.strip():
        raise ValueError("an empty question")
    if problem.domain == "code" and not problem.hidden_tests:
        raise ValueError("a code problem without hidden_tests")
    return problem


def read_problems(path: Path) -> Iterator[Problem]:
    """Problems of a unified JSONL file, streamed.

    Raises:
        DataError: missing file, or a line that is not a problem (``file:line``).
    """
    for number, _, line in _lines(path):
        yield decode_problem(line, path, number)


def own_problems(
    path: Path, type_: Domain | None = None, bad: list[tuple[str, str]] | None = None
) -> list[Problem]:
    """Problems of a file of one's own rows, of a table by the names of the columns.

    Args:
        type_: of the rows that say none.
        bad: takes place and reason of each row that is not as wanted, which is then left out.
    Raises:
        DataError: the file cannot be read, or a row is not as wanted (``file:line``).
    """
    types_in(path, type_)  # what holds for all rows is said once
    found = []
    for row in own_rows(read_rows(path), type_):
        try:
            problem = _own_problem(row, path)
            encode_problem(problem)  # refuses what no file of problems may hold
        except RowError as error:
            if bad is None:
                raise DataError(f"{row.where}: {error} (own rows: docs/DATA.md)") from None
            bad.append((row.where, str(error)))
            continue
        found.append(graded_by_all_asserts(problem))
    return found


def how_rows_come(path: Path) -> str:
    """The line about a file of rows that is missing."""
    return (
        f"{path}: no such file; for rows of your own run: llm-as-judge init FILE --executor URL; for the shipped sets: "
        "llm-as-judge data download, then data process"
    )


def _lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """(number from 1 on, offset in bytes, line) of all lines that are not blank."""
    if path.suffix in TABLES and path.is_file():
        raise DataError(
            f"{path}: a table, wanted JSON lines; make them: llm-as-judge init {path} --executor URL"
        )
    try:
        with path.open("rb") as stream:
            number = offset = 0
            while line := stream.readline(MAX_ROW_BYTES + 1):
                number += 1
                if len(line) > MAX_ROW_BYTES:
                    raise DataError(f"{path}:{number}: {TOO_LONG}")
                if line.strip():
                    yield number, offset, line
                offset += len(line)
    except (FileNotFoundError, IsADirectoryError):
        what = "a folder, wanted a file" if path.is_dir() else "no such file"
        raise DataError(f"{path}: {what}. Run: llm-as-judge data process") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def write_problems(path: Path, problems: Iterable[Problem]) -> int:
    """Write a unified JSONL file; returns the number of rows.

    Raises:
        OutputError: the folder cannot be written, or the disk is full.
        RowError: a problem that cannot be written.
    """
    rows = 0
    with write_atomically(path) as stream:
        for problem in problems:
            stream.write(encode_problem(problem))
            rows += 1
    return rows


class ProblemFile(Sequence[Problem]):
    """A unified JSONL file as a sequence; rows stay on disk and are read when asked for.

    Every line is checked when the file is opened, so that a broken row stops a run at its start.

    Raises:
        DataError: missing or empty file, or a broken row (``file:line``).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ids: list[str] = []
        self.datasets: list[str] = []
        self.domains: list[str] = []
        self._numbers, self._offsets = array("Q"), array("Q")
        for number, offset, line in _lines(path):
            problem = decode_problem(line, path, number)
            self.ids.append(problem.id)
            self.datasets.append(problem.dataset)
            self.domains.append(problem.domain)
            self._numbers.append(number)
            self._offsets.append(offset)
        if not self.ids:
            raise DataError(f"{path}: no problems in it. Run: llm-as-judge data process")

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Problem: ...
    @overload
    def __getitem__(self, index: slice) -> list[Problem]: ...
    def __getitem__(self, index: int | slice) -> Problem | list[Problem]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        row = range(len(self))[index]
        with self.path.open("rb") as stream:
            stream.seek(self._offsets[row])
            line = stream.readline()
        return decode_problem(line, self.path, self._numbers[row])
