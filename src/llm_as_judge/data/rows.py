"""Upstream files -> raw records, streamed, each with the place it was read from.

Covered: ``.jsonl``, ``.json`` (an array of records, an object with a ``data`` array, one object),
``.csv``, ``.tsv``, each also as ``.gz`` or inside ``.zip``, and ``.parquet``. Memory is that of one record:
arrays are never loaded whole. A record that cannot be read is yielded with its ``fault`` and
reading goes on; a *file* that cannot be read on (truncated, a web page) raises ``DataError``.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import json
import re
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from llm_as_judge.errors import DataError
from llm_as_judge.quoting import quoted
from llm_as_judge.told import invalid_utf8, is_utf16, names

MAX_ROW_BYTES = 8 * 2**20
"""A record longer than this is refused: no upstream set has one, and one line could fill memory."""
TOO_LONG = f"longer than {MAX_ROW_BYTES} bytes"
_CHUNK = 2**20
_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
TABLES = (".csv", ".tsv", ".parquet")
"""Kinds of files whose records have columns."""


class RowError(ValueError):
    """One record is not what its set promises; the caller adds the place."""


@dataclass(frozen=True, slots=True)
class RawRow:
    """One upstream record, not yet trusted."""

    where: str
    """``file:line``, with the position inside the line where that says more."""
    number: int
    """0-based position in its file."""
    record: Any
    member: str = ""
    """Name of the file inside an archive, or the file's own name."""
    fault: str = ""
    """Why the record cannot be read; ``record`` is then None."""


def read_rows(path: Path) -> Iterator[RawRow]:
    """All records of one upstream file.

    Raises:
        DataError: the file is missing, cut off, of an unknown kind, or not data at all.
    """
    inner, packing = (path.stem, path.suffix) if path.suffix == ".gz" else (path.name, "")
    try:
        if path.suffix == ".zip":
            yield from _read_zip(path)
        elif path.suffix == ".parquet":
            yield from _read_parquet(path)
        elif not inner.endswith(_SUFFIXES):
            raise DataError(
                f"{path}: unknown kind of file (wanted {', '.join(_SUFFIXES)}, .gz, .zip)"
            )
        else:
            with gzip.open(path) if packing else path.open("rb") as stream:
                yield from _read_stream(cast(BinaryIO, stream), str(path), inner)
    except FileNotFoundError:
        raise DataError(f"{path}: no such file. Run: llm-as-judge data download") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def _read_zip(path: Path) -> Iterator[RawRow]:
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(_SUFFIXES[:-1]) and "__MACOSX" not in name:
                    with archive.open(name) as stream:
                        yield from _read_stream(cast(BinaryIO, stream), f"{path}!{name}", name)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{path}:1: not a readable zip archive: {error}") from None


def _read_parquet(path: Path) -> Iterator[RawRow]:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    try:
        with pq.ParquetFile(path) as table:
            number = 0
            for batch in table.iter_batches(batch_size=256):
                for record in batch.to_pylist():
                    yield RawRow(f"{path}:{number + 1}", number, record, path.name)
                    number += 1
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}:1: not a readable parquet file: {error}") from None


def _read_stream(stream: BinaryIO, place: str, name: str) -> Iterator[RawRow]:
    """Records of one decompressed stream; ``place`` is how messages call it."""
    counter = _Position()
    try:
        with io.BufferedReader(cast(io.RawIOBase, stream), _CHUNK) as reader:
            head = reader.peek(4096)[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
            if head[:1] == b"<":
                raise DataError(
                    f"{place}:1: an HTML or XML page, not data (an error page of the server?). "
                    "Download the file again"
                )
            if is_utf16(head):
                raise DataError(f"{place}:1: {invalid_utf8(head, 0)}")
            yield from _READERS[name.rpartition(".")[2]](reader, place, name, counter)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            f"{place}:{counter.line}: the compressed file is cut off or damaged after "
            f"{counter.rows} records ({error}). Download the file again"
        ) from None


@dataclass(slots=True)
class _Position:
    """How far a reader has come, so that a broken stream can be reported with its line."""

    line: int = 1
    rows: int = 0


def _jsonl_rows(stream: BinaryIO, place: str, name: str, at: _Position) -> Iterator[RawRow]:
    at.line = 0
    while line := stream.readline(MAX_ROW_BYTES + 1):
        at.line += 1
        if not at.rows and line.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"["):
            raise DataError(f"{place}:{at.line}: {ARRAY}, or name the file .json")
        where = f"{place}:{at.line}"
        record, fault = None, ""
        if len(line) > MAX_ROW_BYTES:
            fault = TOO_LONG
            while line and not line.endswith(b"\n"):
                line = stream.readline(MAX_ROW_BYTES)
        elif line.isspace():
            continue
        else:
            try:
                record = json_row(line.decode("utf-8-sig" if at.line == 1 else "utf-8"))
            except UnicodeDecodeError as error:
                fault = invalid_utf8(line, error.start)
            except RowError as error:
                fault = str(error)
        yield RawRow(where, at.rows, record, name, fault)
        at.rows += 1


ARRAY = "found a JSON array, wanted rows; write one object a line"


def json_row(line: str) -> Any:
    """The value that a line of JSON is.

    Raises:
        RowError: it is no JSON, or an object of it says a field twice.
    """
    try:
        return _DECODER.decode(line)
    except RowError:
        raise
    except (RecursionError, ValueError) as error:
        raise RowError(_not_json(error)) from None


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = [name for name, count in counts.items() if count > 1]
        raise RowError(f"the field {quoted(twice[0], 40)!r} is there twice; keep one of them")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_each_once)


def _not_json(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "JSON nested too deep"
    if not isinstance(error, json.JSONDecodeError):
        most = sys.get_int_max_str_digits()
        return f'a number of more than {most} digits; write it as a text, such as "10^5000"'
    if error.msg == "Extra data" and error.doc[error.pos :].strip() == ",":
        return "not JSON: a comma behind the object; remove the comma behind the row"
    return f"not JSON: {error}"


def _csv_rows(
    stream: BinaryIO, place: str, name: str, at: _Position, separator: str = ","
) -> Iterator[RawRow]:
    csv.field_size_limit(MAX_ROW_BYTES)
    # Undecodable bytes become lone surrogates, which no row may hold: the row is refused later.
    with io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="") as text:
        reader = csv.reader(text, strict=True, delimiter=separator)
        try:
            for record in reader:
                if any(map(str.strip, record)):
                    yield RawRow(f"{place}:{at.line}", at.rows, record, name)
                    at.rows += 1
                at.line = reader.line_num + 1
        except csv.Error as error:
            if "field limit" in str(error):
                raise DataError(
                    f"{place}:{at.line}: found a cell {TOO_LONG}; shorten it, or leave the row out"
                ) from None
            raise DataError(f"{place}:{at.line}: not CSV: {error}") from None


def headed(rows: Iterable[RawRow]) -> Iterator[RawRow]:
    """Records of a table by the names of its columns; other records as they are.

    Lines of CSV and TSV get the names of the first one. An empty cell is no value. A cell that is a JSON list with
    texts is that list, as in a row of JSON; one that looks like such a list and is none is refused.
    """
    columns: list[str] | None = None
    for row in rows:
        record = row.record
        if row.member.endswith(".parquet") and isinstance(record, dict):
            yield _with_cells(row, record)
        elif not isinstance(record, list) or not all(isinstance(cell, str) for cell in record):
            yield row
        elif columns is None:
            columns = [cell.strip() for cell in record]
            if len(columns) == 1 and (other := _OTHER.search(columns[0])):
                raise DataError(
                    f"{row.where}: found columns apart by {other[0]!r}; wanted commas, or tabs in a .tsv file: save it so"
                )
            if len(set(columns)) < len(columns) or not all(columns):
                raise DataError(
                    f"{row.where}: found the first line {', '.join(map(repr, columns[:8]))}; wanted the names of "
                    "the columns, each once: problem, answer, type"
                )
        elif len(record) != len(columns):
            fault = f"found {len(record)} cells, wanted {len(columns)}, as in the first line"
            yield replace(row, record=None, fault=fault)
        else:
            yield _with_cells(row, dict(zip(columns, record, strict=True)))


_OTHER = re.compile(r"[;|\t,]")
"""Separators of other tables, in a first line that has one column."""
_NUMBERS = frozenset({"tolerance"})
"""Columns of numbers: the others are texts, an answer `007` too."""


_LISTS = ("answer", "aliases", "options", "visible_tests")
"""Columns of which a cell may be a list."""
_BEGUN_LIST = re.compile(r"""\[\s*["'].*|\[[^\])[]*""", re.DOTALL)
"""Opens a list of texts, or a bracket that nothing closes: an interval `[0, 1)` does neither."""


def _with_cells(row: RawRow, record: Mapping[str, Any]) -> RawRow:
    cells = {
        name: _cell(name, cell) if isinstance(cell, str) else cell
        for name, cell in record.items()
        if cell is not None and cell != ""
    }
    if cells.get("kind") not in ("short_text", "long_text"):
        for name in _LISTS:
            cell = cells.get(name)
            if isinstance(cell, str) and _BEGUN_LIST.fullmatch(cell.strip()):
                fault = (
                    f"{name!r} {quoted(cell, 40)!r} looks like a list and is no JSON; write "
                    '["a", "b"], or give the row "kind": "short_text" if it is a text'
                )
                return replace(row, record=None, fault=fault)
    return replace(row, record=cells)


def _cell(column: str, text: str) -> str | float | list[Any]:
    if column in _NUMBERS:
        with contextlib.suppress(ValueError):
            return float(text)
    if text.startswith("[") and text.endswith("]"):
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(text)
            if not found or any(isinstance(item, str) for item in found):
                return list(found)
    return text


# ------------------------------------------------------------------------- JSON arrays, streamed
def _json_rows(stream: BinaryIO, place: str, name: str, at: _Position) -> Iterator[RawRow]:
    """Items of a top-level array; of the ``data`` array of a top-level object; or the objects."""
    text = _JsonText(stream, place, at)
    while first := text.peek():
        if first == "[":
            yield from _array_items(text, place, name, at)
        elif first == "{":
            yield from _object_items(text, place, name, at)
        else:
            raise DataError(f"{place}:{at.line}: found {first!r}, wanted a JSON array or object")


def _array_items(text: _JsonText, place: str, name: str, at: _Position) -> Iterator[RawRow]:
    text.take("[")
    if text.peek() == "]":
        text.take("]")
        return
    while True:
        text.peek()
        where = f"{place}:{at.line} (record {at.rows})"
        yield RawRow(where, at.rows, text.value(), name)
        at.rows += 1
        if text.take(",]") == "]":
            return


def _object_items(text: _JsonText, place: str, name: str, at: _Position) -> Iterator[RawRow]:
    text.take("{")
    text.peek()  # past the blanks: the line of the record
    where, record, streamed = f"{place}:{at.line}", dict[str, Any](), False
    separator = "," if text.peek() != "}" else text.take("}")
    while separator == ",":
        key = text.value()
        text.take(":")
        if key in record:
            raise DataError(
                f"{place}:{at.line}: the field {quoted(str(key), 40)!r} is there twice; keep one of them"
            )
        if key == "data" and text.peek() == "[":
            streamed = True
            yield from _array_items(text, place, name, at)
        else:
            record[str(key)] = text.value()
        separator = text.take(",}")
    if not streamed:
        yield RawRow(where, at.rows, record, name)
        at.rows += 1


class _JsonText:
    """A cursor over JSON text that holds one value and one chunk at a time."""

    def __init__(self, stream: BinaryIO, place: str, at: _Position) -> None:
        # Lone surrogates stand for undecodable bytes; a row that holds one is refused when written.
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode
        self._stream = stream
        self._place, self._at = place, at
        self._buffer, self._next = "", 0
        self._decoder = _DECODER

    def _more(self) -> bool:
        chunk = self._stream.read(_CHUNK)
        self._buffer = self._buffer[self._next :] + self._decode(chunk, final=not chunk)
        self._next = 0
        return bool(chunk)

    def _advance(self, end: int) -> None:
        self._at.line += self._buffer.count("\n", self._next, end)
        self._next = end

    def peek(self) -> str:
        """The next character that is not a blank; '' at the end."""
        while True:
            end = self._next
            while end < len(self._buffer) and self._buffer[end] in " \t\r\n":
                end += 1
            self._advance(end)
            if self._next < len(self._buffer):
                return self._buffer[self._next]
            if not self._more():
                return ""

    def take(self, wanted: str) -> str:
        found = self.peek()
        if not found or found not in wanted:
            shown = repr(found) if found else "the end of the file"
            raise DataError(
                f"{self._place}:{self._at.line}: after {self._at.rows} records: found {shown}, "
                f"wanted one of {wanted!r}. Download the file again"
            )
        self._next += 1
        return found

    def value(self) -> Any:
        """The value behind the next blanks."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._next)
            except RowError as error:
                raise DataError(
                    f"{self._place}:{self._at.line}: record {self._at.rows}: {error}"
                ) from None
            except (RecursionError, ValueError) as error:
                fault, is_deep = _not_json(error), isinstance(error, RecursionError)
            else:
                # A number that ends with the buffer may go on in the next chunk.
                if end < len(self._buffer) or not self._more():
                    self._advance(min(end, len(self._buffer)))
                    return value
                continue
            is_long = len(self._buffer) - self._next > MAX_ROW_BYTES
            if is_deep or is_long or not self._more():
                raise DataError(
                    f"{self._place}:{self._at.line}: record {self._at.rows}: "
                    f"{TOO_LONG if is_long and not is_deep else fault}. Download the file again"
                )


_READERS: dict[str, Callable[[BinaryIO, str, str, _Position], Iterator[RawRow]]] = {
    "csv": _csv_rows,
    "tsv": partial(_csv_rows, separator="\t"),
    "json": _json_rows,
    "jsonl": _jsonl_rows,
}


_T = TypeVar("_T")


def fields(record: Any) -> Mapping[str, Any]:
    """The record, an object.

    Raises:
        RowError: it is none.
    """
    if not isinstance(record, dict):
        raise RowError(f"found {type(record).__name__}, wanted an object")
    return record


def field(record: Mapping[str, Any], name: str, kind: type[_T]) -> _T:
    """One required field, of the type it must have.

    Raises:
        RowError: missing, or of another type.
    """
    if name not in record:
        raise RowError(f"no {name!r} (keys: {names(record)})")
    value = record[name]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RowError(f"{name!r} is {type(value).__name__}, wanted {kind.__name__}")
    return value


def text(record: Mapping[str, Any], name: str) -> str:
    """One required text that says something."""
    value = field(record, name, str)
    if not value.strip():
        raise RowError(f"{name!r} is empty")
    return value


def texts(value: Any, name: str) -> list[str]:
    if not isinstance(value, list) or not {str}.issuperset(map(type, value)):
        raise RowError(f"{name!r} is not a list of texts")
    return value


compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""JSON text of a value, without blanks."""


def zipped(left: Any, right: Any, name: str) -> list[tuple[Any, Any]]:
    """Two lists of one length, item by item."""
    if not isinstance(left, list) or not isinstance(right, list) or len(left) != len(right):
        raise RowError(f"{name!r} has lists of different lengths")
    return list(zip(left, right, strict=True))
