"""Time and memory of a verdict: a trained scoring judge against the rubric judge, in one run.

    python benchmarks/verdicts.py [--adapter judges/mine] [--rows rows.jsonl] [--answers 100]

Anchor: the rubric judge (`judge.kind: llm`, the embedded 1.5B). Both are asked about the same answers, those
that the rules leave open of `rows` (labeled rows, as `judge audit --labeled` reads them; else the
package's own). Without an adapter an untrained one of the same shape is made: it decides at random, and costs
as much. First one at a time, the median is a verdict's time; then all at once, for verdicts a second. The
rubric judge answers a quarter of them: it takes that long. Memory is that of the process that computes.
Expected: a verdict of the trained judge within 1 s on two cores, a tenth of the rubric judge's time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sides import in_own_process, ratios

from llm_as_judge.assembly import model_weights, open_judge
from llm_as_judge.audit.attacks import Case
from llm_as_judge.audit.labeled import read_labeled, shipped_labeled
from llm_as_judge.config import load_config
from llm_as_judge.judge.calibration import Thresholds
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.judge_file import JudgeFile, write_judge_file
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.model import load_policy

ALONE = 12
"""Answers asked one at a time."""
BASE, LAYERS = "qwen25-coder-0.5b", 16
"""Of an untrained adapter."""


def untrained(folder: Path) -> Path:
    """The folder of a judge that decides every answer, at random."""
    weights = model_weights(load_config("embedded"), BASE, "--adapter")
    policy = load_policy(weights, adapter=AdapterSpec(16, 32), device="cpu", layers=LAYERS)
    policy.save_adapter(folder)
    limits = Thresholds(accept=0.0, reject=-1e-9, scale=1.0, offset=0.0, rows=0)
    thresholds = {"math": limits, "qa": limits}
    write_judge_file(
        folder,
        JudgeFile(
            base=BASE, layers=LAYERS, seed=0, examples={}, data_sha256="", thresholds=thresholds
        ),
    )
    return folder


def settings_of(side: str, adapter: Path | None) -> list[str]:
    if side == "rubric":
        return ["judge.kind=llm", "judge.model=qwen25-coder-1.5b"]
    return ["judge.kind=scoring", "judge.model=none", f"judge.options.adapter={adapter}"]


def resident_mb(pid: int) -> float:
    """Of a process and of those that it started, MB."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    status = Path(f"/proc/{pid}/status").read_text()
    (kib,) = (int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    return kib / 1024 + sum(resident_mb(int(child)) for child in listed)


async def measured(side: str, adapter: Path | None, cases: Sequence[Case]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        places = [f"output.{key}={folder}/{key}" for key in ("logs", "results", "checkpoints")]
        config = load_config("embedded", overrides=[*settings_of(side, adapter), *places])
        async with open_judge(config) as judge:
            await judge.grade(cases[0].problem, cases[0].candidate)  # loads what it needs
            alone = []
            for case in cases[1 : ALONE + 1]:
                started = time.perf_counter()
                await judge.grade(case.problem, case.candidate)
                alone.append(time.perf_counter() - started)
            rest = cases[ALONE + 1 :]
            started = time.perf_counter()
            verdicts = await asyncio.gather(*(judge.grade(c.problem, c.candidate) for c in rest))
            seconds = time.perf_counter() - started
            return {
                "median": statistics.median(alone),
                "each_together": seconds / len(rest),
                "decided": sum(verdict.correct is not None for verdict in verdicts),
                "of": len(rest),
                "mb": resident_mb(os.getpid()),
            }


async def open_cases(rows: Sequence[Case], most: int) -> list[Case]:
    """Answers that the rules leave to a judge."""
    rules, found = Judge(), []
    try:
        for case in rows:
            verdict = await rules.grade(case.problem, case.candidate)
            if verdict.correct is None and case.problem.domain != "code":
                found.append(case)
            if len(found) == most:
                break
    finally:
        await rules.aclose()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--adapter", type=Path, help="folder of a trained judge")
    parser.add_argument("--rows", type=Path, help="labeled rows")
    parser.add_argument("--answers", type=int, default=100)
    parser.add_argument("--side", choices=("rubric", "scoring"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        most = args.answers if args.side == "scoring" else args.answers // 4
        rows = read_labeled(args.rows) if args.rows else shipped_labeled()
        cases = asyncio.run(open_cases(rows, most + ALONE + 1))
        with tempfile.TemporaryDirectory() as folder:
            adapter = args.adapter or (untrained(Path(folder)) if args.side == "scoring" else None)
            print(json.dumps(asyncio.run(measured(args.side, adapter, cases))))
        return
    found = {}
    for side in ("rubric", "scoring"):
        found[side] = one = in_own_process(side)
        print(
            f"{side}: {one['median']:.2f} s a verdict alone (median of {ALONE}); "
            f"{one['each_together']:.3f} s each where {one['of']} are asked at once, so 1,000 take "
            f"{one['each_together'] * 1000 / 60:.1f} min; decided {one['decided']} of {one['of']}; "
            f"{one['mb']:.0f} MB"
        )
    keys = ("median", "each_together", "mb")
    print(f"scoring / rubric: {ratios(found['scoring'], found['rubric'], keys)}")


if __name__ == "__main__":
    main()
