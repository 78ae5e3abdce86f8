"""The experience buffer on disk: one JSONL file a domain, whole or absent.

    {"format": 1, "form": "body", "embedder": "all-minilm-l6-v2", "entries": 2}
    {"problem_id": ..., "domain": "math", ..., "vector": "<base64 of float32, little-endian>"}
    ...

The first line counts the others, so that a file that was cut off is known even where the cut fell
between two lines. Such a file is set aside under ``*.damaged``, its readable entries are kept, and
one line of the log says so. Files are data: nothing in them is executed, every field is checked.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from llm_as_judge.errors import ConfigError, DataError, OutputError
from llm_as_judge.files import write_text
from llm_as_judge.policy.experience import Experience, ExperienceBuffer, Vector
from llm_as_judge.types import DOMAINS, Domain

log = logging.getLogger(__name__)

FORMAT = 1
_TEXTS = ("problem_id", "domain", "question", "shown", "program", "hash")

NO_VECTOR: Vector = np.zeros(0, np.float32)
Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]


@dataclass(frozen=True, slots=True)
class BufferKind:
    """What the entries of a buffer have in common."""

    form: str
    """Program form: a ``class`` program is no example for a policy that writes a ``body``."""
    embedder: str
    dimensions: int
    """Of the vectors."""


def buffer_files(buffer: ExperienceBuffer, kind: BufferKind) -> dict[str, str]:
    """File name -> content, for every domain that has entries."""
    files = {}
    for domain in DOMAINS:
        entries = buffer.entries(domain)
        if entries:
            head = {"format": FORMAT, "form": kind.form, "embedder": kind.embedder}
            rows = [{**head, "entries": len(entries)}, *map(_row, entries)]
            files[f"{domain}.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows)
    return files


def save_buffer(folder: Path, buffer: ExperienceBuffer, kind: BufferKind) -> None:
    """Write each domain's file as a whole; an unchanged one is left alone.

    Raises:
        OutputError: the folder cannot be written.
    """
    files = buffer_files(buffer, kind)
    for domain in DOMAINS:
        path = folder / f"{domain}.jsonl"
        text = files.get(path.name)
        if text is None:
            path.unlink(missing_ok=True)  # entries of a run that this one replaces
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)


def load_buffer(folder: Path, buffer: ExperienceBuffer, kind: BufferKind, embed: Embed) -> int:
    """Add the entries of a folder's files; returns how many there are. No folder: none.

    Entries of another embedder get their vectors anew; a damaged file is set aside.

    Raises:
        ConfigError: the entries are programs of another form.
        OutputError: a damaged file cannot be set aside.
    """
    before = len(buffer)
    for domain in DOMAINS:
        path = folder / f"{domain}.jsonl"
        if path.is_file():
            buffer.add(_read(path, domain, kind, embed))
    return len(buffer) - before


def _read(path: Path, domain: Domain, kind: BufferKind, embed: Embed) -> list[Experience]:
    """Entries of one file; if it is damaged, those that can be read."""
    *lines, rest = path.read_bytes().split(b"\n")
    try:
        head = _head(lines[0] if lines else rest, path, kind)
    except DataError as error:
        _set_aside(path, f"line 1: {error}", 0)
        return []
    known = head["embedder"] == kind.embedder
    entries, trouble = [], []
    for number, line in enumerate(lines[1:], start=2):
        try:
            entries.append(_entry(_object(line), domain, kind.dimensions if known else None))
        except DataError as error:
            trouble.append(f"line {number}: {error}")
    if rest or len(lines) - 1 != head["entries"]:
        trouble.append(f"{len(lines) - 1} whole entries of {head['entries']}")
    if trouble:
        _set_aside(path, trouble[0], len(entries))
    if known or not entries:
        return entries
    log.warning("%s: vectors of %s are made anew by %s", path, head["embedder"], kind.embedder)
    vectors = embed([entry.question for entry in entries])
    return [
        replace(entry, vector=np.asarray(vector, np.float32))
        for entry, vector in zip(entries, vectors, strict=True)
    ]


def _object(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        raise DataError("not JSON") from None
    if not isinstance(row, dict):
        raise DataError(f"found {type(row).__name__}, wanted an object")
    return row


def _head(line: bytes, path: Path, kind: BufferKind) -> dict[str, Any]:
    row = _object(line)
    if row.get("format") != FORMAT or not isinstance(row.get("entries"), int):
        raise DataError("no head of an experience file")
    if row.get("form") != kind.form:
        raise ConfigError(
            f"{path}: programs of form {row.get('form')!r}, wanted {kind.form!r}; set "
            "experience.folder to another folder, or remove the file"
        )
    return row


def _entry(row: dict[str, Any], domain: Domain, dimensions: int | None) -> Experience:
    """Args: dimensions: of the vector; None = the vector is not to be used."""
    for name in _TEXTS:
        if not isinstance(row.get(name), str):
            raise DataError(f"{name}: a text was wanted")
    reward, step, passages = row.get("reward"), row.get("step"), row.get("passages")
    if isinstance(reward, bool) or not isinstance(reward, int | float) or not abs(reward) < 1e9:
        raise DataError("reward: a number was wanted")
    if isinstance(step, bool) or not isinstance(step, int):
        raise DataError("step: a whole number was wanted")
    if not isinstance(passages, list) or not all(isinstance(text, str) for text in passages):
        raise DataError("passages: a list of texts was wanted")
    if row["domain"] != domain:
        raise DataError(f"domain: found {row['domain']!r}, wanted {domain!r}")
    return Experience(
        **{name: row[name] for name in _TEXTS},
        passages=tuple(passages),
        reward=float(reward),
        step=step,
        vector=NO_VECTOR if dimensions is None else _vector(row.get("vector"), dimensions),
    )


def _vector(text: Any, dimensions: int) -> Vector:
    try:
        vector = np.frombuffer(base64.b64decode(text, validate=True), "<f4").astype(np.float32)
    except (binascii.Error, TypeError, ValueError):
        raise DataError("vector: base64 of float32 was wanted") from None
    if len(vector) != dimensions or not abs(float(np.linalg.norm(vector)) - 1.0) < 1e-3:
        raise DataError(f"vector: {dimensions} numbers of unit length were wanted")
    return vector


def _row(entry: Experience) -> dict[str, Any]:
    packed = base64.b64encode(entry.vector.astype("<f4").tobytes()).decode("ascii")
    return {
        **{name: getattr(entry, name) for name in _TEXTS},
        "passages": list(entry.passages),
        "reward": entry.reward,
        "step": entry.step,
        "vector": packed,
    }


def _set_aside(path: Path, trouble: str, kept: int) -> None:
    number = 0
    aside = path.with_name(path.name + ".damaged")
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.damaged.{number}")
    try:
        path.rename(aside)
    except OSError as error:
        raise OutputError(f"{path}: damaged, and cannot be set aside: {error.strerror}") from None
    message = "%s: damaged (%s); %d entries kept, the file is set aside as %s"
    log.warning(message, path, trouble, kept, aside.name)
