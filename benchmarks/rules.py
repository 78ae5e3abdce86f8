"""Judges side by side on labeled rows, by source or by kind of reply: precision, recall, open, kappa.

    llm-as-judge grade --rules-only --in rows.jsonl --out rules.jsonl
    llm-as-judge grade --config embedded --in rows.jsonl --out judge.jsonl
    python benchmarks/rules.py --rows rows.jsonl --verdicts rules.jsonl judge.jsonl --features judges/mine

Rows are those of ``grade`` with ``correct``, true or false. `word match` accepts what holds a reference in one piece
and rejects all else. `features` is the model of lexical features in a judge's folder alone, on rows with a text as
reference; `then features` asks it about what a file of verdicts leaves open. Intervals: 95 %. By kind a reply is `typed`
if it and a reference are values of one kind, `exact` if it is a reference in the normal form, `gold in it` if a
reference's words stand in it, else `no gold in it`. Anchor: the first file of verdicts, e.g. of an older commit.
Expected of a change of rules: precision does not fall.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llm_as_judge.grading.extract import clean, declared_answer
from llm_as_judge.grading.text import contains_words, normal_text
from llm_as_judge.grading.values import Asked, compare_values
from llm_as_judge.judge.cascade import EXACT_MATCH
from llm_as_judge.judge.feature_model import FeatureModel, read_features
from llm_as_judge.judge.rows import Answer, read_answer, read_rows
from llm_as_judge.statistics import wilson
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
    agreed = kappa([(row["correct"], verdicts[str(row["id"])] is True) for row in rows])
    return "  ".join(
        (
            f"accepted {_share(accepted)}",
            f"rejected {_share(rejected)}",
            f"recall {sum(accepted) / right if right else 0:.3f}",
            f"open {left / len(rows):.3f}",
            f"kappa {agreed:.3f}",
        )
    )


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float:
    """Of (label, accepted): what is open counts as not accepted. Source: Cohen 1960."""
    n = len(pairs)
    same = sum(one == other for one, other in pairs) / n
    right, accepted = (sum(pair[at] for pair in pairs) / n for at in (0, 1))
    chance = right * accepted + (1 - right) * (1 - accepted)
    return (same - chance) / (1 - chance) if chance < 1 else 1.0


def _share(held: Sequence[bool]) -> str:
    """How many of them were rightly so, with 95 % bounds."""
    if not held:
        return "   0"
    low, high = wilson(sum(held), len(held))
    return f"{len(held):4} right {sum(held) / len(held):.3f} [{low:.3f}, {high:.3f}]"


def word_match(answer: Answer) -> bool:
    return any(contains_words(answer.candidate, gold) for gold in answer.problem.answers)


def by_features(answer: Answer, model: FeatureModel) -> bool | None:
    """What the model's thresholds say; None between them, and of what has no reference in words."""
    if answer.problem.domain != "qa" or not answer.problem.answers:
        return None
    declared = declared_answer(clean(answer.candidate), one_sentence=False)
    log_odds = model.log_odds(answer.problem, declared.text)
    if model.accept is not None and log_odds >= model.accept:
        return True
    return False if model.reject is not None and log_odds <= model.reject else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--verdicts", type=Path, nargs="*", default=[])
    parser.add_argument("--features", type=Path, help="folder of a judge")
    parser.add_argument("--by", choices=["source", "kind"], default="source")
    options = parser.parse_args()
    read = read_rows(options.rows, lambda row: (dict(row), read_answer(row)))
    graded_by = {
        path.stem: [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for path in options.verdicts
    }
    systems: dict[str, Verdicts] = {
        name: {line["id"]: line["correct"] for line in lines} for name, lines in graded_by.items()
    }
    systems["word match"] = {answer.problem.id: word_match(answer) for _, answer in read}
    if options.features:
        model = read_features(options.features)
        if model is None:
            parser.error(f"--features {options.features}: holds no features.json")
        features = {answer.problem.id: by_features(answer, model) for _, answer in read}
        for name, lines in graded_by.items():
            systems[f"{name}, then features"] = {
                line["id"]: features.get(line["id"])
                if line["correct"] is None or line["rule"] == EXACT_MATCH
                else line["correct"]
                for line in lines
            }
        systems["features"] = features
    graded = [
        (row, answer)
        for row, answer in read
        if all(answer.problem.id in verdicts for verdicts in systems.values())
    ]
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row, answer in graded:
        kind = kind_of_reply(answer.problem, answer.candidate)
        groups[kind if options.by == "kind" else str(row.get("source", "labeled"))].append(row)
    every: list[Mapping[str, Any]] = [row for row, _ in graded]
    for name, group in [("all", every), *sorted(groups.items())]:
        print(f"{name}: {len(group)} rows, {sum(row['correct'] for row in group)} right")
        for system, verdicts in systems.items():
            print(f"  {system:10}", figures(group, verdicts))


if __name__ == "__main__":
    main()
