"""``manifest.json`` of the raw folder: what lies there, where it came from, and its hashes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from llm_as_judge.data.catalog import Dataset
from llm_as_judge.errors import DataError
from llm_as_judge.files import file_sha256, write_atomically
from llm_as_judge.renamed import with_new_names
from llm_as_judge.types import from_json, is_shipped, to_json

Origin = Literal["hub", "source", "sample", "package"]
_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One data set in the raw folder."""

    dataset: str
    origin: Origin
    where: str
    """``REPO@REVISION``, folder, ``built-in sample (why)``, or package."""
    files: Mapping[str, str]
    """File, relative to the raw folder -> SHA-256."""
    rows: int
    bytes: int
    license: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What lies in the raw folder; ``manifest.json`` is this value."""

    entries: tuple[ManifestEntry, ...] = ()

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Kinds of origin in use, each once: what a run prints about its data."""
        return tuple(dict.fromkeys(entry.origin for entry in self.entries))

    def entry(self, dataset: str) -> ManifestEntry | None:
        return next((e for e in self.entries if e.dataset == dataset), None)


def read_manifest(raw_dir: Path) -> Manifest:
    """The manifest of a raw folder; empty when there is none.

    Raises:
        DataError: it is there but cannot be read.
    """
    path = raw_dir / _MANIFEST
    try:
        manifest: Manifest = from_json(
            Manifest, json.loads(path.read_text(encoding="utf-8"), object_hook=with_new_names)
        )
    except FileNotFoundError:
        return Manifest()
    except (ValueError, TypeError, OSError, RecursionError) as error:
        raise DataError(
            f"{path}:1: not a manifest: {error}. Delete it and run: llm-as-judge data download"
        ) from None
    return manifest


def origins_of(problems: Iterable[tuple[str, str]], raw_dir: Path) -> dict[str, dict[str, Any]]:
    """Set -> how many of its problems were trained on, and where their rows came from.

    Args:
        problems: (set, id) of each row; a problem may have several.
        raw_dir: whose manifest knows the sets that ``data download`` fetched; all others are own rows.
    Raises:
        DataError: the manifest cannot be read.
    """
    manifest = read_manifest(raw_dir)
    ids: dict[str, set[str]] = {}
    for name, problem in problems:
        ids.setdefault(name, set()).add(problem)
    found = {}
    for name, members in sorted(ids.items()):
        entry = manifest.entry(name)
        origin = entry.origin if entry else "not recorded" if is_shipped(name) else "own"
        where = entry.where if entry and origin == "hub" else ""  # others may be folders here
        found[name] = {"problems": len(members), "origin": origin, "where": where}
    return found


def recorded(raw_dir: Path, manifest: Manifest, entry: ManifestEntry) -> Manifest:
    """The manifest with ``entry``, written to disk; files that its set no longer has are removed."""
    earlier = manifest.entry(entry.dataset)
    others = tuple(e for e in manifest.entries if e.dataset != entry.dataset)
    in_use = {file for e in (*others, entry) for file in e.files}
    for file in set(earlier.files if earlier else ()) - in_use:
        (raw_dir / file).unlink(missing_ok=True)
    updated = Manifest((*others, entry))
    with write_atomically(raw_dir / _MANIFEST) as stream:
        stream.write(json.dumps(to_json(updated), indent=2, ensure_ascii=False).encode() + b"\n")
    return updated


def unchanged(raw_dir: Path, entry: ManifestEntry | None, origin: str) -> bool:
    return (
        entry is not None
        and entry.origin == origin
        and all(
            (raw_dir / file).is_file() and file_sha256(raw_dir / file) == digest
            for file, digest in entry.files.items()
        )
    )


def entry_of(
    raw_dir: Path, dataset: Dataset, files: Sequence[Path], origin: Origin, where: str
) -> ManifestEntry:
    """Count and hash what has arrived.

    Raises:
        DataError: a file cannot be read, or holds no row.
    """
    rows = sum(1 for _ in dataset.rows(files))
    if not rows:
        raise DataError(f"{dataset.name}: no row in {files[0]}")
    return ManifestEntry(
        dataset=dataset.name,
        origin=origin,
        where=where,
        files={str(file.relative_to(raw_dir)): file_sha256(file) for file in files},
        rows=rows,
        bytes=sum(file.stat().st_size for file in files),
        license="MIT" if origin == "sample" else dataset.license,
    )
