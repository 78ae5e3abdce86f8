"""The experience buffer on disk: one JSONL file a domain, whole or absent.

    {"format": 1, "form": "body", "embedder": "all-minilm-l6-v2", "entries": 2}
    {"problem_id": ..., "domain": "math", ..., "vector": "<base64 of float32, little-endian>"}
    ...

The first line counts the others, so that a file that was cut off is known even where the cut fell
between two lines. Files are data: nothing in them is executed, every field is checked.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.files import write_text
from llm_as_judge.policy.experience import Experience, ExperienceBuffer
from llm_as_judge.refused import place_and_reason
from llm_as_judge.types import DOMAINS, Domain

log = logging.getLogger(__name__)

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]


class _Line(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Head(_Line):
    format: Literal[1]
    form: str
    embedder: str
    entries: int


class _Entry(_Line):
    problem_id: str
    domain: Domain
    question: str
    shown: str
    program: str
    hash: str
    passages: tuple[str, ...]
    reward: float
    step: int
    vector: str


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
            head = {"format": 1, "form": kind.form, "embedder": kind.embedder}
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

    Entries of another embedder get their vectors anew.

    Raises:
        ConfigError: the entries are programs of another form.
        DataError: a file is damaged.
    """
    before = len(buffer)
    for domain in DOMAINS:
        path = folder / f"{domain}.jsonl"
        if path.is_file():
            buffer.add(_read(path, domain, kind, embed))
    return len(buffer) - before


def _read(path: Path, domain: Domain, kind: BufferKind, embed: Embed) -> list[Experience]:
    entries: list[Experience] = []
    lines = path.read_bytes().split(b"\n")
    try:
        head = _Head.model_validate_json(lines[0])
        if head.form != kind.form:
            raise ConfigError(
                f"{path}: programs of form {head.form!r}, wanted {kind.form!r}; set "
                "experience.folder to another folder, or remove the file"
            )
        for line in lines[1:-1]:
            dimensions = kind.dimensions if head.embedder == kind.embedder else None
            entries.append(_entry(_Entry.model_validate_json(line), domain, dimensions))
        if lines[-1] or len(entries) != head.entries:
            raise ValueError(f"{len(entries)} whole entries of {head.entries}")  # noqa: TRY301
    except ValueError as error:
        reason = ": ".join(place_and_reason(error)) if isinstance(error, ValidationError) else error
        raise DataError(
            f"{path}: damaged behind {len(entries)} entries ({reason}); remove the file, whose programs are learned "
            "anew, or set experience.folder to another folder"
        ) from None
    if head.embedder == kind.embedder or not entries:
        return entries
    log.warning("%s: vectors of %s are made anew by %s", path, head.embedder, kind.embedder)
    vectors = embed([entry.question for entry in entries])
    return [
        replace(entry, vector=np.asarray(vector, np.float32))
        for entry, vector in zip(entries, vectors, strict=True)
    ]


def _entry(row: _Entry, domain: Domain, dimensions: int | None) -> Experience:
    """
    Args:
        dimensions: of the vector; None = it is not to be used.
    """
    if row.domain != domain:
        raise ValueError(f"domain: found {row.domain!r}, wanted {domain!r}")
    vector = np.frombuffer(base64.b64decode(row.vector, validate=True), "<f4").astype(np.float32)
    if dimensions and (len(vector) != dimensions or abs(float(np.linalg.norm(vector)) - 1) > 1e-3):
        raise ValueError(f"vector: {dimensions} numbers of unit length were wanted")
    return Experience(**row.model_dump(exclude={"vector"}), vector=vector)


def _row(entry: Experience) -> dict[str, Any]:
    packed = base64.b64encode(entry.vector.astype("<f4").tobytes()).decode("ascii")
    kept = {name: getattr(entry, name) for name in _Entry.model_fields if name != "vector"}
    return {**kept, "vector": packed}
