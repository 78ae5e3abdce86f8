"""Grading speed: mathematics pairs through the rules, hostile pairs among them, and code tasks.

    python benchmarks/grading.py [--pairs 10000] [--humaneval HumanEval.jsonl.gz]

Anchors: math-verify called in this process on the same pairs, which nothing bounds in time; for
code a bare ``python -I -S -c pass``, spawned in turn with the tasks, so that load slows both.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import logging
import random
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from llm_as_judge.judge.cascade import Judge
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.types import Problem

FORMS = (
    (r"\frac{{{a}}}{{{b}}}", "{a}/{b}"),
    (r"{a}\sqrt{{{b}}}", r"{b}\sqrt{{{a}}}"),
    ("x^2+{a}x-{b}", "-{b} + x**2 + {a}*x"),
    ("({a},{b}]", r"\left({a}, {b}\right]"),
    ("{a}, {b}", "{b}, {a}"),
    (r"\sin({a}x)+{b}", r"{b}+\sin({a} x)"),
    ("{a}", "The answer is {a}."),
    (r"\frac{{{a}+\sqrt{{{b}}}}}{{2}}", r"\frac{{{a}}}{{2}}+\frac{{\sqrt{{{b}}}}}{{2}}"),
    (
        r"\begin{{pmatrix}} {a} \\ {b} \end{{pmatrix}}",
        r"\begin{{pmatrix}} {a} \\ {b}.0 \end{{pmatrix}}",
    ),
    (r"{a}\text{{ cm}}", "{b} cm"),
)
HOSTILE = (
    r"9^{9^{9^{9}}} + x",
    r"\left(10^{10^{8}}\right)! + x",
    r"\sqrt{\left(99^{99^{9}}\right)!}x",
)


def pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Gold and candidate of ten kinds; equal and different."""
    rng = random.Random(seed)
    found = []
    for index in range(count):
        gold, candidate = FORMS[index % len(FORMS)]
        a, b = rng.randint(2, 99), rng.randint(101, 199)
        found.append((gold.format(a=a, b=b), candidate.format(a=a, b=b)))
    return found


async def grade_all(judge: Judge, items: list[tuple[str, str]]) -> list[bool | None]:
    limit = asyncio.Semaphore(16)

    async def one(gold: str, candidate: str) -> bool | None:
        async with limit:
            problem = Problem("bench/t/1", "math", "math", "", (gold,))
            return (await judge.grade(problem, candidate)).correct

    return await asyncio.gather(*(one(gold, candidate) for gold, candidate in items))


def by_math_verify(items: list[tuple[str, str]]) -> float:
    """Seconds that math-verify alone takes, in this process and without a time limit."""
    from math_verify import parse, verify

    logging.disable(logging.CRITICAL)
    start = time.perf_counter()
    for gold, candidate in items:
        one = parse(f"${gold}$", parsing_timeout=None)
        verify(one, parse(f"${candidate}$", parsing_timeout=None), timeout_seconds=None)
    return time.perf_counter() - start


async def mathematics(count: int) -> None:
    judge = Judge()
    items = pairs(count)
    await grade_all(judge, items[:20])  # workers start
    start = time.perf_counter()
    verdicts = await grade_all(judge, items)
    seconds = time.perf_counter() - start
    decided = sum(verdict is not None for verdict in verdicts)
    anchor = by_math_verify(items[:1000]) * count / 1000
    print(
        f"{count} pairs: {seconds:.1f} s ({seconds / count * 1e3:.2f} ms each), {decided} decided"
    )
    print(f"math-verify alone, one process: {anchor:.1f} s; ratio {anchor / seconds:.2f}")
    hostile = [("x+1", expression) for expression in HOSTILE] * 2
    start = time.perf_counter()
    mixed = await grade_all(judge, hostile + items[:200])
    seconds = time.perf_counter() - start
    same = mixed[len(hostile) :] == verdicts[:200]
    accepted = sum(verdict is True for verdict in mixed[: len(hostile)])
    print(
        f"{len(hostile)} hostile among 200: {seconds:.1f} s, {accepted} accepted, rest same: {same}"
    )
    await judge.aclose()


def spawn_s() -> float:
    """Seconds that a bare interpreter takes to start and end."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
    return time.perf_counter() - start


async def code(path: Path, mechanism: str) -> None:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    sandbox = await open_sandbox(mechanism)  # type: ignore[arg-type]
    judge = Judge(sandbox)
    seconds, spawns, passed = [], [], 0
    for row in rows:
        spawns.append(spawn_s())
        problem = Problem(
            row["task_id"],
            "humaneval",
            "code",
            row["prompt"],
            entry_point=row["entry_point"],
            setup_code=row["prompt"],
            hidden_tests=(f"{row['test']}\ncheck({row['entry_point']})",),
        )
        start = time.perf_counter()
        verdict = await judge.grade(problem, row["prompt"] + row["canonical_solution"])
        seconds.append(time.perf_counter() - start)
        passed += verdict.correct is True
    print(
        f"HumanEval ({mechanism}): {passed} of {len(rows)} references pass, median "
        f"{median(seconds) * 1e3:.1f} ms, slowest {max(seconds) * 1e3:.0f} ms"
    )
    ratio = median(seconds) / median(spawns)
    print(f"spawn python: median {median(spawns) * 1e3:.1f} ms; a task is {ratio:.2f} of it")
    await judge.aclose()
    await sandbox.aclose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--humaneval", type=Path)
    parser.add_argument("--mechanism", default="auto")
    options = parser.parse_args()
    asyncio.run(mathematics(options.pairs))
    if options.humaneval:
        asyncio.run(code(options.humaneval, options.mechanism))


if __name__ == "__main__":
    main()
