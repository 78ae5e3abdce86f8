"""Passages of a folder of documents: text, Markdown and PDF, cut at headings and paragraphs."""

from __future__ import annotations

import functools
import io
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from llm_as_judge.errors import DataError

KINDS = (".txt", ".md", ".pdf")
MAX_FILE_BYTES = 20 * 2**20
MAX_PASSAGES = 20_000
PASSAGE_CHARACTERS = 800
_TITLE_CHARACTERS = 60
_FILE_CHARACTERS = 30  # with the title below the 100 that `retrieve` reads as one
_MARKED = re.compile(r" {0,3}#{1,6}\s+(.*)")
_UNDERLINE = re.compile(r"\s*(={3,}|-{3,})\s*")
_FENCES = ("```", "~~~")
_PLAIN_TITLE = re.compile(r"(?:\d+[\d.]*\s+)?[^\W\d_a-z].*[^\s.,;:!?]")
_LINE_CHARACTERS = 80


def document_passages(folder: Path) -> tuple[str, ...]:
    """``Title (file): text`` of each passage, in order of files; none holds an empty line.

    Files that begin with a dot, and of other kinds, are left out.

    Raises:
        DataError: no folder, nothing to read in it, or a file that cannot be read; names the file.
    """
    if not folder.is_dir():
        raise DataError(f"data.documents: {folder}: no such folder")
    stats = ((path, path.stat()) for path in document_files(folder))
    stamp = tuple((path, stat.st_size, stat.st_mtime_ns) for path, stat in stats)
    return _passages(folder.resolve(), folder, stamp)


def document_files(folder: Path) -> list[Path]:
    """Those of the folder that are read, and of the folders in it."""
    return [path for path in _files(folder) if path.suffix.lower() in KINDS]


def _files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


@functools.lru_cache(maxsize=2)
def _passages(place: Path, folder: Path, stamp: object) -> tuple[str, ...]:
    """Several parts of one verb ask: a PDF of 500 pages takes seconds.

    Args:
        place, stamp: what the result is remembered by.
    """
    files = document_files(folder)
    if not files:
        other = Counter(path.suffix.lower() or path.name for path in _files(folder))
        found = ", ".join(f"{count} {kind}" for kind, count in sorted(other.items())) or "nothing"
        raise DataError(f"data.documents: {folder}: found {found}, wanted txt, md or pdf files")
    passages = tuple(passage for path in files for passage in file_passages(path))
    if len(passages) > MAX_PASSAGES:
        raise DataError(
            f"data.documents: {folder}: {len(passages)} passages, at most {MAX_PASSAGES} are read; "
            "name a folder with fewer documents"
        )
    return passages


def file_passages(path: Path) -> list[str]:
    """
    Raises:
        DataError: it is too large, empty, damaged, encrypted, scanned, or not UTF-8.
    """
    kind = path.suffix.lower()
    text = _printable(_pdf_text(path) if kind == ".pdf" else _plain_text(path))
    if not text.strip():
        raise DataError(f"{path}: no text in it; remove it from the folder")
    stem = _one_line(_printable(path.stem.replace("_", " ")), _FILE_CHARACTERS)
    return [
        f"{_named(title, stem)}: {passage}"
        for title, paragraphs in _sections(text, markdown=kind == ".md")
        for passage in _packed(paragraphs)
    ]


def _bytes(path: Path) -> bytes:
    try:
        if (size := path.stat().st_size) <= MAX_FILE_BYTES:
            return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    raise DataError(
        f"{path}: {size / 2**20:.0f} MB, at most {MAX_FILE_BYTES >> 20} MB are read; split it"
    )


def _plain_text(path: Path) -> str:
    try:
        return _bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: not UTF-8 (byte {error.object[error.start]:#04x} at {error.start}); save it as UTF-8"
        ) from None


def _pdf_text(path: Path) -> str:
    from pypdf import PdfReader  # here: half a second, for those alone who have such files
    from pypdf.errors import FileNotDecryptedError

    content = io.BytesIO(_bytes(path))
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # not each oddity that it gets over
    try:
        pages = [page.extract_text() for page in PdfReader(content).pages]
    except FileNotDecryptedError:
        raise DataError(f"{path}: needs a password; save it without one") from None
    except Exception as error:  # noqa: BLE001 - of damaged files pypdf says that anything may be raised
        why = _one_line(str(error) or type(error).__name__, 100)
        raise DataError(f"{path}: cannot be read as PDF ({why}); mend it or remove it") from None
    if not any(page.strip() for page in pages):
        raise DataError(
            f"{path}: no text in its {len(pages)} pages; if they are scanned, run text recognition (OCR) "
            "over it, or remove it"
        )
    return "\n\n".join(pages)


def _printable(text: str) -> str:
    """Without control characters and halves of surrogate pairs, which no prompt can hold."""
    lines = text.encode("utf-8", "replace").decode().splitlines()
    return "\n".join("".join(c if c.isprintable() else " " for c in line) for line in lines)


def _sections(text: str, *, markdown: bool) -> Iterator[tuple[str, list[str]]]:
    """(heading, paragraphs below it); headings with nothing below are the first paragraphs of the next."""
    above: list[str] = []
    title, held = "", list[str]()
    for heading, block in _blocks(text, markdown=markdown):
        if not heading:
            held.append(block)
            continue
        if held:
            yield title, [*above, *held]
            above = []
        elif title:
            above.append(title)
        title, held = block, []
    if held:
        yield title, [*above, *held]
    elif title:
        yield "", [*above, title]


def _blocks(text: str, *, markdown: bool) -> Iterator[tuple[bool, str]]:
    """(whether it is a heading, a paragraph without empty lines)."""
    block: list[str] = []
    fenced = False
    for line in [*text.split("\n"), ""]:
        if markdown and line.lstrip().startswith(_FENCES):
            fenced = not fenced
        marked = _MARKED.match(line) if markdown and not fenced else None
        if len(block) == 1 and not fenced and _UNDERLINE.fullmatch(line):
            yield True, block.pop().strip()
            continue
        if block and (marked or not (line.strip() or fenced)):
            yield _read_block(block, markdown=markdown)
            block = []
        if marked and (title := marked[1].rstrip().rstrip("#").rstrip()):
            yield True, title
        elif line.strip() and not marked:
            block.append(line.rstrip())
    if block:
        yield False, "\n".join(block)


def _read_block(lines: Sequence[str], *, markdown: bool) -> tuple[bool, str]:
    only = lines[0].strip()
    short = len(lines) == 1 and len(only) <= _LINE_CHARACTERS
    if short and not markdown and _PLAIN_TITLE.fullmatch(only):
        return True, only
    return False, "\n".join(lines)


def _packed(paragraphs: Sequence[str]) -> Iterator[str]:
    """As many whole paragraphs as a passage may hold; a longer one is cut, best behind a sentence."""
    held = ""
    for piece in (piece for paragraph in paragraphs for piece in _pieces(paragraph)):
        if held and len(held) + 1 + len(piece) > PASSAGE_CHARACTERS:
            yield held
            held = ""
        held = f"{held}\n{piece}" if held else piece
    if held:
        yield held


def _pieces(text: str) -> Iterator[str]:
    begin = 0  # the text stays whole: copies of what is left of 20 MB would take minutes
    while len(text) - begin > PASSAGE_CHARACTERS:
        piece = text[begin : begin + PASSAGE_CHARACTERS]
        ends = (piece.rfind(mark, 1) for mark in (". ", ".\n", "\n", " "))
        cut = next((end + 1 for end in ends if end > 0), PASSAGE_CHARACTERS)
        yield piece[:cut].strip()
        begin += cut
        while text[begin : begin + 1].isspace():
            begin += 1
    if begin < len(text):
        yield text[begin:]


def _named(title: str, stem: str) -> str:
    """What stands before a passage: `retrieve` reads it up to the first colon, without the brackets."""
    short = _one_line(title, _TITLE_CHARACTERS)
    return stem if not short or short.lower() == stem.lower() else f"{short} ({stem})"


def _one_line(text: str, characters: int) -> str:
    return " ".join(text.replace(":", " ").split())[:characters].strip()
