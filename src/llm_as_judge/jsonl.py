"""Append-only files of JSON lines: how runs, evaluations, audits and recordings keep their rows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeGuard

from llm_as_judge.errors import DataError
from llm_as_judge.files import output_errors, write_text

MAX_LINE_BYTES = 16 * 2**20
"""A longer line is none of ours."""
_BLOCK = 65536


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is a whole number of 64 bits: with a longer one no reader can calculate."""
    return type(value) is int and abs(value) < 1 << 63


@dataclass(slots=True)
class Broken:
    """How many lines a reading left out."""

    lines: int = 0


class JsonLines:
    """One file of JSON objects, a line each.

    A line is appended whole or not at all and is the system's at once: a killed process loses at
    most the line that it was writing. One process writes to a file at a time, so processes that
    write together have a file each. Any number of them may read meanwhile: an end without its
    newline is still being written, or was cut off by a kill, and is no line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, row: Mapping[str, Any] | str) -> None:
        """Add a row, or the text of one.

        Raises:
            OutputError: the folder is gone, the file cannot be written, or the disk is full; it is as it was before.
        """
        line = row if isinstance(row, str) else json.dumps(row)
        with output_errors(self.path), self.path.open("a+b", buffering=0) as stream:
            end = _cut_to_whole_lines(stream)
            try:
                _write_all(stream, line.encode() + b"\n")
            except OSError:
                stream.truncate(end)
                raise

    def rewrite(self, lines: Iterable[str]) -> None:
        """These lines in the place of all: the whole file or nothing; no line, no file.

        Raises:
            OutputError: it cannot be written.
        """
        if text := "".join(f"{line}\n" for line in lines):
            write_text(self.path, text)
            return
        with output_errors(self.path):
            self.path.unlink(missing_ok=True)

    def rows(self, *numbers: str, missing_ok: bool = False) -> Iterator[dict[str, Any]]:
        """Every row.

        Args:
            numbers: fields that every row must have, as a whole number.
        Raises:
            DataError: the file is missing, or a line is not such a row (``file:line``).
        """
        try:
            for number, (_, _, line) in enumerate(self.lines(), start=1):
                yield _row(line, f"{self.path}:{number}", numbers)
        except OSError as error:
            if not (missing_ok and isinstance(error, FileNotFoundError)):
                raise DataError(f"{self.path}: cannot be read: {error.strerror}") from None

    def sound_rows(
        self, broken: Broken, *, last_bytes: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Rows that can be read, for readers that must not fall over; none if there is no file.

        Args:
            broken: counts the others.
            last_bytes: read only the end of the file; the first, cut line does not count.
        """
        try:
            size = self.path.stat().st_size
            start = max(0, size - last_bytes) if last_bytes is not None else 0
            lines = self.lines(start)
            if start:
                next(lines, None)
            for _, _, line in lines:
                try:
                    yield _row(line, "", ())
                except DataError:
                    broken.lines += 1
        except OSError:
            return

    def lines(self, start: int = 0) -> Iterator[tuple[int, int, bytes]]:
        """(first byte, byte behind it, line with its newline) of each line from byte ``start`` on;
        of one that is too long, its beginning.

        Raises:
            OSError: the file cannot be read.
        """
        with self.path.open("rb") as file:
            file.seek(start)
            while line := file.readline(MAX_LINE_BYTES):
                end, part = start + len(line), line
                while not part.endswith(b"\n"):
                    if len(part) < MAX_LINE_BYTES:
                        return
                    part = file.readline(MAX_LINE_BYTES)
                    end += len(part)
                yield start, end, line
                start = end


def _row(line: bytes, where: str, numbers: Sequence[str]) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: cannot be read: not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise DataError(f"{where}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        deep = isinstance(error, RecursionError)
        why = "nested too deeply" if deep else "a number of more digits than are read"
        raise DataError(f"{where}: not JSON: {why}") from None
    if not isinstance(row, dict):
        raise DataError(f"{where}: found {type(row).__name__}, wanted an object")
    for name in numbers:
        if not is_whole(row.get(name)):
            keys = ", ".join(sorted(row)[:5]) or "none"
            raise DataError(
                f'{where}: no whole number "{name}" (keys: {keys}); '
                "this is no file of a run: name another folder, or remove that line"
            )
    return row


def _cut_to_whole_lines(stream: IO[bytes]) -> int:
    """Bytes of the file up to its last newline; what a kill left behind it is cut off, since the
    next line would be joined to it."""
    end = size = stream.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - _BLOCK)
        stream.seek(start)
        found = stream.read(end - start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < size:
        stream.truncate(end)
    return end


def _write_all(stream: IO[bytes], data: bytes) -> None:
    """A raw write may take less than it was given: the disk has room for a part."""
    rest = memoryview(data)
    while rest:
        rest = rest[stream.write(rest) or 0 :]
