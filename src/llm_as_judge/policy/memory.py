"""The experience buffer at work: examples for prompts, new entries from scored groups; and on disk.

The problems of one domain in a step share their examples, those nearest to the mean of their questions. Their
prompts then differ in the problem alone, so that docs and examples are computed once for all of them.

On disk each domain has one JSONL file, whole or absent:

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.files import write_text
from llm_as_judge.policy.experience import (
    Experience,
    ExperienceBuffer,
    compared_text,
    passage_digests,
)
from llm_as_judge.policy.prompt import Example, shorten
from llm_as_judge.refused import place_and_reason
from llm_as_judge.types import DOMAINS, Domain, Embedder, Group, Problem, Rollout

log = logging.getLogger(__name__)


class Memory:
    """Good programs of earlier steps, shown to the policy as examples."""

    def __init__(
        self,
        buffer: ExperienceBuffer,
        embedder: Embedder,
        *,
        form: str,
        folder: Path,
        start: Path | None = None,
        top_k: int = 3,
        example_chars: int = 300,
    ) -> None:
        """
        Args:
            form: program form of the entries.
            folder: written after every step that changed the buffer.
            start: folder of the entries to begin with (a checkpoint's); None = ``folder``.
            example_chars: longest problem text of an example.
        Raises:
            ConfigError, DataError: see ``load_buffer``.
        """
        self.buffer = buffer
        self.top_k = top_k
        self._embedder = embedder
        self._kind = BufferKind(form, embedder.name, embedder.dimensions)
        self._folder = folder
        self._example_chars = example_chars
        load_buffer(start or folder, buffer, self._kind, embedder.embed)

    def examples(self, problems_P: Sequence[Problem]) -> list[tuple[Example, ...]]:
        """For each problem its retrieved examples, the nearest last: beside the problem."""
        if not len(self.buffer) or not problems_P:
            return [()] * len(problems_P)
        vectors_P = self._embedder.embed([compared_text(problem) for problem in problems_P])
        of_domain: dict[Domain, tuple[Example, ...]] = {}
        for domain in dict.fromkeys(problem.domain for problem in problems_P):
            members = [i for i, problem in enumerate(problems_P) if problem.domain == domain]
            mean = np.mean([vectors_P[i] for i in members], axis=0)
            mean /= np.linalg.norm(mean)
            asked = [problems_P[i] for i in members]
            hits = self.buffer.nearest(mean, domain, self.top_k, asked)
            of_domain[domain] = tuple(map(_example, reversed(hits)))
        return [of_domain[problem.domain] for problem in problems_P]

    def remember(self, step: int, groups: Sequence[Group]) -> dict[str, float]:
        """Add what deserves it, write the folder, say how the buffer stands.

        Raises:
            OutputError: the folder cannot be written.
        """
        good = [(g.problem, r) for g in groups for r in g.rollouts if self.buffer.admits(r)]
        vectors = self._embedder.embed([compared_text(problem) for problem, _ in good])
        added = self.buffer.add(
            self._experience(step, problem, rollout, vector)
            for (problem, rollout), vector in zip(good, vectors, strict=True)
        )
        if good:
            save_buffer(self._folder, self.buffer, self._kind)
        return {
            "experience/entries": float(len(self.buffer)),
            "experience/added": float(added),
            "experience/programs": float(self.buffer.distinct_programs),
        }

    def _experience(
        self, step: int, problem: Problem, rollout: Rollout, vector: Sequence[float]
    ) -> Experience:
        assert rollout.reward is not None  # or the buffer had not admitted it
        return Experience(
            problem_id=problem.id,
            domain=problem.domain,
            question=compared_text(problem),
            passages=passage_digests(problem),
            shown=shorten(problem.statement(), self._example_chars),
            program=rollout.program.source,
            hash=rollout.program.hash,
            reward=rollout.reward.total,
            step=step,
            vector=np.asarray(vector, np.float32),
        )

    def files(self) -> Mapping[str, str]:
        return buffer_files(self.buffer, self._kind)


def _example(of: Experience) -> Example:
    return Example(problem=of.shown, program=of.program, problem_id=of.problem_id)


# ----------------------------------------------------------------------------------------- on disk
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
    """Write each domain's file as a whole; an unchanged one is left alone."""
    files = buffer_files(buffer, kind)
    for domain in DOMAINS:
        path = folder / f"{domain}.jsonl"
        text = files.get(path.name)
        if text is None:
            path.unlink(missing_ok=True)  # entries of a run that this one replaces
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_text(path, text)


def load_buffer(folder: Path, buffer: ExperienceBuffer, kind: BufferKind, embed: Embed) -> None:
    """Add the entries of a folder's files. No folder: none.

    Entries of another embedder get their vectors anew.

    Raises:
        ConfigError: the entries are programs of another form.
        DataError: a file is damaged.
    """
    for domain in DOMAINS:
        path = folder / f"{domain}.jsonl"
        if path.is_file():
            buffer.add(_read(path, domain, kind, embed))


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
