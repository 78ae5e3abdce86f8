"""The data sets: where their files are, under which license (places on the hub: dataset.yaml).

How a set behaves in grading and evaluation stands in ``types/datasets.py``. ``@dataset`` adds one
of your own.

Only the part that the 5:1 rule splits is listed: the official train split where a set has one,
the single file where it has none. An official test split is never read for training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from llm_as_judge.config import HubRecord, load_hub_records
from llm_as_judge.data import code, custom, mathematics, questions
from llm_as_judge.data.rows import TABLES, RawRow, read_rows
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.imported import OURS
from llm_as_judge.plugins import Registry, read_options
from llm_as_judge.types import (
    DOMAINS,
    DatasetInfo,
    Domain,
    Problem,
    add_dataset_info,
    is_shipped,
    own_dataset,
)
from llm_as_judge.types.datasets import (
    COMMONSENSEQA,
    GSM8K,
    HOTPOTQA,
    HUMANEVAL,
    MATH,
    MBPP,
    MBPP_FULL,
    MMLU,
    SQUAD2,
)


@dataclass(frozen=True, slots=True)
class Dataset:
    """One data set of the catalog: its files, and how a row of them becomes a problem."""

    info: DatasetInfo
    folder: str
    """Folder under the upstream or raw folder."""
    files: tuple[str, ...]
    """Patterns tried in order; the first that matches is read (all its matches)."""
    split: str
    """Middle part of problem ids: the upstream split the rows come from."""
    license: str
    convert: Callable[[RawRow, str], Problem]
    hub_file: str = "train.jsonl"
    """Name that rows from the hub are stored under."""
    train_only: bool = False
    """Never in a validation or test file."""
    flatten: Callable[[Iterable[RawRow]], Iterator[RawRow]] = iter
    in_package: bool = False
    """Where the hub cannot be reached, a package of PyPI has the first of the files."""

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def defined(self) -> Callable[[RawRow, str], Problem]:
        return self.convert

    @property
    def own(self) -> bool:
        """Whether its rows are a user's own file."""
        return self.split == OWN_SPLIT

    @property
    def plugin(self) -> str:
        """Module outside this package that makes its problems; empty: none does."""
        module = self.convert.__module__
        return "" if module.partition(".")[0] in (OURS, "functools") else module

    @property
    def domain(self) -> Domain:
        return self.info.domain

    @property
    def hub(self) -> tuple[HubRecord, ...]:
        """Places on the hub, tried in order; none for one's own."""
        return load_hub_records().get(self.name, ())

    def find(self, root: Path) -> tuple[Path, ...]:
        """The files of this set under ``root``, in a fixed order; empty if there are none."""
        for pattern in self.files:
            if found := sorted((root / self.folder).glob(pattern)):
                return tuple(found)
        return ()

    def rows(self, files: Sequence[Path]) -> Iterator[RawRow]:
        """Records of the files, numbered through.

        Raises:
            DataError: a file cannot be read.
        """
        number = 0
        for file in files:
            for row in self.flatten(read_rows(file)):
                yield replace(row, number=number)
                number += 1


_HUB_NAMES = ("train.jsonl", "train*.parquet", "*/train*.parquet")

OWN_SPLIT = "custom"
"""Middle part of the ids of own rows."""
CATALOG: Registry[Dataset] = Registry("data set")
for _shipped in (
    Dataset(
        GSM8K,
        "gsm8k",
        ("train.jsonl", "train.jsonl.gz", *_HUB_NAMES[1:]),
        "train",
        "MIT",
        mathematics.gsm8k,
    ),
    Dataset(
        MATH,
        "math",
        (
            "train.jsonl",
            "train.jsonl.gz",
            *_HUB_NAMES[1:],
            "train/*/*.json",
            "MATH/train/*/*.json",
        ),
        "train",
        "MIT",
        mathematics.math,
    ),
    Dataset(
        SQUAD2,
        "squad_v2",
        ("train-v2.0.json", "train-v2.0.json.gz", *_HUB_NAMES),
        "train",
        "CC BY-SA 4.0",
        questions.squad2,
        flatten=questions.flatten_squad,
    ),
    Dataset(
        HOTPOTQA,
        "hotpotqa",
        ("hotpot_train_v1.1.json", "hotpot_train_v1.1.json.gz", *_HUB_NAMES),
        "train",
        "CC BY-SA 4.0",
        questions.hotpotqa,
    ),
    Dataset(
        HUMANEVAL,
        "humaneval",
        ("HumanEval.jsonl.gz", "HumanEval.jsonl", "test*.parquet", "*/test*.parquet"),
        "all",
        "MIT",
        code.humaneval,
        hub_file="HumanEval.jsonl",
        in_package=True,
    ),
    Dataset(
        MBPP,
        "mbpp",
        ("sanitized-mbpp.json", "sanitized-mbpp.jsonl", "sanitized/*.parquet"),
        "sanitized",
        "CC BY 4.0",
        code.mbpp,
        hub_file="sanitized-mbpp.jsonl",
    ),
    Dataset(
        MBPP_FULL,
        "mbpp",
        ("mbpp.jsonl", "full/*.parquet"),
        "full",
        "CC BY 4.0",
        code.mbpp_full,
        hub_file="mbpp.jsonl",
    ),
    Dataset(
        COMMONSENSEQA,
        "commonsense_qa",
        ("train_rand_split.jsonl", *_HUB_NAMES),
        "train",
        "MIT",
        questions.commonsenseqa,
    ),
    Dataset(
        MMLU,
        "mmlu",
        ("mmlu.zip", "all.jsonl", "data/*/*.csv", "all/*.parquet"),
        "all",
        "MIT",
        questions.mmlu,
        hub_file="all.jsonl",
    ),
):
    CATALOG.add(_shipped)


Convert = TypeVar("Convert", bound=Callable[[RawRow, str], Problem])


def dataset(
    name: str,
    *,
    domain: Domain,
    files: Sequence[str],
    split: str = "all",
    license: str = "unknown",  # noqa: A002 - as the field is called
    train_only: bool = False,
    **behavior: Any,
) -> Callable[[Convert], Convert]:
    """Makes a function ``(row, split) -> Problem`` a data set that ``data.sets`` may name.

    Args:
        files: patterns of its files below ``DATA_DIR/raw/NAME``; the first that matches is read.
        behavior: fields of :class:`DatasetInfo`, such as ``metric`` or ``stratum``.
    Raises:
        ConfigError: the name is taken, or a field is not as wanted.
    """
    given = {"metric": own_dataset(name, domain).metric, "mixed": "on_request", **behavior}
    info = read_options(
        DatasetInfo, {**given, "name": name, "domain": domain}, f"data set {name!r}"
    )
    for taken in filter(is_shipped, (info.name, *info.also_called)):
        raise ConfigError(f"data set {taken!r} is a shipped one; give yours another name")

    def register(convert: Convert) -> Convert:
        own = Dataset(
            *(info, name, tuple(files), split, license, convert),
            hub_file=files[0].replace("*", "rows"),
            train_only=train_only,
        )
        CATALOG.add(own)
        add_dataset_info(info)
        return convert

    return register


def require_rows(path: Path) -> None:
    """Refuses what is no file with something in it.

    Raises:
        DataError: it says what a row looks like.
    """
    if not path.is_file() or not path.stat().st_size:
        found = "a folder; name a file, and" if path.is_dir() else "no such file;"
        raise DataError(f"{path}: {'empty;' if path.is_file() else found} {how_rows_look(path)}")


def how_rows_look(path: Path) -> str:
    """What to write into a file of one's own rows that has none."""
    if path.suffix in TABLES:
        return (
            "write one row a line into it, below a first line that names the columns: "
            "problem, answer, type (docs/DATA.md)"
        )
    return (
        'write one row a line into it: {"problem": ..., "answer": ..., "type": "math"} '
        "(docs/DATA.md)"
    )


def custom_datasets(path: Path, type_: Domain | None = None) -> list[Dataset]:
    """One's own file (JSONL or a table) as a data set named like the file, or one for each type in it.

    Args:
        type_: of the rows that say none.
    Raises:
        DataError: no such file, the name of a known set, or no row has what each needs.
    """
    require_rows(path)
    name = path.name.split(".")[0]
    if name in CATALOG:
        raise DataError(f"{path}: {name!r} is the name of a known data set; rename the file")
    types = custom.types_in(path, type_)
    domains = [domain for domain in DOMAINS if domain in types] or ["qa"]
    parts = []
    for domain in domains:
        part = f"{name}_{domain}" if len(domains) > 1 else name
        convert = partial(custom.custom, dataset=part)
        # rows of no type stay with the first part, which refuses them by line
        taken = (domain, None) if domain == domains[0] else (domain,)
        parts.append(
            Dataset(
                *(own_dataset(part, domain), "", (path.name,), OWN_SPLIT, "unknown", convert),
                flatten=partial(_of_types, types=taken, type_=type_),
            )
        )
    return parts


def _of_types(
    rows: Iterable[RawRow], types: Sequence[Domain | None], type_: Domain | None
) -> Iterator[RawRow]:
    return (row for row in custom.own_rows(rows, type_) if custom.custom_domain(row) in types)
