"""`retrieve` on HotpotQA: rows whose kept paragraphs hold both that the answer needs.

    python benchmarks/retrieval.py RAW/hotpotqa/hotpot_dev_distractor_v1.json [--keep 3 4 5]

No executor is asked. Rows without ten paragraphs or without supporting facts are left out. Intervals are bootstraps
over rows. What a link is worth, and that common words do not count, was chosen on rows of the training file.

Expected, before it was run: with four of ten 79 % [75, 83] for 36 % of the words, by BM25 alone 60 %.
Found: 84.9 % [82.0, 87.9] for 34.5 %, by BM25 alone 61.4 %: a question that names a title was not thought of.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from llm_as_judge.data.questions import hotpotqa
from llm_as_judge.data.rows import RawRow
from llm_as_judge.errors import DataError
from llm_as_judge.operators.retrieval import Passages
from llm_as_judge.types import Problem

PARAGRAPHS = 10
RESAMPLES = 2000


def rows(file: Path) -> Iterator[tuple[Problem, list[str], set[int]]]:
    """(problem, its paragraphs, positions of those that the answer needs)."""
    for number, record in enumerate(json.loads(file.read_text(encoding="utf-8"))):
        problem = hotpotqa(RawRow(f"{file}[{number}]", number, record), "dev")
        passages = problem.context.split("\n\n")
        titles = [title for title, _ in json.loads(problem.meta["paragraphs"])]
        needed = {title for title, _ in json.loads(problem.meta["supporting_facts"])}
        if len(passages) == len(titles) == PARAGRAPHS and needed:
            yield problem, passages, {n for n, title in enumerate(titles) if title in needed}


def share(values: list[bool]) -> str:
    """Percent, with 95 % of its bootstrap over rows."""
    array = np.array(values) * 100.0
    chance = np.random.default_rng(0)
    means = array[chance.integers(0, len(array), (RESAMPLES, len(array)))].mean(1)
    low, high = np.quantile(means, [0.025, 0.975])
    return f"{array.mean():.1f} % [{low:.1f}, {high:.1f}]"


def linked(question: str, passages: list[str], keep: int) -> list[int]:
    return Passages(passages).best(question, keep)


def plain(question: str, passages: list[str], keep: int) -> list[int]:
    """By BM25 alone."""
    scores = Passages(passages).bm25(question)
    return sorted(range(len(passages)), key=lambda n: -scores[n])[:keep]


def table(file: Path, keeps: list[int]) -> str:
    """
    Raises:
        DataError: the file holds no such rows.
    """
    known = list(rows(file))
    if not known:
        raise DataError(
            f"{file}: no rows of HotpotQA with {PARAGRAPHS} paragraphs and supporting facts"
        )
    lines = [f"{len(known)} rows"]
    for keep in keeps:
        for name, choose in {"retrieve": linked, "BM25 alone": plain}.items():
            held, read, whole = [], 0, 0
            for problem, passages, needed in known:
                kept = choose(problem.question, passages, keep)
                held.append(needed <= set(kept))
                words = [len(passage.split()) for passage in passages]
                read, whole = read + sum(words[n] for n in kept), whole + sum(words)
            lines.append(
                f"{keep} by {name:10}: both in {share(held)}, {read / whole:.1%} of the words"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--keep", type=int, nargs="+", default=[3, 4, 5])
    given = parser.parse_args()
    print(table(given.file, given.keep))


if __name__ == "__main__":
    main()
