"""What two thresholds for questions buy, and what bounding them by made wrong answers costs.

    llm-as-judge judge train --labeled rows.jsonl --out judges/mine ...
    python benchmarks/judge_parts.py judges/mine

Reads the scores that the folder's thresholds were chosen on (``calibration.jsonl``) and chooses again: one
threshold for all questions or one for each part (:func:`part_of`), with and without the bound. Anchor: the first
line. Figures are of the rows that the thresholds are chosen on, so they flatter all four alike.
Expected: two thresholds accept more right answers at the same promise; without the bound they also accept most
made answers that hold the gold.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from llm_as_judge.judge.calibration import Scored, calibrated


def one_part(rows: Sequence[Scored]) -> list[Scored]:
    return [replace(row, domain=row.domain.partition(",")[0]) for row in rows]


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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("judge", type=Path)
    parser.add_argument("--precision", type=float, default=0.95)
    given = parser.parse_args()
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
