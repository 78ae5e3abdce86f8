"""Judges side by side on labeled rows, by source or by kind of reply: precision, recall, open, kappa.

    python benchmarks/rules.py --rows labelled.jsonl --judge config/judge --scores scores.jsonl --score

Rows are those of ``grade`` with ``correct``, true or false. `rules` grade alone. `word match` accepts what holds a reference
in one piece and rejects all else. With `--judge` its scores are read from `--scores`; `--score` adds those that are
missing there, and goes on where it was stopped. `--verdicts` adds what `grade` wrote, e.g. of an older commit.

Intervals: 95 %. By kind a reply is `typed` if it and a reference are values of one kind, `exact` if it is a reference in
the normal form, `gold in it` if a reference's words stand in it, else `no gold in it`. Anchor: the rules. Expected of a
change of rules: precision does not fall.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from llm_as_judge.assembly import model_weights
from llm_as_judge.audit.attacks import Case
from llm_as_judge.audit.drift import case_key
from llm_as_judge.audit.labeled import read_labeled
from llm_as_judge.config import load_config
from llm_as_judge.grading.comparison import Asked
from llm_as_judge.grading.extract import clean, declared_answer
from llm_as_judge.grading.text import contains_words, normal_text
from llm_as_judge.grading.values import compare_values
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.judge_file import read_judge_file
from llm_as_judge.judge.scoring import ScoringJudge
from llm_as_judge.policy.label_scorer import LabelScorer
from llm_as_judge.statistics import wilson
from llm_as_judge.types import Problem, Verdict

Verdicts = Mapping[str, bool | None]
"""By :func:`case_key`."""
_AT_ONCE = 16


# ----------------------------------------------------------------------------------------- figures
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


def figures(cases: Sequence[Case], verdicts: Verdicts) -> str:
    said = [(case.correct, verdicts[case_key(case)]) for case in cases]
    accepted = [label for label, verdict in said if verdict is True]
    rejected = [not label for label, verdict in said if verdict is False]
    right = sum(label for label, _ in said)
    open_ = len(said) - len(accepted) - len(rejected)
    agreed = kappa([(label, verdict is True) for label, verdict in said])
    return "  ".join(
        (
            f"accepted {_share(accepted)}",
            f"rejected {_share(rejected)}",
            f"recall {sum(accepted) / right if right else 0:.3f}",
            f"open {open_ / len(said):.3f}",
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


# ----------------------------------------------------------------------------------------- systems
class Kept:
    """Scores of a trained judge, kept in a file by :func:`score_key`."""

    def __init__(self, path: Path) -> None:
        self._file = JsonLines(path)
        self.known = {r["key"]: r["log_odds"] for r in self._file.rows(missing_ok=True)}

    def add(self, cases: Sequence[Case], folder: Path) -> None:
        """Scores of these that are missing, a few at a time, each kept before the next ones."""
        made = read_judge_file(folder)
        weights = model_weights(load_config("embedded"), made.base, "--judge")
        wanted = {score_key(c.problem, asked_text(c)): c for c in cases}
        missing = [(key, case) for key, case in wanted.items() if key not in self.known]
        scorer = LabelScorer.load(weights, folder, layers=made.layers, device="cpu")
        try:
            for at in range(0, len(missing), _AT_ONCE):
                batch = missing[at : at + _AT_ONCE]
                found = scorer.log_odds([(c.problem, asked_text(c)) for _, c in batch])
                for (key, _), log_odds in zip(batch, found, strict=True):
                    self._file.append({"key": key, "log_odds": log_odds})
                    self.known[key] = log_odds
                print(f"{at + len(batch)} of {len(missing)} scored", flush=True)
        finally:
            scorer.close()

    async def log_odds(self, pairs: Sequence[tuple[Problem, str]]) -> list[float | None]:
        return [self.known.get(score_key(problem, text)) for problem, text in pairs]


def score_key(problem: Problem, text: str) -> str:
    return case_key(Case(problem, text, False, ""))


def asked_text(case: Case) -> str:
    """What the rules hand on of a reply."""
    one = case.problem.domain == "math"
    return declared_answer(clean(case.candidate), one_sentence=one).text


def is_asked(by_rules: Verdict) -> bool:
    """Whether a judge reads what the rules alone end so."""
    return by_rules.correct is None or by_rules.rule == "exact_match"


def word_match(case: Case) -> bool:
    return any(contains_words(case.candidate, gold) for gold in case.problem.answers)


async def graded(cases: Sequence[Case], judge: Judge) -> dict[str, Verdict]:
    return {case_key(c): await judge.grade(c.problem, c.candidate) for c in cases}


def shown(cases: Sequence[Case], systems: Mapping[str, Verdicts], by: str) -> None:
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        kind = kind_of_reply(case.problem, case.candidate) if by == "kind" else case.source
        groups[kind].append(case)
    for name, group in [("all", list(cases)), *sorted(groups.items())]:
        print(f"{name}: {len(group)} rows, {sum(case.correct for case in group)} right")
        for system, verdicts in systems.items():
            mine = [case for case in group if case_key(case) in verdicts]
            if mine:
                part = "" if len(mine) == len(group) else f"  (of {len(mine)} rows)"
                print(f"  {system:20}", figures(mine, verdicts) + part)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, action="append", required=True)
    parser.add_argument("--verdicts", type=Path, nargs="*", default=[])
    parser.add_argument("--judge", type=Path, help="folder of a trained judge")
    parser.add_argument("--scores", type=Path, default=Path("scores.jsonl"))
    parser.add_argument("--score", action="store_true", help="ask the judge for missing scores")
    parser.add_argument("--by", choices=["source", "kind"], default="source")
    return parser.parse_args()


async def main() -> None:
    options = arguments()
    cases = [case for path in options.rows for case in read_labeled(path)]
    kept = Kept(options.scores)
    rules = Judge()
    try:
        by_rules = await graded(cases, rules)
        asking = [case for case in cases if is_asked(by_rules[case_key(case)])]
        if options.score:
            kept.add(asking, options.judge)
        systems: dict[str, Verdicts] = {"rules": {k: v.correct for k, v in by_rules.items()}}
        for path in options.verdicts:
            lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            told = {line["id"]: line["correct"] for line in lines}
            systems[path.stem] = {
                case_key(c): told[c.problem.id] for c in cases if c.problem.id in told
            }
        systems["word match"] = {case_key(case): word_match(case) for case in cases}
        if options.judge:
            judge = Judge(last=ScoringJudge(options.judge, kept, "kept scores"))
            unknown = [c for c in asking if score_key(c.problem, asked_text(c)) not in kept.known]
            found = await graded([c for c in cases if c not in unknown], judge)
            systems["rules, then judge"] = {key: one.correct for key, one in found.items()}
            await judge.aclose()
        shown(cases, systems, options.by)
    finally:
        await rules.aclose()


if __name__ == "__main__":
    asyncio.run(main())
