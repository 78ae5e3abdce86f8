"""Every gold answer of every upstream file through the graders, every code reference through the jail.

    python benchmarks/gold.py [--source ../shared/data] [--only code] [--humaneval FILE]

Prints for each file: rows converted and refused, gold graded as correct, and the time that one row
took. For code the gold is the reference solution, its set-up and its hidden tests, in the sandbox;
known to fail are MBPP (full) 367 and 927, whose own tests their references break.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from llm_as_judge.data.catalog import CATALOG, Dataset
from llm_as_judge.data.rows import RowError
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.types import DOMAINS, Problem

FILES = {
    "gsm8k": ("gsm8k/train.jsonl", "gsm8k/test.jsonl"),
    "math": ("math/train.jsonl", "math/test.jsonl"),
    "squad2": (
        *("squad_v2/train-v2.0.json", "squad_v2/dev-v2.0.json"),
        *("squad_v1.1/train-v1.1.json.gz", "squad_v1.1/dev-v1.1.json.gz"),
    ),
    "hotpotqa": (
        *("hotpotqa/hotpot_train_v1.1.json", "hotpotqa/hotpot_dev_distractor_v1.json"),
        *("hotpotqa/hotpot_dev_fullwiki_v1.json", "hotpotqa/hotpot_dev_v1_simplified.json"),
    ),
    "humaneval": ("humaneval/HumanEval.jsonl.gz",),
    "mbpp": ("mbpp/sanitized-mbpp.json",),
    "mbpp_full": ("mbpp/mbpp.jsonl",),
    "commonsenseqa": (
        *("commonsense_qa/train_rand_split.jsonl", "commonsense_qa/dev_rand_split.jsonl"),
        "commonsense_qa/test_rand_split_no_answers.jsonl",
    ),
    "mmlu": ("mmlu/mmlu.zip",),
}


def convert(dataset: Dataset, file: Path) -> tuple[list[Problem], int]:
    """(problems, rows refused)"""
    problems, refused = [], 0
    for row in dataset.rows([file]):
        try:
            problems.append(dataset.convert(row, dataset.split))
        except RowError:
            refused += 1
    return problems, refused


def gold(problem: Problem) -> str:
    if problem.domain == "code":
        return problem.meta["reference"]
    return problem.answers[0] if problem.answers else "unanswerable"


async def grade(judge: Judge, problems: Sequence[Problem]) -> tuple[list[str], list[float]]:
    """(ids of rows whose gold is not correct, seconds of each row)"""
    turns, wrong, seconds = asyncio.Semaphore(4), list[str](), list[float]()

    async def one(problem: Problem) -> None:
        async with turns:
            started = time.perf_counter()
            verdict = await judge.grade(problem, gold(problem))
            seconds.append(time.perf_counter() - started)
        if verdict.correct is not True:
            wrong.append(f"{problem.id} ({verdict.rule}: {verdict.explanation[:60]})")

    await asyncio.gather(*map(one, problems))
    return sorted(wrong), seconds


async def report(files: Sequence[tuple[str, Path]]) -> None:
    sandbox = await open_sandbox("auto", max_children=8)
    judge = Judge(sandbox)
    print(f"sandbox: {sandbox.isolation.mechanism}")
    try:
        for name, file in files:
            dataset = CATALOG[name]
            problems, refused = convert(dataset, file)
            started = time.perf_counter()
            wrong, seconds = await grade(judge, problems)
            whole, middle = time.perf_counter() - started, median(seconds or [0.0])
            label = f"{name} {file.parent.name}/{file.name}"
            print(
                f"{label:64} {len(problems):6} rows, {refused} refused, "
                f"{len(problems) - len(wrong):6} gold correct, {whole:6.1f} s, "
                f"median {1000 * middle:.2f} ms a row"
            )
            for row in wrong:
                print(f"    not correct: {row}")
    finally:
        await judge.aclose()
        await sandbox.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--source", type=Path, default=Path("../shared/data"))
    parser.add_argument("--only", choices=DOMAINS, help="sets of one domain")
    parser.add_argument("--humaneval", type=Path, help="HumanEval.jsonl.gz with all 164 problems")
    options = parser.parse_args()
    wanted = {n: f for n, f in FILES.items() if options.only in (None, CATALOG[n].domain)}
    files = [(n, options.source / f) for n, of in wanted.items() for f in of]
    files = [(name, file) for name, file in files if file.is_file()]
    if options.humaneval:
        files.append(("humaneval", options.humaneval))
    if not files:
        parser.error(f"{options.source}: no upstream files (wanted: {FILES['gsm8k'][0]} ...)")
    asyncio.run(report(files))


if __name__ == "__main__":
    main()
