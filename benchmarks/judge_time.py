"""Time and memory of a verdict: a trained scoring judge against the rubric judge, in one run, as ratios.

    llm-as-judge judge train --labeled rows.jsonl --out judges/mine ...
    python benchmarks/judge_time.py --judge judges/mine --labeled held_out.jsonl

Both judge the same answers, drawn by seed from those that the rules leave open, with an empty memory:
first one after the other (median), then many at once. ``--many`` answers are scored, each as often as it takes to
make that number; the rubric judge, being slow, does ``--few`` and is scaled up. Each side runs in a process of its
own, whose greatest resident memory counts, that of a model server it starts with it.
Anchor: the rubric judge, Qwen2.5-Coder-1.5B. Expected: a twentieth of its time, a third of its memory.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from judge_curve import by_rules

from llm_as_judge.assembly import open_judge
from llm_as_judge.audit.attacks import Case
from llm_as_judge.config import Config, load_config
from llm_as_judge.judge.rows import Grader


@dataclass(frozen=True, slots=True)
class Figures:
    single_s: float
    """Median of one verdict, nothing else asked."""
    many: int
    many_s: float
    rss_mb: float


def settings(side: str, folder: Path) -> Config:
    keys = [
        f"output.results={tempfile.mkdtemp()}",
        "executor.slots=2",
        "executor.timeout_s=900",
    ]
    if side == "scoring":
        of_judge = ["judge.kind=scoring", "judge.model=none", f"judge.options.adapter={folder}"]
    else:
        of_judge = ["judge.kind=llm", "judge.model=qwen25-coder-1.5b", "judge.max_tokens=256"]
    return load_config("embedded", overrides=[*keys, *of_judge])


async def seconds(judge: Grader, cases: Sequence[Case], at_once: int) -> list[float]:
    free = asyncio.Semaphore(at_once)

    async def one(case: Case) -> float:
        async with free:
            started = time.perf_counter()
            await judge.grade(case.problem, case.candidate)
            return time.perf_counter() - started

    return list(await asyncio.gather(*(one(case) for case in cases)))


async def measured(config: Config, cases: Sequence[Case], singles: int, many: int) -> Figures:
    async with open_judge(config) as judge:
        await seconds(judge.fresh, cases[:1], 1)  # loads the model
        single = median(await seconds(judge.fresh, cases[:singles], 1))
        started = time.perf_counter()
        asked = [cases[at % len(cases)] for at in range(many)]
        await seconds(judge.fresh, asked, 32)
        passed = time.perf_counter() - started
    peaks = [
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    return Figures(single, many, passed, sum(peaks) / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--judge", type=Path, required=True)
    parser.add_argument("--labeled", type=Path, required=True)
    parser.add_argument("--singles", type=int, default=20)
    parser.add_argument("--many", type=int, default=1000)
    parser.add_argument("--few", type=int, default=20)
    parser.add_argument("--side", choices=("scoring", "rubric"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side is None:
        found = {}
        for side in ("scoring", "rubric"):
            command = [sys.executable, __file__, *sys.argv[1:], "--side", side]
            said = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
            found[side] = Figures(**json.loads(said.splitlines()[-1]))
        print("| judge | a verdict, median | verdicts at once, s each | 1,000 | memory |")
        print("|---|---:|---:|---:|---:|")
        for side, one in found.items():
            each = one.many_s / one.many
            print(
                f"| {side} | {one.single_s:.2f} s | {each:.2f} ({one.many:,} of them) "
                f"| {1000 * each / 60:.1f} min | {one.rss_mb:,.0f} MB |"
            )
        ours, theirs = found["scoring"], found["rubric"]
        print(
            f"scoring / rubric: {ours.single_s / theirs.single_s:.3f} one by one, "
            f"{ours.many_s / ours.many / (theirs.many_s / theirs.many):.3f} at once, "
            f"{ours.rss_mb / theirs.rss_mb:.2f} of the memory"
        )
        return
    reaching = [g.case for g in asyncio.run(by_rules(given.labeled)) if g.open]
    cases = random.Random(0).sample(reaching, min(400, len(reaching)))
    scoring = given.side == "scoring"
    singles, many = (given.singles, given.many) if scoring else (min(5, given.singles), given.few)
    config = settings(given.side, given.judge)
    print(json.dumps(asdict(asyncio.run(measured(config, cases, singles, many)))))


if __name__ == "__main__":
    main()
