"""Measures of the judge's parts: what two thresholds for questions buy, what bounding them by made wrong answers
costs, and how many right answers are of the kinds that are never accepted.

    python benchmarks/judge_parts.py --rows rows.jsonl
    llm-as-judge judge train --labeled rows.jsonl --out judges/mine ...
    python benchmarks/judge_parts.py --judge judges/mine

With --rows: labeled answers that the rules leave open, by kind (:func:`part_of`) and label.

With --judge: reads the scores that the folder's thresholds were chosen on (``calibration.jsonl``) and chooses again: one
threshold for all questions or one for each part (:func:`part_of`), with and without the bound. Anchor: the first
line. Figures are of the rows that the thresholds are chosen on, so they flatter all four alike.
Expected: two thresholds accept more right answers at the same promise; without the bound they also accept most
made answers that hold the gold.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from llm_as_judge.judge.calibration import Scored, calibrated
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.parts import HOLDING, part_of
from llm_as_judge.training.judge.rows import graded_by_rules, read_training_rows


def one_part(rows: Sequence[Scored]) -> list[Scored]:
    return [replace(row, domain=row.domain.removesuffix(HOLDING)) for row in rows]


def line(name: str, rows: Sequence[Scored], chosen_on: Sequence[Scored], precision: float) -> str:
    found = calibrated(chosen_on, precision)
    taken = [
        row
        for row in rows
        if row.rules or (row.log_odds is not None and found[row.domain].verdict(row.log_odds))
    ]
    labeled = [row for row in taken if not row.made]
    right, wrong = (sum(row.correct is label for row in labeled) for label in (True, False))
    of_right = sum(row.correct for row in rows if not row.made)
    made, of_made = sum(row.made for row in taken), sum(row.made for row in rows)
    shown = ", ".join(
        f"{part}: {'never' if limits.accept is None else f'{limits.accept:.2f}'}"
        for part, limits in found.items()
    )
    return f"| {name} | {shown} | {right / of_right:.3f} | {wrong} | {made} of {of_made} |"


async def kinds(path: Path) -> None:
    labeled, _ = read_training_rows([path])
    rules = Judge()
    try:
        graded = await graded_by_rules(labeled, rules)
    finally:
        await rules.aclose()
    counts = Counter(
        (part_of(g.case.problem, g.case.candidate), g.case.correct) for g in graded if g.open
    )
    print(
        f"{len(labeled)} answers, {sum(c.correct for c in labeled)} right; left open by the rules:"
    )
    print("| kind | right | wrong |\n|---|---:|---:|")
    for kind in sorted({kind for kind, _ in counts}):
        print(f"| {kind} | {counts[kind, True]} | {counts[kind, False]} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--judge", type=Path)
    parser.add_argument("--precision", type=float, default=0.95)
    given = parser.parse_args()
    if given.rows is not None:
        asyncio.run(kinds(given.rows))
    if given.judge is None:
        return
    lines = (given.judge / "calibration.jsonl").read_text("utf-8").splitlines()
    rows = [Scored(**json.loads(text)) for text in lines]
    print("| thresholds | accepted from | recall | wrong accepted | made wrong accepted |")
    print("|---|---|---:|---:|---:|")
    for name, of in (("one", one_part(rows)), ("two", rows)):
        people = [row for row in of if not row.made]
        print(line(name, of, people, given.precision))
        print(line(f"{name}, bounded", of, of, given.precision))


if __name__ == "__main__":
    main()
