"""Statistics of a data folder: rows, lengths, answer types, overlap, by set and split."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from llm_as_judge.data.duplicates import Grouping
from llm_as_judge.data.files import read_problems
from llm_as_judge.data.unify import Progress, silent
from llm_as_judge.errors import DataError
from llm_as_judge.types import Problem

Split = Literal["train", "val", "test"]
_PIECE = re.compile(r"\d|[^\W\d]{1,6}|[^\w\s]")
_NUMBER = re.compile(r"-?\$?[\d,]*\.?\d+%?")


@dataclass(frozen=True, slots=True)
class SetStats:
    """One set in one split."""

    dataset: str
    split: Split
    rows: int
    tokens_median: int
    """Of the statement a solver is given (context, question, options)."""
    tokens_p95: int
    tokens_max: int
    answer_types: Mapping[str, int]
    in_train_of_same_set: int
    """Validation or test rows with a passage, or nearly a question, of the set's train rows."""
    in_train_of_other_sets: int


def count_tokens(text: str) -> int:
    """An estimate without a tokenizer: pieces of up to six letters, single digits and symbols."""
    return sum(1 for _ in _PIECE.finditer(text))


def answer_type(problem: Problem) -> str:
    """What kind of answer is asked for."""
    if problem.domain == "code":
        return "function"
    if problem.options:
        return "letter"
    if not problem.answers:
        return "unanswerable"
    first = problem.answers[0].strip()
    if first.lower() in ("yes", "no"):
        return "yes/no"
    if _NUMBER.fullmatch(first):
        return "number"
    return "expression" if problem.domain == "math" else "text"


def data_stats(
    data_dir: Path,
    tokens: Callable[[str], int] = count_tokens,
    progress: Progress = silent,
) -> tuple[SetStats, ...]:
    """Figures of every set in ``data_dir``, train before val before test.

    Args:
        tokens: counts the tokens of a text; pass a tokenizer's own for exact lengths.
    Raises:
        DataError: nothing processed there, or a broken row.
    """
    sets = _processed_sets(data_dir)
    grouping = Grouping()
    places: list[tuple[str, Split]] = []
    lengths: dict[tuple[str, Split], list[int]] = {}
    kinds: dict[tuple[str, Split], Counter[str]] = {}
    for done, (name, split, path) in enumerate(_files(data_dir, sets)):
        progress(f"{name} {split}", done, 3 * len(sets))
        place = (name, split)
        lengths[place], kinds[place] = [], Counter()
        for problem in read_problems(path):
            grouping.add(problem)
            places.append(place)
            lengths[place].append(tokens(problem.statement()))
            kinds[place][answer_type(problem)] += 1
    same, other = _overlap(places, grouping.groups())
    progress("done", 3 * len(sets), 3 * len(sets))
    return tuple(
        SetStats(
            *place,
            rows=len(found),
            tokens_median=_quantile(found, 0.5),
            tokens_p95=_quantile(found, 0.95),
            tokens_max=max(found, default=0),
            answer_types=dict(kinds[place].most_common()),
            in_train_of_same_set=same[place],
            in_train_of_other_sets=other[place],
        )
        for place, found in lengths.items()
    )


def _processed_sets(data_dir: Path) -> list[str]:
    path = data_dir / "test" / "test_index.json"
    try:
        return list(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; run: llm-as-judge data process") from None
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"{path}:1: cannot be read: {error}. Run: llm-as-judge data process"
        ) from None


def _files(data_dir: Path, sets: Sequence[str]) -> Iterator[tuple[str, Split, Path]]:
    for name in sets:
        yield name, "train", data_dir / "processed" / f"{name}_train.jsonl"
        yield name, "val", data_dir / "processed" / f"{name}_val.jsonl"
        yield name, "test", data_dir / "test" / f"{name}_test.jsonl"


def _overlap(
    places: Sequence[tuple[str, Split]], groups: Sequence[int]
) -> tuple[Counter[tuple[str, Split]], Counter[tuple[str, Split]]]:
    """Rows outside train whose group holds a train row of the same set, and of another set."""
    trained: dict[int, set[str]] = {}
    for (name, split), group in zip(places, groups, strict=True):
        if split == "train":
            trained.setdefault(group, set()).add(name)
    same: Counter[tuple[str, Split]] = Counter()
    other: Counter[tuple[str, Split]] = Counter()
    for place, group in zip(places, groups, strict=True):
        if place[1] != "train":
            sets = trained.get(group, set())
            same[place] += place[0] in sets
            other[place] += bool(sets - {place[0]})
    return same, other


def _quantile(values: Sequence[int], share: float) -> int:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0


def stats_table(stats: Sequence[SetStats]) -> tuple[list[str], list[list[str]]]:
    """(Headings, rows) for the terminal; the first column names set and split."""
    head = ["", "rows", "median", "p95", "max", "in train", "in others", "answers"]
    rows = []
    for entry in stats:
        kinds = "\n".join(f"{kind} {count}" for kind, count in entry.answer_types.items())
        numbers = (entry.rows, entry.tokens_median, entry.tokens_p95, entry.tokens_max)
        overlap = (entry.in_train_of_same_set, entry.in_train_of_other_sets)
        name = f"{entry.dataset} {entry.split}"
        rows.append([name, *map(str, (*numbers, *overlap)), kinds])
    return head, rows
