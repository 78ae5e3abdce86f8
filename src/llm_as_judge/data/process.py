"""Upstream files -> unified problems -> 5:1 split -> mixes, in the documented places.

    data/processed/SET_{train,val}.jsonl      unified rows, upstream order
    data/mixed/{train,val,test}_mixed.jsonl   4:3:3 by domain, and info.json
    data/test/SET_test.jsonl                  and test_index.json

Two passes over one set at a time: rows are unified into a temporary file while only offsets and
group keys stay in memory; then lines are copied to where the split and the mix want them. Files
appear when everything has succeeded. The same seed gives the same bytes.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path

from llm_as_judge.config import DATASETS
from llm_as_judge.data.catalog import CATALOG, Dataset, custom_datasets
from llm_as_judge.data.mix import DOMAIN_SHARES, Draws, prefix_until_used_up, resampled
from llm_as_judge.data.unify import (
    BadRowsError,
    Lines,
    NoRowsError,
    Progress,
    Refusal,
    SetPlan,
    SetReport,
    TestCheck,
    process_set,
    silent,
    untried,
)
from llm_as_judge.errors import DataError
from llm_as_judge.files import file_sha256, output_errors, read_json
from llm_as_judge.processes import ProcessPool
from llm_as_judge.types import DATASET_INFO, Domain, Json, to_json


@dataclass(frozen=True, slots=True)
class MixReport:
    """One mixed file."""

    file: str
    rows: int
    unique: int
    by_domain: Mapping[str, int]
    by_set: Mapping[str, int]
    sha256: str


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """All of it; ``info.json`` is this value."""

    seed: int
    val_fraction: float
    mix_size: int
    shares: Mapping[Domain, int]
    sets: tuple[SetReport, ...]
    mixes: tuple[MixReport, ...]
    files: tuple[str, ...]
    """Every file written, relative to the data folder."""

    @property
    def refused(self) -> int:
        return sum(report.refused for report in self.sets)


def process(
    raw_dir: Path,
    data_dir: Path,
    *,
    sets: Sequence[str] = DATASETS,
    custom: Sequence[Path] = (),
    custom_type: Domain | None = None,
    seed: int = 0,
    val_fraction: float = 0.02,
    mix_size: int | None = None,
    limit_per_set: int | None = None,
    skip_bad: bool = False,
    workers: int = 1,
    progress: Progress = silent,
    check_tests: TestCheck = untried,
    check: Callable[[Sequence[SetReport]], None] = lambda reports: None,
) -> ProcessReport:
    """Unify, split and mix the upstream files under ``raw_dir`` into ``data_dir``.

    Args:
        raw_dir: what ``data download`` wrote, or any folder of upstream files in the same layout.
        sets: names of the catalog; ``custom``: one's own files beside them; ``custom_type``: of
            their rows that say none.
        mix_size: rows of train_mixed.jsonl; default the number of unique train rows.
        limit_per_set: at most so many rows of each set, drawn at random before the split.
        skip_bad: leave bad rows out and count them, instead of stopping at the first.
        workers: processes that unify sets at the same time.
        check_tests: tries the tests of code rows; a row where it finds a fault is a bad row. In a
            shipped set, which nobody here can mend, such rows are left out and listed.
        check: called before any file appears; where it raises, none does.
    Raises:
        ConfigError: no such set.
        DataError: a set has no file or no row, a row is bad (``file:line``), or two sets may not
            stand together.
        OutputError: ``data_dir`` cannot be written.
    """
    datasets = [(CATALOG[name], raw_dir) for name in dict.fromkeys(sets)]
    datasets += [
        (part, path.parent) for path in custom for part in custom_datasets(path, custom_type)
    ]
    _require_apart([dataset.name for dataset, _ in datasets])
    fresh = not data_dir.exists()
    with output_errors(data_dir):
        work = _work_folder(data_dir)
        try:
            plans = [
                SetPlan(
                    dataset,
                    _files(dataset, root),
                    work,
                    seed,
                    val_fraction,
                    limit_per_set,
                    skip_bad,
                    check_tests,
                )
                for dataset, root in datasets
            ]
            reports = _process_sets(plans, workers, progress)
            check(reports)
            size = mix_size or sum(report.train for report in reports)
            mixes = _write_mixes(work, reports, seed, size, progress)
            report = ProcessReport(
                seed,
                val_fraction,
                size,
                dict(DOMAIN_SHARES),
                tuple(reports),
                mixes,
                _file_list(work),
            )
            _write_indexes(work, report)
            _publish(work, data_dir, _file_list(work))
        finally:
            shutil.rmtree(work, ignore_errors=True)
            if fresh:
                with contextlib.suppress(OSError):  # it holds the files
                    data_dir.rmdir()
    return report


def _require_apart(names: Sequence[str]) -> None:
    if not names:
        raise DataError(
            "no data sets chosen; name one: --custom FILE for rows of your own, or --set data.sets=[gsm8k]"
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"two data sets would be called {twice[0]!r}; rename one of the files")
    for name in names:
        whole = DATASET_INFO[name].part_of if name in DATASET_INFO else ""
        if whole in names:
            raise DataError(
                f"data.sets: {name} is a part of {whole}, so that the same tasks would be in train "
                "and in test; choose one of them"
            )


def _work_folder(data_dir: Path) -> Path:
    data_dir.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".process-", dir=data_dir))
    for name in ("processed", "mixed", "test", "unsplit"):
        (work / name).mkdir()
    return work


def _files(dataset: Dataset, root: Path) -> tuple[Path, ...]:
    files = dataset.find(root)
    if not files:
        raise DataError(
            f"{root / dataset.folder}: no file of {dataset.name} (wanted {dataset.files[0]}). "
            "Run: llm-as-judge data download"
        )
    return files


def _process_sets(plans: Sequence[SetPlan], workers: int, progress: Progress) -> list[SetReport]:
    """The sets that have a row. Where one type of an own file has none, its bad rows are told of with another's.

    Raises:
        BadRowsError: of all own sets together, since one file may hold several; else of the first set.
        NoRowsError: of a set, or of all sets of an own file.
    """
    bad: list[Refusal] = []
    reports: list[SetReport] = []
    bare: list[tuple[SetPlan, NoRowsError]] = []
    with contextlib.closing(_work_of(plans, workers, progress)) as works:
        for plan, work in zip(plans, works, strict=True):
            try:
                reports.append(work())
            except NoRowsError as error:
                if not plan.dataset.own:
                    raise
                bare.append((plan, error))
            except BadRowsError as error:
                if not plan.dataset.own:
                    raise
                bad += error.refusals
    if bad:  # "file:9" is before "file:10"
        raise BadRowsError(sorted(bad, key=lambda refusal: (len(refusal.where), refusal.where)))
    for plan, none in bare:
        files = tuple(map(str, plan.files))
        at = next((i for i, report in enumerate(reports) if report.files == files), None)
        if at is None:
            raise none
        there = reports[at]
        reports[at] = replace(
            there,
            refused=there.refused + none.refused,
            refusals=(*there.refusals, *none.refusals),
        )
    return reports


def _work_of(
    plans: Sequence[SetPlan], workers: int, progress: Progress
) -> Generator[Callable[[], SetReport]]:
    """What gives the report of each set, in processes where there are several of both."""
    if workers < 2 or len(plans) < 2:
        for plan in plans:
            yield partial(process_set, plan, progress)
        return
    pool = ProcessPool(workers)
    largest_first = sorted(plans, key=lambda plan: -sum(f.stat().st_size for f in plan.files))
    try:
        work = {p.dataset.name: pool.submit(process_set, p, silent) for p in largest_first}
        for done, plan in enumerate(plans, start=1):
            yield work[plan.dataset.name].result
            progress("sets", done, len(plans))
    finally:  # a bad row stops the other sets
        pool.close()


# ------------------------------------------------------------------------------------------- mixes
def _line_offsets(path: Path) -> array[int]:
    offsets = array("Q", [0])
    with path.open("rb") as stream:
        for line in stream:
            offsets.append(offsets[-1] + len(line))
    return offsets


def _write_mixes(
    work: Path, reports: Sequence[SetReport], seed: int, size: int, progress: Progress
) -> tuple[MixReport, ...]:
    domains = {report.dataset: report.domain for report in reports}
    mixes = []
    for side, folder in (("train", "processed"), ("val", "processed"), ("test", "test")):
        files = {name: work / folder / f"{name}_{side}.jsonl" for name in domains}
        offsets = {name: _line_offsets(file) for name, file in files.items()}
        draws = {
            name: Draws(range(len(found) - 1), seed, f"{name}/{side}")
            for name, found in offsets.items()
            if len(found) > 1
        }
        if side == "train":
            order = resampled(draws, domains, size)
        else:
            order = prefix_until_used_up(draws, domains) if draws else iter(())
        target = work / "mixed" / f"{side}_mixed.jsonl"
        mixes.append(_write_mix(target, order, files, offsets, domains, progress))
    return tuple(mixes)


def _write_mix(
    target: Path,
    order: Iterable[tuple[str, int]],
    files: Mapping[str, Path],
    offsets: Mapping[str, array[int]],
    domains: Mapping[str, Domain],
    progress: Progress,
) -> MixReport:
    by_set: Counter[str] = Counter()
    unique = {name: bytearray(len(found)) for name, found in offsets.items()}
    with contextlib.ExitStack() as opened, target.open("wb", buffering=1 << 20) as stream:
        lines = {
            name: opened.enter_context(Lines(file, offsets[name])) for name, file in files.items()
        }
        for done, (name, row) in enumerate(order, start=1):
            line = lines[name][row]
            stream.write(line)
            by_set[name] += 1
            unique[name][row] = 1
            if done % 8192 == 0:
                progress(target.name, done, None)
    rows = sum(by_set.values())
    progress(target.name, rows, rows)
    by_domain: Counter[str] = Counter()
    for name, count in by_set.items():
        by_domain[domains[name]] += count
    return MixReport(
        file=f"mixed/{target.name}",
        rows=rows,
        unique=sum(sum(flags) for flags in unique.values()),
        by_domain=dict(by_domain),
        by_set=dict(by_set),
        sha256=file_sha256(target),
    )


# ----------------------------------------------------------------------------------------- indexes
def _file_list(work: Path) -> tuple[str, ...]:
    names = {"mixed/info.json", "test/test_index.json"}
    names |= {str(f.relative_to(work)) for f in work.glob("*/*.json*")}
    return tuple(sorted(names))


def _write_indexes(work: Path, report: ProcessReport) -> None:
    index: dict[str, Json] = {}
    for part in report.sets:
        path = work / "test" / f"{part.dataset}_test.jsonl"
        index[part.dataset] = {
            "file": path.name,
            "domain": part.domain,
            "rows": part.test,
            "sha256": file_sha256(path),
        }
    _write_json(work / "test" / "test_index.json", index)
    sets = []
    for part in report.sets:  # folder and file name only: equal bytes wherever the data lie
        names = tuple("/".join(Path(file).parts[-2:]) for file in part.files)
        sets.append(replace(part, files=names, remarks=()))
    _write_json(work / "mixed" / "info.json", to_json(replace(report, sets=tuple(sets))))


def _write_json(path: Path, value: Json) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _publish(work: Path, data_dir: Path, files: Sequence[str]) -> None:
    """Move the finished files into place; remove what an earlier run wrote and this one did not."""
    earlier = _earlier_files(data_dir / "mixed" / "info.json")
    for folder, members in groupby(files, key=lambda name: name.partition("/")[0]):
        (data_dir / folder).mkdir(exist_ok=True)
        for name in members:
            (work / name).replace(data_dir / name)
    for name in earlier - set(files):
        (data_dir / name).unlink(missing_ok=True)


def sets_there(data_dir: Path) -> set[str]:
    """Names of the sets that the last ``process`` into this folder made; empty where none did.

    Raises:
        DataError: its info.json cannot be read.
    """
    info = data_dir / "mixed" / "info.json"
    if not info.is_file():
        return set()
    try:
        return {str(part["dataset"]) for part in read_json(info)["sets"]}
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(
            f"{info}: cannot be read, wanted what data process wrote; move it away, or name another folder with --data-dir"
        ) from None


def plugins_of_rows(path: Path) -> dict[str, str]:
    """Set -> module of the plugin that made its problems, as ``process`` left it beside its file ``path``."""
    try:
        info = read_json(path.parent.parent / "mixed" / "info.json")
        return {part["dataset"]: part["plugin"] for part in info["sets"] if part.get("plugin")}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _earlier_files(info: Path) -> set[str]:
    try:
        listed = read_json(info)["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    known = ("processed/", "mixed/", "test/")
    return {
        name
        for name in listed
        if isinstance(name, str) and name.startswith(known) and ".." not in Path(name).parts
    }
