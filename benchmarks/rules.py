"""Verdicts of the rules on labeled rows, by kind of reply: precision, recall and the share left open.

    llm-as-judge grade --rules-only --in rows.jsonl --out after.jsonl
    python benchmarks/rules.py --rows rows.jsonl --verdicts before.jsonl after.jsonl

Rows are those of ``grade`` with ``correct``, true or false. A reply is `typed` if it and a reference are values of
one kind, `exact` if it is a reference in the normal form, `gold in it` if a reference's words stand in it, else
`no gold in it`. Anchor: the first file of verdicts, e.g. of an older commit. Expected of a change of rules: precision
does not fall.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llm_as_judge.grading.text import contains_words, normal_text
from llm_as_judge.grading.values import Asked, compare_values
from llm_as_judge.intervals import wilson
from llm_as_judge.judge.rows import read_answer
from llm_as_judge.types import Problem

Verdicts = Mapping[str, bool | None]


def kind_of_reply(problem: Problem, reply: str) -> str:
    if problem.domain == "code":
        return "code"
    if any(normal_text(gold) == normal_text(reply) for gold in problem.answers):
        return "exact"
    asked = Asked(problem.question, problem.domain)
    if any(compare_values(gold, reply, asked) is not None for gold in problem.answers):
        return "typed"
    held = any(contains_words(reply, gold) for gold in problem.answers)
    return "gold in it" if held else "no gold in it"


def figures(rows: Sequence[Mapping[str, Any]], verdicts: Verdicts) -> str:
    accepted = [row["correct"] for row in rows if verdicts[str(row["id"])] is True]
    rejected = [not row["correct"] for row in rows if verdicts[str(row["id"])] is False]
    right = sum(row["correct"] for row in rows)
    left = len(rows) - len(accepted) - len(rejected)
    return "  ".join(
        (
            f"accepted {_share(accepted)}",
            f"rejected {_share(rejected)}",
            f"recall {sum(accepted) / right if right else 0:.2f}",
            f"open {left / len(rows):.2f}",
        )
    )


def _share(held: Sequence[bool]) -> str:
    """How many of them were rightly so, with 95 % bounds."""
    if not held:
        return "   0"
    low, high = wilson(sum(held), len(held))
    return f"{len(held):4} right {sum(held) / len(held):.3f} [{low:.3f}, {high:.3f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--verdicts", type=Path, nargs="+", required=True)
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.rows.read_text("utf-8").splitlines()]
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        answer = read_answer(row)
        groups[kind_of_reply(answer.problem, answer.candidate)].append(row)
    for name, group in [("all", rows), *sorted(groups.items())]:
        print(f"{name}: {len(group)} rows, {sum(row['correct'] for row in group)} right")
        for path in options.verdicts:
            lines = map(json.loads, path.read_text("utf-8").splitlines())
            print(
                f"  {path.stem:8}", figures(group, {line["id"]: line["correct"] for line in lines})
            )


if __name__ == "__main__":
    main()
